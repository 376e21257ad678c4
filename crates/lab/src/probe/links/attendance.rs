//! Arrival and departure of a visit's two threads, and the release of a starved one.
//!
//! A thread pinned to a cpu that another task occupies (SCHED_FIFO without throttling) never checks the time again. It is then allowed on
//! all cpus, sees there that the visit is over, and ends.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use corewise_sys::thread::own_number;
use corewise_sys::{affinity, task};

use super::meeting::TalkMeeting;

/// Time after a visit's end for which its threads are awaited before they are released to other cpus.
const GRACE: Duration = Duration::from_millis(100);

/// Message of a thread: its number and its cpu, or its departure.
enum AttendanceReport {
    Here { thread: u32, cpu: u32 },
    Gone { thread: u32 },
}

/// List of the threads present.
pub struct AttendanceList {
    words: Receiver<AttendanceReport>,
}

/// A thread that is yet to arrive.
pub struct AwaitedThread(Sender<AttendanceReport>);

/// A thread that has arrived; announces its departure when dropped.
pub struct PresentThread {
    words: Sender<AttendanceReport>,
    thread: u32,
}

impl AttendanceList {
    /// Creates an empty list, and the two expected threads.
    pub fn new() -> (Self, [AwaitedThread; 2]) {
        let (sender, words) = channel();
        (Self { words }, [AwaitedThread(sender.clone()), AwaitedThread(sender)])
    }

    /// Waits until all have gone. Some time after the visit's end, starved threads are allowed on all cpus of the calling thread.
    pub fn join_all(&self, meeting: &TalkMeeting) {
        let mut here = BTreeMap::new();
        let patience = meeting.deadline() + GRACE;
        loop {
            match self.words.recv_timeout(patience.saturating_duration_since(Instant::now()).max(GRACE)) {
                Ok(AttendanceReport::Here { thread, cpu }) => {
                    here.insert(thread, cpu);
                }
                Ok(AttendanceReport::Gone { thread }) => {
                    here.remove(&thread);
                }
                Err(RecvTimeoutError::Timeout) => release_threads(&here, meeting),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

fn release_threads(here: &BTreeMap<u32, u32>, meeting: &TalkMeeting) {
    for (thread, cpu) in here {
        meeting.starve_visit(format!("a thread was starved on cpu {cpu}: something else uses it"));
        if let Ok(all) = affinity::current_affinity() {
            // It may have ended meanwhile, which is fine.
            let _ = task::thread_identity(std::process::id(), *thread).map(|thread| thread.restrict_thread(&all));
        }
    }
}

impl AwaitedThread {
    /// Announces the calling thread, before it is pinned to a cpu.
    pub fn announce_arrival(self, cpu: u32) -> PresentThread {
        let thread = own_number();
        // The list is read until all its writers have gone.
        let _ = self.0.send(AttendanceReport::Here { thread, cpu });
        PresentThread { words: self.0, thread }
    }
}

impl Drop for PresentThread {
    fn drop(&mut self) {
        let _ = self.words.send(AttendanceReport::Gone { thread: self.thread });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::meeting::MeetingTrouble;
    use super::*;

    /// A thread that waits, whatever the time is, until it may run on another cpu: as if its own were kept by somebody.
    #[test]
    fn a_thread_that_its_cpu_does_not_let_go_on_is_released() {
        let allowed = affinity::current_affinity().unwrap();
        if allowed.len() < 2 {
            return println!("skipped: one cpu");
        }
        let (cpu, stop, released) = (allowed.lowest().unwrap(), AtomicBool::new(false), AtomicBool::new(false));
        let meeting = TalkMeeting::new(&stop, super::super::LIMIT);
        let (attendance, [guest, other]) = AttendanceList::new();
        drop(other);
        std::thread::scope(|scope| {
            let released = &released;
            scope.spawn(move || {
                let _here = guest.announce_arrival(cpu);
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
        assert_eq!(meeting.check_trouble(), Err(MeetingTrouble { why, passes: true }));
    }
}
