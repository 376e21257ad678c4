//! Arrival and departure of a visit's two threads, and the release of a starved one.
//!
//! A thread pinned to a cpu that another task occupies (SCHED_FIFO without throttling) never checks the time again. It is then allowed on
//! all cpus, sees there that the visit is over, and ends.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use corewise_sys::thread::own_number;
use corewise_sys::{affinity, task};

use super::meeting::Meeting;

/// Time after a visit's end for which its threads are awaited before they are released to other cpus.
const GRACE: Duration = Duration::from_millis(100);

/// Message of a thread: its number and its cpu, or its departure.
enum Word {
    Here { thread: u32, cpu: u32 },
    Gone { thread: u32 },
}

/// List of the threads present.
pub struct Attendance {
    words: Receiver<Word>,
}

/// A thread that is yet to arrive.
pub struct Guest(Sender<Word>);

/// A thread that has arrived; announces its departure when dropped.
pub struct Here {
    words: Sender<Word>,
    thread: u32,
}

impl Attendance {
    /// Creates an empty list, and the two expected threads.
    pub fn new() -> (Self, [Guest; 2]) {
        let (sender, words) = channel();
        (Self { words }, [Guest(sender.clone()), Guest(sender)])
    }

    /// Waits until all have gone. Some time after the visit's end, starved threads are allowed on all cpus of the calling thread.
    pub fn join_all(&self, meeting: &Meeting) {
        let mut here = BTreeMap::new();
        let patience = meeting.deadline() + GRACE;
        loop {
            match self.words.recv_timeout(patience.saturating_duration_since(Instant::now()).max(GRACE)) {
                Ok(Word::Here { thread, cpu }) => {
                    here.insert(thread, cpu);
                }
                Ok(Word::Gone { thread }) => {
                    here.remove(&thread);
                }
                Err(RecvTimeoutError::Timeout) => release(&here, meeting),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

fn release(here: &BTreeMap<u32, u32>, meeting: &Meeting) {
    for (thread, cpu) in here {
        meeting.starve(format!("a thread was starved on cpu {cpu}: something else uses it"));
        if let Ok(all) = affinity::current() {
            // It may have ended meanwhile, which is fine.
            let _ = task::thread(std::process::id(), *thread).map(|thread| thread.restrict(&all));
        }
    }
}

impl Guest {
    /// Announces the calling thread, before it is pinned to a cpu.
    pub fn arrive(self, cpu: u32) -> Here {
        let thread = own_number();
        // The list is read until all its writers have gone.
        let _ = self.0.send(Word::Here { thread, cpu });
        Here { words: self.0, thread }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        let _ = self.words.send(Word::Gone { thread: self.thread });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::meeting::Trouble;
    use super::*;

    /// A thread that waits, whatever the time is, until it may run on another cpu: as if its own were kept by somebody.
    #[test]
    fn a_thread_that_its_cpu_does_not_let_go_on_is_released() {
        let allowed = affinity::current().unwrap();
        if allowed.len() < 2 {
            return println!("skipped: one cpu");
        }
        let (cpu, stop, released) = (allowed.lowest().unwrap(), AtomicBool::new(false), AtomicBool::new(false));
        let meeting = Meeting::new(&stop, super::super::LIMIT);
        let (attendance, [guest, other]) = Attendance::new();
        drop(other);
        std::thread::scope(|scope| {
            let released = &released;
            scope.spawn(move || {
                let _here = guest.arrive(cpu);
                affinity::pin_current(cpu).unwrap();
                while affinity::check_pinned(cpu).is_ok() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                released.store(true, Ordering::Relaxed);
            });
            attendance.join_all(&meeting);
        });
        assert!(released.load(Ordering::Relaxed));
        let why = format!("a thread was starved on cpu {cpu}: something else uses it");
        assert_eq!(meeting.trouble(), Err(Trouble { why, passes: true }));
    }
}
