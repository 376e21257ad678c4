//! One interruption while it is collected: its parts as they end.

use super::ProgramInterruption;
use crate::attribution::{CausePhase, StallCause, StallPart};

/// Maximum gap in nanoseconds between the end of a handler and what still belongs to it: soft interrupts that it
/// raised, and the switch to a task that it woke. The kernel needs some 1 to 3 us for the way.
const JOIN_NS: u64 = 5_000;
/// Maximum number of parts; further ones are combined.
const MOST_PARTS: usize = 24;

/// An interruption that is not over yet, or may continue.
#[derive(Debug)]
pub struct OpenInterruption {
    begin_ns: u64,
    cpu: u32,
    /// End of the last known part.
    last_ns: u64,
    own_ns: u64,
    parts: Vec<StallPart>,
}

impl OpenInterruption {
    /// Begins an interruption.
    pub const fn new(cpu: u32, begin_ns: u64) -> Self {
        Self { begin_ns, cpu, last_ns: begin_ns, own_ns: 0, parts: Vec::new() }
    }

    /// Returns true if an event at this time belongs to it.
    pub const fn goes_on_at(&self, at_ns: u64) -> bool {
        at_ns <= self.last_ns + JOIN_NS
    }

    /// Continues it: the time since its last part is added to that part's cause.
    pub fn go_on(&mut self, at_ns: u64) {
        let between_ns = at_ns.saturating_sub(self.last_ns);
        if let Some(cause) = self.parts.last().map(|part| part.cause.clone()) {
            self.push_part(cause, CausePhase::Between, between_ns);
        }
        self.last_ns = self.last_ns.max(at_ns);
    }

    /// Adds a part that ended at `until_ns`.
    pub fn add_part(&mut self, cause: StallCause, length_ns: u64, until_ns: u64, is_own: bool) {
        self.own_ns += if is_own { length_ns } else { 0 };
        self.push_part(cause, CausePhase::Running, length_ns);
        self.last_ns = self.last_ns.max(until_ns);
    }

    fn push_part(&mut self, cause: StallCause, phase: CausePhase, length_ns: u64) {
        let has_room = self.parts.len() < MOST_PARTS;
        let is_last = self.parts.last().is_some_and(|part| part.cause == cause && part.phase == phase);
        match self.parts.last_mut() {
            Some(last) if is_last => last.length_ns += length_ns,
            _ if length_ns == 0 => {}
            _ if has_room => self.parts.push(StallPart { cause, phase, length_ns }),
            // Without room, the part is merged into one of the same cause or counted as another task's; its position is
            // lost.
            _ => match self.parts.iter_mut().find(|part| part.cause == cause && part.phase == phase) {
                Some(part) => part.length_ns += length_ns,
                None => self.push_other(length_ns),
            },
        }
    }

    fn push_other(&mut self, length_ns: u64) {
        match self.parts.last_mut() {
            Some(StallPart { cause: StallCause::OtherTask, length_ns: sum_ns, .. }) => *sum_ns += length_ns,
            _ => self.parts.push(StallPart { cause: StallCause::OtherTask, phase: CausePhase::Running, length_ns }),
        }
    }

    /// Returns the interruption, or `None` if others took no time; the caller fills in the thread.
    pub fn into_interruption(self, zero_ns: u64) -> Option<ProgramInterruption> {
        let length_ns: u64 = self.parts.iter().map(|part| part.length_ns).sum();
        let taken_ns = length_ns.saturating_sub(self.own_ns);
        (taken_ns > 0).then(|| ProgramInterruption {
            begin_ns: self.begin_ns.saturating_sub(zero_ns),
            cpu: self.cpu,
            thread: 0,
            name: String::new(),
            length_ns,
            taken_ns,
            parts: self.parts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(number: u32) -> StallCause {
        StallCause::Task { name: "other".into(), number, function: String::new() }
    }

    #[test]
    fn parts_add_up_however_many_there_are() {
        let mut making = OpenInterruption::new(1, 1_000);
        for number in 0..1_000_u32 {
            making.add_part(task(number % 40), 10, 1_000 + u64::from(number) * 10 + 10, number % 40 == 7);
        }
        let found = making.into_interruption(400).unwrap();
        assert_eq!((found.begin_ns, found.length_ns, found.taken_ns), (600, 10_000, 10_000 - 250));
        assert_eq!(found.parts.iter().map(|part| part.length_ns).sum::<u64>(), found.length_ns);
        assert!(found.parts.len() <= MOST_PARTS + 1, "{}", found.parts.len());
    }

    #[test]
    fn what_only_own_threads_took_is_no_interruption() {
        let mut making = OpenInterruption::new(0, 5);
        making.add_part(task(3), 100, 105, true);
        assert_eq!(making.into_interruption(0), None);
        assert_eq!(OpenInterruption::new(0, 5).into_interruption(0), None);
    }
}
