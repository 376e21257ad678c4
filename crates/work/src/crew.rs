//! Named threads, pinned if requested.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{Builder, scope};

use corewise_sys::affinity;

use crate::{WorkError, WorkloadSettings};

/// Runs `work` on each thread of the settings and returns the results in order. Thread `k` is named "NAME k", so that a role (`corewise run
/// --roles`) can be assigned to it, and is on its cpu before it begins. Threads begin together, or not at all if one of them cannot start,
/// so that no thread waits for a missing one. The calling thread waits.
///
/// # Errors
/// If a thread cannot be started or pinned, or the first error of a thread. [`WorkError::Stopped`] is returned only if there is no other error.
pub fn run_crew<T: Send>(
    settings: &WorkloadSettings,
    name: &str,
    work: impl Fn(usize) -> Result<T, WorkError> + Sync,
) -> Result<Vec<T>, WorkError> {
    run_together(settings, |thread| format!("{name} {thread}"), || (), work)
}

/// Runs [`run_crew`] for threads that wait for each other, with a name for each. `fails` is called as soon as a thread returns an error or
/// panics, so that it can release the others from waiting.
///
/// # Errors
/// As [`run_crew`].
pub fn run_together<T: Send>(
    settings: &WorkloadSettings,
    name: impl Fn(usize) -> String,
    fails: impl Fn() + Sync,
    work: impl Fn(usize) -> Result<T, WorkError> + Sync,
) -> Result<Vec<T>, WorkError> {
    let roll = ThreadRoll::default();
    scope(|scope| {
        let (work, fails, roll) = (&work, &fails, &roll);
        let start = |thread: usize| {
            let begin = move || {
                pin_thread(settings, thread).inspect_err(|_| roll.call_roll_off())?;
                if !roll.answer_roll(settings.threads) {
                    return Ok(None);
                }
                let alarm = DropAlarm(fails);
                let found = work(thread)?;
                std::mem::forget(alarm);
                Ok(Some(found))
            };
            let started = Builder::new().name(name(thread)).spawn_scoped(scope, begin);
            started.inspect_err(|_| roll.call_roll_off()).map_err(WorkError::from_system(name(thread)))
        };
        let threads: Vec<_> = (0..settings.threads).map(start).collect();
        let ended =
            threads.into_iter().map(|thread| thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        // Wait for all. A thread that did not begin has no result; another thread has the reason.
        first_error(ended.collect()).map(|found| found.into_iter().flatten().collect())
    })
}

/// Calls a function when dropped, by an error or by a panic.
struct DropAlarm<'a, F: Fn()>(&'a F);

impl<F: Fn()> Drop for DropAlarm<'_, F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Returns all results, or the first error. [`WorkError::Stopped`] has the lowest priority, since another error may be its cause.
fn first_error<T>(mut ended: Vec<Result<T, WorkError>>) -> Result<Vec<T>, WorkError> {
    let reason = ended.iter().position(|found| matches!(found, Err(error) if !matches!(error, WorkError::Stopped)));
    reason.map_or(Ok(()), |reason| ended.swap_remove(reason).map(drop))?;
    ended.into_iter().collect()
}

/// Attendance of the threads.
#[derive(Default)]
struct ThreadRoll {
    here: Mutex<RollState>,
    changed: Condvar,
}

#[derive(Default)]
struct RollState {
    count: usize,
    is_called_off: bool,
}

impl ThreadRoll {
    /// Registers the calling thread and waits for the others; returns true if all came.
    fn answer_roll(&self, all: usize) -> bool {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        here.count += 1;
        if here.count == all {
            self.changed.notify_all();
        }
        let waits = |here: &mut RollState| here.count < all && !here.is_called_off;
        let here = self.changed.wait_while(here, waits).unwrap_or_else(PoisonError::into_inner);
        !here.is_called_off
    }

    /// Records that a thread will not come.
    fn call_roll_off(&self) {
        self.here.lock().unwrap_or_else(PoisonError::into_inner).is_called_off = true;
        self.changed.notify_all();
    }
}

/// Pins the calling thread if the settings give it a cpu.
///
/// # Errors
/// If the operating system refuses.
pub fn pin_thread(settings: &WorkloadSettings, thread: usize) -> Result<(), WorkError> {
    let Some(cpu) = settings.cpu_of(thread) else { return Ok(()) };
    affinity::pin_current(cpu).map_err(WorkError::from_system(format!("pinning a thread to cpu {cpu}")))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn each_thread_works_once_and_has_its_name() {
        let name = |thread| {
            let named = std::thread::current().name().map(str::to_owned);
            Ok((thread, named.unwrap_or_default()))
        };
        let found = run_crew(&WorkloadSettings::new(3), "walk", name).unwrap();
        assert_eq!(found, [(0, "walk 0".into()), (1, "walk 1".into()), (2, "walk 2".into())]);
    }

    #[test]
    fn threads_are_on_the_cpus_that_are_named_and_a_cpu_that_is_not_there_is_told() {
        let cpu = affinity::current_affinity().unwrap().lowest().unwrap();
        let settings = WorkloadSettings { cpus: vec![cpu], ..WorkloadSettings::new(2) };
        assert_eq!(run_crew(&settings, "walk", |_| Ok(affinity::check_pinned(cpu).is_ok())).unwrap(), [true, true]);
        let settings = WorkloadSettings { cpus: vec![8000], ..WorkloadSettings::new(2) };
        let error = run_crew(&settings, "walk", |_| Ok(())).unwrap_err().to_string();
        assert!(error.starts_with("pinning a thread to cpu 8000: "), "{error}");
    }

    #[test]
    fn none_begins_where_one_cannot_and_the_error_of_that_one_is_told() {
        let cpu = affinity::current_affinity().unwrap().lowest().unwrap();
        let (settings, begun) =
            (WorkloadSettings { cpus: vec![cpu, cpu, 8000], ..WorkloadSettings::new(3) }, AtomicUsize::new(0));
        let error = run_crew(&settings, "walk", |_| Ok(begun.fetch_add(1, Ordering::Relaxed))).unwrap_err().to_string();
        assert!(error.starts_with("pinning a thread to cpu 8000: "), "{error}");
        assert_eq!(begun.into_inner(), 0);
    }

    #[test]
    fn what_a_thread_that_failed_said_is_told() {
        let fail = |thread| if thread == 1 { Err(WorkError::Stopped) } else { Ok(thread) };
        assert!(matches!(run_crew(&WorkloadSettings::new(3), "walk", fail), Err(WorkError::Stopped)));
    }

    #[test]
    fn those_who_wait_for_a_thread_that_fails_are_told_and_its_reason_is_given() {
        let lost = AtomicBool::new(false);
        let wait = |thread| match thread {
            2 => Err(WorkError::Wrong("two".into())),
            _ => {
                while !lost.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                Err::<(), _>(WorkError::Stopped)
            }
        };
        let fails = || lost.store(true, Ordering::Relaxed);
        let error =
            run_together(&WorkloadSettings::new(4), |thread| format!("walk {thread}"), fails, wait).unwrap_err();
        assert_eq!(error.to_string(), "the result is wrong: two");
    }
}
