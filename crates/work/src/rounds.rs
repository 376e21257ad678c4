//! Threads that work in rounds, and a leader that does its own work between them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, scope};

use crate::crew::pin_thread;
use crate::{WorkError, WorkloadSettings};

/// Keeps the threads of the settings, named and pinned as by [`crate::crew::crew`], while `lead` runs on the calling thread. Each call of
/// [`ThreadRounds::run_round`] makes every thread do `work` once, with its number and the round's number (from 1), while the calling thread waits. In
/// between, the threads sleep. The threads have started and are pinned before `lead` begins.
///
/// # Errors
/// If a thread cannot be started or pinned, the first thread's error, or else the error of `lead`.
pub fn run_in_rounds<T>(
    settings: &WorkloadSettings,
    name: &str,
    work: impl Fn(usize, usize) -> Result<(), WorkError> + Sync,
    lead: impl FnOnce(&ThreadRounds) -> Result<T, WorkError>,
) -> Result<T, WorkError> {
    let rounds = ThreadRounds::new(settings.threads);
    scope(|scope| {
        let (rounds, work) = (&rounds, &work);
        let start = |thread: usize| {
            let named = format!("{name} {thread}");
            let begin = move || {
                let _end = OnDrop(|| rounds.change_and_notify(&rounds.done, |state| state.ended += 1));
                pin_thread(settings, thread)?;
                rounds.follow_rounds(|round| work(thread, round))
            };
            let started = Builder::new().name(named.clone()).spawn_scoped(scope, begin);
            started
                .map_err(WorkError::from_system(named))
                .inspect_err(|_| rounds.change_and_notify(&rounds.done, |state| state.ended += 1))
        };
        let threads: Vec<_> = (0..settings.threads).map(start).collect();
        let led = {
            let _over = OnDrop(|| rounds.change_and_notify(&rounds.begun, |state| state.is_over = true));
            rounds.wait_for_all().and_then(|()| lead(rounds))
        };
        let ended =
            threads.into_iter().map(|thread| thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let ended: Vec<_> = ended.collect();
        ended.into_iter().collect::<Result<(), WorkError>>().and(led)
    })
}

/// Progress of the threads.
#[derive(Debug)]
pub struct ThreadRounds {
    threads: usize,
    state: Mutex<RoundsState>,
    /// Signals the threads that a round has begun, or that all are over.
    begun: Condvar,
    /// Signals the leader that all threads are done, or that one has ended.
    done: Condvar,
}

#[derive(Debug, Default)]
struct RoundsState {
    /// The last round that was begun; zero before the first.
    round: usize,
    /// Number of threads that are done with it; before the first round, number of threads that have started.
    done: usize,
    /// Number of threads that have ended.
    ended: usize,
    /// True if the leader has ended.
    is_over: bool,
}

impl ThreadRounds {
    fn new(threads: usize) -> Self {
        Self { threads, state: Mutex::default(), begun: Condvar::new(), done: Condvar::new() }
    }

    /// Has every thread work once, and waits for the last of them.
    ///
    /// # Errors
    /// [`WorkError::Stopped`] if a thread has ended because of an error, which [`run_in_rounds`] returns; pass it on.
    pub fn run_round(&self) -> Result<(), WorkError> {
        self.change_and_notify(&self.begun, |state| (state.round, state.done) = (state.round + 1, 0));
        self.wait_for_all()
    }

    fn wait_for_all(&self) -> Result<(), WorkError> {
        let state = self.wait_while(&self.done, |state| state.done < self.threads && state.ended == 0);
        if state.ended == 0 { Ok(()) } else { Err(WorkError::Stopped) }
    }

    /// Runs one thread's rounds.
    fn follow_rounds(&self, work: impl Fn(usize) -> Result<(), WorkError>) -> Result<(), WorkError> {
        for round in 1.. {
            // Only the last thread wakes the leader: earlier wake-ups would take cpus from threads that still work.
            if self.change_state(|state| state.done += 1).done == self.threads {
                self.done.notify_all();
            }
            if self.wait_while(&self.begun, |state| state.round < round && !state.is_over).is_over {
                break;
            }
            work(round)?;
        }
        Ok(())
    }

    fn wait_while(&self, told: &Condvar, wait: impl Fn(&RoundsState) -> bool) -> MutexGuard<'_, RoundsState> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        told.wait_while(state, |state| wait(state)).unwrap_or_else(PoisonError::into_inner)
    }

    fn change_and_notify(&self, whom: &Condvar, change: impl FnOnce(&mut RoundsState)) {
        drop(self.change_state(change));
        whom.notify_all();
    }

    fn change_state(&self, change: impl FnOnce(&mut RoundsState)) -> MutexGuard<'_, RoundsState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        state
    }
}

/// Calls a function at the end of a scope, also on a panic, so that no thread waits for an ended one.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn all_threads_work_in_each_round_and_none_between_them() {
        let (sum, within) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |thread: usize, round: usize| {
            assert!(std::thread::current().name() == Some(format!("step {thread}").as_str()));
            within.fetch_add(1, Ordering::Relaxed);
            sum.fetch_add((thread + 1) * round, Ordering::Relaxed);
            within.fetch_sub(1, Ordering::Relaxed);
            Ok(())
        };
        let led = run_in_rounds(&WorkloadSettings::new(3), "step", work, |rounds| {
            let mut sums = Vec::new();
            for _ in 0..50 {
                rounds.run_round()?;
                assert_eq!(within.load(Ordering::Relaxed), 0);
                sums.push(sum.load(Ordering::Relaxed));
            }
            Ok(sums)
        });
        let expected: Vec<usize> = (1..=50).map(|round| 6 * round * (round + 1) / 2).collect();
        assert_eq!(led.unwrap(), expected);
    }

    #[test]
    fn an_error_of_a_thread_ends_all_and_is_told() {
        let work = |thread, round| if (thread, round) == (1, 3) { Err(WorkError::Wrong("it".into())) } else { Ok(()) };
        let led = run_in_rounds(&WorkloadSettings::new(2), "step", work, |rounds| {
            (0..9).try_for_each(|_| rounds.run_round())
        });
        assert!(matches!(led, Err(WorkError::Wrong(_))), "{led:?}");
        let led = run_in_rounds(
            &WorkloadSettings::new(2),
            "step",
            |_, _| Ok(()),
            |_| Err::<(), _>(WorkError::Wrong("led".into())),
        );
        assert!(matches!(led, Err(WorkError::Wrong(_))), "{led:?}");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_told_and_nobody_waits() {
        let settings = WorkloadSettings { cpus: vec![8000], ..WorkloadSettings::new(2) };
        let error = run_in_rounds(&settings, "step", |_, _| Ok(()), ThreadRounds::run_round).unwrap_err().to_string();
        assert!(error.starts_with("pinning a thread to cpu 8000: "), "{error}");
    }

    #[test]
    fn a_panic_of_a_thread_or_of_the_leader_ends_all() {
        let broken = |thread, _| if thread == 1 { panic!("it broke") } else { Ok(()) };
        let quiet = |run: &(dyn Fn() + Sync)| std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err();
        assert!(quiet(&|| {
            let _ = run_in_rounds(&WorkloadSettings::new(2), "step", broken, ThreadRounds::run_round);
        }));
        assert!(quiet(&|| {
            let _ = run_in_rounds(
                &WorkloadSettings::new(2),
                "step",
                |_, _| Ok(()),
                |_| -> Result<(), WorkError> { panic!("led") },
            );
        }));
    }
}
