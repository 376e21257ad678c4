//! The operating system's counts for the calling thread, for this process and for a child.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use corewise_machine::thread::ThreadUse;

pub use crate::values::thread::{SwitchCounts, ThreadGlance};

/// True if the kernel counts a thread's switches, and its time finely enough to compute lost time.
pub const IS_ACCOUNTED: bool = true;

/// A thread's counters at one moment.
#[derive(Clone, Copy, Debug)]
pub struct ThreadMoment {
    at: Instant,
    on_cpu: Duration,
    user: Duration,
    system: Duration,
    voluntary_switches: i64,
    involuntary_switches: i64,
}

impl ThreadMoment {
    /// Reads the calling thread's counters: getrusage(2) with RUSAGE_THREAD, and CLOCK_THREAD_CPUTIME_ID. The clock leaves out time that a
    /// hypervisor stole if the kernel accounts for it (CONFIG_PARAVIRT_TIME_ACCOUNTING).
    ///
    /// # Errors
    /// The kernel's error; none is known.
    pub fn read_now() -> io::Result<Self> {
        // The clock first: it brings the running thread's time up to date (task_sched_runtime), which getrusage(2) else has from the last
        // tick of the scheduler, or from the thread's beginning.
        let on_cpu = cpu_time(libc::CLOCK_THREAD_CPUTIME_ID)?;
        let usage = thread_usage()?;
        let duration = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec.max(0) as u64) + Duration::from_micros(time.tv_usec.max(0) as u64)
        };
        Ok(Self {
            at: Instant::now(),
            on_cpu,
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw,
            involuntary_switches: usage.ru_nivcsw,
        })
    }

    /// Returns the thread's use between an earlier moment and this one.
    pub fn use_since(&self, earlier: &Self) -> ThreadUse {
        let elapsed = self.at.saturating_duration_since(earlier.at);
        let on_cpu = self.on_cpu.saturating_sub(earlier.on_cpu);
        ThreadUse {
            user_s: self.user.saturating_sub(earlier.user).as_secs_f64(),
            system_s: self.system.saturating_sub(earlier.system).as_secs_f64(),
            off_cpu_s: elapsed.saturating_sub(on_cpu).as_secs_f64(),
            voluntary_switches: (self.voluntary_switches - earlier.voluntary_switches).max(0) as u64,
            involuntary_switches: (self.involuntary_switches - earlier.involuntary_switches).max(0) as u64,
        }
    }
}

impl ThreadGlance {
    /// Reads the calling thread's counters; zero for any that the kernel refuses. Does not allocate.
    pub fn read_now() -> Self {
        // The switches first: a thread is often preempted where it returns from a system call. Then this preemption is in neither counter
        // now, and in both the next time.
        let involuntary_switches = SwitchCounts::read_now().involuntary;
        let cpu_time_ns = cpu_time(libc::CLOCK_THREAD_CPUTIME_ID).map_or(0, |time| time.as_nanos() as u64);
        Self { cpu_time_ns, involuntary_switches }
    }
}

impl SwitchCounts {
    /// Reads the switches of the calling thread since it began; zero if the kernel refuses. Does not allocate.
    pub fn read_now() -> Self {
        let count = |usage: &libc::rusage| Self {
            voluntary: usage.ru_nvcsw.max(0) as u64,
            involuntary: usage.ru_nivcsw.max(0) as u64,
        };
        thread_usage().as_ref().map(count).unwrap_or_default()
    }
}

/// Reads the kernel's accounts of the calling thread: getrusage(2) with RUSAGE_THREAD.
fn thread_usage() -> io::Result<libc::rusage> {
    // SAFETY: an all-zero rusage is a valid one, and the kernel fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(usage)
    }
}

/// Returns the calling thread's number, in this process's namespace: gettid(2).
pub fn own_number() -> u32 {
    // SAFETY: gettid takes nothing and cannot fail.
    unsafe { libc::gettid() }.max(0) as u32
}

/// Returns the number of this process's parent: getppid(2), one of the cheapest calls.
#[inline]
pub fn parent_number() -> u32 {
    // SAFETY: getppid takes nothing and cannot fail.
    unsafe { libc::getppid() }.max(0) as u32
}

/// Returns CLOCK_MONOTONIC_RAW now, in nanoseconds: it runs at the rate of the machine's counter, and is never adjusted.
pub fn monotonic_raw_ns() -> u64 {
    cpu_time(libc::CLOCK_MONOTONIC_RAW).map_or(0, |time| time.as_nanos() as u64)
}

/// Returns CLOCK_MONOTONIC now, in nanoseconds: the same for all processes.
#[inline]
pub fn monotonic_ns() -> u64 {
    cpu_time(libc::CLOCK_MONOTONIC).map_or(0, |time| time.as_nanos() as u64)
}

/// Returns the cpu time used by all threads of this process: CLOCK_PROCESS_CPUTIME_ID.
///
/// # Errors
/// The kernel's error; none is known.
pub fn process_cpu_time() -> io::Result<Duration> {
    cpu_time(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Returns the cpu time used by the calling thread: CLOCK_THREAD_CPUTIME_ID.
#[cfg(feature = "events")]
pub(super) fn thread_cpu_time() -> Duration {
    cpu_time(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

/// Waits for a child to end. Returns its status and its peak memory in bytes, by wait4(2). Children that it waited for are included. A
/// child has its parent's memory until it executes a program, so the peak is at least ours.
///
/// # Errors
/// If the child was waited for before.
pub fn wait_with_peak_memory_bytes(child: Child) -> io::Result<(ExitStatus, u64)> {
    let number = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    loop {
        let mut status = 0;
        // SAFETY: an all-zero rusage is a valid one; the kernel fills both, which outlive the call.
        let (ended, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(number, &raw mut status, 0, &raw mut usage), usage)
        };
        if ended == number {
            return Ok((ExitStatus::from_raw(status), usage.ru_maxrss.max(0) as u64 * 1_024));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn cpu_time(clock: libc::clockid_t) -> io::Result<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the timespec, which outlives the call.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_spent_on_the_cpu_was_spent_off_it() {
        let before = ThreadMoment::read_now().unwrap();
        let (elapsed, on_cpu) = (Duration::from_millis(20), Duration::from_millis(5));
        let after = ThreadMoment {
            at: before.at + elapsed,
            on_cpu: before.on_cpu + on_cpu,
            user: before.user + on_cpu,
            voluntary_switches: before.voluntary_switches + 2,
            ..before
        };
        let used = ThreadUse {
            user_s: 0.005,
            system_s: 0.0,
            off_cpu_s: 0.015,
            voluntary_switches: 2,
            involuntary_switches: 0,
        };
        assert_eq!(after.use_since(&before), used);
    }

    /// New threads that computed for less than a tick: their times in user and kernel mode are those on the cpu.
    #[test]
    fn times_do_not_wait_for_the_scheduler_s_tick() {
        for _ in 0..20 {
            let beyond = std::thread::spawn(|| {
                let compute = |from: Instant| while from.elapsed() < Duration::from_micros(900) {};
                compute(Instant::now());
                let before = ThreadMoment::read_now().unwrap();
                compute(before.at);
                let after = ThreadMoment::read_now().unwrap();
                let used = after.use_since(&before);
                (used.user_s + used.system_s - (after.on_cpu - before.on_cpu).as_secs_f64()).abs()
            });
            assert!(beyond.join().unwrap() < 200e-6);
        }
    }

    #[test]
    fn a_sleep_is_a_voluntary_switch() {
        std::thread::spawn(|| {
            let before = SwitchCounts::read_now();
            std::thread::sleep(Duration::from_millis(1));
            assert!(SwitchCounts::read_now().voluntary > before.voluntary);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn each_child_has_a_peak_of_its_own() {
        let peak = |program: &str, words: &[&str]| {
            let child = std::process::Command::new(program).args(words).spawn().unwrap();
            wait_with_peak_memory_bytes(child).unwrap()
        };
        // A child begins with the memory of this process, in which other tests have theirs: the first must have more than that.
        let (_, large) = peak("dd", &["if=/dev/zero", "of=/dev/null", "bs=256M", "count=1", "status=none"]);
        let (status, small) = peak("sh", &["-c", "exit 3"]);
        assert_eq!(status.code(), Some(3));
        assert!(large >= 256 << 20, "{large}");
        assert!(0 < small && small < large, "{small} after {large}");
    }
}
