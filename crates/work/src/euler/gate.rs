//! Reusable barrier; no thread waits for a member that has gone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Spins of a waiting thread before it sleeps: some 20 us.
const LOOKS: u32 = 1000;

/// A barrier that can be broken.
pub struct StepGate {
    members: usize,
    waiting: Mutex<GateState>,
    changed: Condvar,
    /// Number of times all have passed; outside the lock, so that it can be read without it.
    passed: AtomicU64,
}

#[derive(Default)]
struct GateState {
    count: usize,
    is_broken: bool,
}

/// A member of the gate. Dropping it before [`GateMember::leave_gate`], also by an error or a panic, breaks the gate.
pub struct GateMember<'a> {
    gate: &'a StepGate,
    has_left: bool,
}

impl StepGate {
    /// Creates a gate for a number of members.
    pub fn new(members: usize) -> Self {
        Self { members, waiting: Mutex::default(), changed: Condvar::new(), passed: AtomicU64::new(0) }
    }

    /// Returns one of the members. Each must be created, or the others wait for ever.
    pub const fn new_member(&self) -> GateMember<'_> {
        GateMember { gate: self, has_left: false }
    }

    fn lock_waiting(&self) -> std::sync::MutexGuard<'_, GateState> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GateMember<'_> {
    /// Waits until all are here; returns true if they came.
    pub fn wait_for_all(&self) -> bool {
        let gate = self.gate;
        let before = {
            let mut waiting = gate.lock_waiting();
            if waiting.is_broken {
                return false;
            }
            waiting.count += 1;
            if waiting.count == gate.members {
                waiting.count = 0;
                gate.passed.fetch_add(1, Ordering::Release);
                gate.changed.notify_all();
                return true;
            }
            gate.passed.load(Ordering::Relaxed)
        };
        let has_passed = || gate.passed.load(Ordering::Acquire) != before;
        for _ in 0..LOOKS {
            if has_passed() {
                return true;
            }
            std::hint::spin_loop();
        }
        let waits = |waiting: &mut GateState| !has_passed() && !waiting.is_broken;
        drop(gate.changed.wait_while(gate.lock_waiting(), waits).unwrap_or_else(PoisonError::into_inner));
        has_passed()
    }

    /// Leaves after the work is done, without breaking the gate.
    pub fn leave_gate(mut self) {
        self.has_left = true;
    }
}

impl Drop for GateMember<'_> {
    fn drop(&mut self) {
        if !self.has_left {
            self.gate.lock_waiting().is_broken = true;
            self.gate.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pass_together_every_time() {
        let (gate, sums) = (StepGate::new(4), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let member = gate.new_member();
                    for round in 1..=500 {
                        sums.fetch_add(1, Ordering::Relaxed);
                        assert!(member.wait_for_all());
                        assert_eq!(sums.load(Ordering::Relaxed), 4 * round);
                        assert!(member.wait_for_all());
                    }
                    member.leave_gate();
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_one_that_has_failed() {
        let gate = StepGate::new(3);
        std::thread::scope(|scope| {
            let waits = [(); 2].map(|()| {
                scope.spawn(|| {
                    let member = gate.new_member();
                    member.wait_for_all()
                })
            });
            std::thread::sleep(std::time::Duration::from_millis(5));
            drop(gate.new_member());
            assert_eq!(waits.map(|waits| waits.join().unwrap()), [false; 2]);
        });
        assert!(!gate.new_member().wait_for_all(), "and it stays so");
    }
}
