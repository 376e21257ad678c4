//! Affinity of threads: allowed cpus and the present cpu; masks of any width.

use std::io;

use corewise_machine::CpuSet;

use crate::values::affinity as values;
pub use crate::values::affinity::OwnMask;

/// Width that no kernel's masks exceed, in words of 64 cpus.
const WIDEST_WORDS: usize = 1 << 16;

/// Restricts the calling thread to a set of cpus: sched_setaffinity(2), called directly because the C library's `cpu_set_t` ends at 1,024
/// cpus.
///
/// # Errors
/// If none of the cpus is online and in this process's cpuset, an error that says so.
pub fn set_current(cpus: &CpuSet) -> io::Result<()> {
    set_affinity(0, cpus)
}

/// Restricts a thread, by its number, to a set of cpus; 0 is the calling thread. A number may mean another thread by now, so only
/// [`restrict_thread`](super::process::ProcessIdentity::restrict_thread) may call it for another one.
///
/// # Errors
/// As [`set_current`], and if there is no such thread or it is another user's.
pub(super) fn set_affinity(thread: u32, cpus: &CpuSet) -> io::Result<()> {
    let words = cpus.to_words();
    let size = std::mem::size_of_val(words.as_slice());
    // SAFETY: the kernel reads `size` bytes from the words, which outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, thread, size, words.as_ptr()) };
    if result >= 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    // EINVAL: none of the cpus is both online and in the cpuset.
    if error.raw_os_error() == Some(libc::EINVAL) {
        return Err(io::Error::new(error.kind(), format!("cpu {cpus} is offline, or not allowed for this process")));
    }
    Err(error)
}

/// Returns the cpus that the calling thread may run on: sched_getaffinity(2).
///
/// # Errors
/// The kernel's error; none is known for the calling thread.
pub fn current_affinity() -> io::Result<CpuSet> {
    affinity_of(0)
}

/// Returns the cpus that a thread may run on, by its number; 0 is the calling thread.
///
/// # Errors
/// If there is no such thread.
pub fn affinity_of(thread: u32) -> io::Result<CpuSet> {
    // EINVAL: the kernel's masks are wider than the buffer.
    let is_too_narrow = |error: &io::Error| error.raw_os_error() == Some(libc::EINVAL);
    match fill_mask(thread, &mut [0; 16]) {
        Err(error) if is_too_narrow(&error) => fill_mask(thread, &mut vec![0; WIDEST_WORDS]),
        other => other,
    }
}

fn fill_mask(thread: u32, words: &mut [u64]) -> io::Result<CpuSet> {
    let size = std::mem::size_of_val(words);
    // SAFETY: the kernel writes at most `size` bytes into the words.
    let filled = unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, size, words.as_mut_ptr()) };
    let bytes = usize::try_from(filled).map_err(|_| io::Error::last_os_error())?;
    Ok(CpuSet::from_words(&words[..bytes.div_ceil(8)]))
}

/// Returns true if an error of [`set_affinity`] or [`affinity_of`] means that the thread has ended.
pub fn has_ended(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

/// Returns the other threads with masks that [`set_affinity`] with this number would overwrite: none on Linux, where the call affects
/// one thread.
pub fn own_masks(_thread: u32) -> Vec<OwnMask> {
    Vec::new()
}

/// Users that may place other users' processes.
pub const WHO_PLACES_OTHERS: &str = "only root, or who has CAP_SYS_NICE,";

/// Returns the command that gives a process other cpus, with all its threads: taskset(1).
pub fn by_hand(process: u32, cpus: &CpuSet) -> String {
    format!("taskset -apc {cpus} {process}")
}

/// Returns the cpu that the calling thread runs on at this moment: getcpu(2).
pub fn running_on() -> Option<u32> {
    // SAFETY: takes no arguments and touches no memory of ours.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Restricts the calling thread to one cpu and checks that it runs there.
///
/// # Errors
/// The kernel's refusal, or an error with the cpu on which the thread runs instead.
pub fn pin_current(cpu: u32) -> io::Result<()> {
    set_current(&CpuSet::from_cpu(cpu))?;
    check_pinned(cpu)
}

/// Checks that the calling thread is still restricted to one cpu and runs there.
///
/// # Errors
/// An error with the cpus that the thread may use, or the cpu on which it runs, instead.
pub fn check_pinned(cpu: u32) -> io::Result<()> {
    values::check_pinned(cpu, &current_affinity()?, running_on())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_runs_where_it_was_put() {
        std::thread::spawn(|| {
            for cpu in current_affinity().unwrap().iter() {
                pin_current(cpu).unwrap();
                assert_eq!(running_on(), Some(cpu));
                assert!(check_pinned(cpu + 1).is_err());
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn another_thread_is_placed_and_a_thread_that_ended_is_told() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            // SAFETY: takes no arguments and touches no memory of ours.
            tell.send(unsafe { libc::gettid() } as u32).unwrap();
            let _ = ended.recv();
        });
        let number = told.recv().unwrap();
        let all = affinity_of(number).unwrap();
        let one = CpuSet::from_cpu(all.highest().unwrap());
        set_affinity(number, &one).unwrap();
        assert_eq!(affinity_of(number).unwrap(), one);
        assert_eq!(current_affinity().unwrap(), all, "only that thread moved");
        drop(end);
        thread.join().unwrap();
        // The kernel takes a moment to forget a thread that was joined.
        let gone = std::iter::repeat_with(|| affinity_of(number)).find_map(Result::err).unwrap();
        assert_eq!(gone.raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused() {
        std::thread::spawn(|| assert!(pin_current(8000).is_err())).join().unwrap();
    }
}
