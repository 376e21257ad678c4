//! Threads that work in rounds, and a leader that does something of its own between them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, scope};

use crate::crew::pin;
use crate::{Error, Settings};

/// Keeps the threads of the settings, named and pinned as [`crate::crew::crew`] has them, for as long as `lead` runs on the calling thread. Each
/// time `lead` calls [`Rounds::round`], every thread does `work` once, with its number and that of the round (from 1), while the calling thread
/// waits; in between, the threads sleep. The threads are there and pinned before `lead` begins.
///
/// # Errors
/// When a thread cannot be started or pinned, what the first thread that failed said, or else what `lead` said.
pub fn in_rounds<T>(
    settings: &Settings,
    name: &str,
    work: impl Fn(usize, usize) -> Result<(), Error> + Sync,
    lead: impl FnOnce(&Rounds) -> Result<T, Error>,
) -> Result<T, Error> {
    let rounds = Rounds::new(settings.threads);
    scope(|scope| {
        let (rounds, work) = (&rounds, &work);
        let start = |thread: usize| {
            let named = format!("{name} {thread}");
            let begin = move || {
                let _end = OnDrop(|| rounds.tell(&rounds.done, |state| state.ended += 1));
                pin(settings, thread)?;
                rounds.follow(|round| work(thread, round))
            };
            let started = Builder::new().name(named.clone()).spawn_scoped(scope, begin);
            started.map_err(Error::system(named)).inspect_err(|_| rounds.tell(&rounds.done, |state| state.ended += 1))
        };
        let threads: Vec<_> = (0..settings.threads).map(start).collect();
        let led = {
            let _over = OnDrop(|| rounds.tell(&rounds.begun, |state| state.is_over = true));
            rounds.wait_for_all().and_then(|()| lead(rounds))
        };
        let ended =
            threads.into_iter().map(|thread| thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let ended: Vec<_> = ended.collect();
        ended.into_iter().collect::<Result<(), Error>>().and(led)
    })
}

/// How far the threads are.
#[derive(Debug)]
pub struct Rounds {
    threads: usize,
    state: Mutex<State>,
    /// A round has begun, or all are over: what the threads wait for.
    begun: Condvar,
    /// All are done, or one has ended: what the leader waits for.
    done: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The round that was begun last; zero is none.
    round: usize,
    /// How many threads are done with it; with none, how many are there.
    done: usize,
    /// How many threads have ended.
    ended: usize,
    /// The leader has ended.
    is_over: bool,
}

impl Rounds {
    fn new(threads: usize) -> Self {
        Self { threads, state: Mutex::default(), begun: Condvar::new(), done: Condvar::new() }
    }

    /// Has every thread work once, and waits for the last of them.
    ///
    /// # Errors
    /// [`Error::Stopped`] when a thread has ended, because of an error that [`in_rounds`] tells; to be passed on.
    pub fn round(&self) -> Result<(), Error> {
        self.tell(&self.begun, |state| (state.round, state.done) = (state.round + 1, 0));
        self.wait_for_all()
    }

    fn wait_for_all(&self) -> Result<(), Error> {
        let state = self.wait_while(&self.done, |state| state.done < self.threads && state.ended == 0);
        if state.ended == 0 { Ok(()) } else { Err(Error::Stopped) }
    }

    /// What each thread does.
    fn follow(&self, work: impl Fn(usize) -> Result<(), Error>) -> Result<(), Error> {
        for round in 1.. {
            // Only the last has anything to say: many threads that woke each other would keep cpus from those that still work.
            if self.change(|state| state.done += 1).done == self.threads {
                self.done.notify_all();
            }
            if self.wait_while(&self.begun, |state| state.round < round && !state.is_over).is_over {
                break;
            }
            work(round)?;
        }
        Ok(())
    }

    fn wait_while(&self, told: &Condvar, wait: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        told.wait_while(state, |state| wait(state)).unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, whom: &Condvar, change: impl FnOnce(&mut State)) {
        drop(self.change(change));
        whom.notify_all();
    }

    fn change(&self, change: impl FnOnce(&mut State)) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        state
    }
}

/// Does something at the end of a scope, when it panics too: nobody waits for who is no longer there.
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
        let led = in_rounds(&Settings::new(3), "step", work, |rounds| {
            let mut sums = Vec::new();
            for _ in 0..50 {
                rounds.round()?;
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
        let work = |thread, round| if (thread, round) == (1, 3) { Err(Error::Wrong("it".into())) } else { Ok(()) };
        let led = in_rounds(&Settings::new(2), "step", work, |rounds| (0..9).try_for_each(|_| rounds.round()));
        assert!(matches!(led, Err(Error::Wrong(_))), "{led:?}");
        let led = in_rounds(&Settings::new(2), "step", |_, _| Ok(()), |_| Err::<(), _>(Error::Wrong("led".into())));
        assert!(matches!(led, Err(Error::Wrong(_))), "{led:?}");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_told_and_nobody_waits() {
        let settings = Settings { cpus: vec![8000], ..Settings::new(2) };
        let error = in_rounds(&settings, "step", |_, _| Ok(()), Rounds::round).unwrap_err().to_string();
        assert!(error.starts_with("pinning a thread to cpu 8000: "), "{error}");
    }

    #[test]
    fn a_panic_of_a_thread_or_of_the_leader_ends_all() {
        let broken = |thread, _| if thread == 1 { panic!("it broke") } else { Ok(()) };
        let quiet = |run: &(dyn Fn() + Sync)| std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err();
        assert!(quiet(&|| {
            let _ = in_rounds(&Settings::new(2), "step", broken, Rounds::round);
        }));
        assert!(quiet(&|| {
            let _ = in_rounds(&Settings::new(2), "step", |_, _| Ok(()), |_| -> Result<(), Error> { panic!("led") });
        }));
    }
}
