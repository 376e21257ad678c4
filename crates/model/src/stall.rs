//! Observed stalls of a cpu: times in which a loop that never waits made no progress.

use std::collections::BTreeMap;

use corewise_machine::event::KernelEvent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// The last reading of the clock before it, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub begin_ns: u64,
    /// The first reading after it.
    pub end_ns: u64,
    /// Time off the cpu since the stall before it, in nanoseconds, at most its own length: elapsed time minus the
    /// thread's cpu time.
    pub off_cpu_ns: u64,
    /// Number of preemptions of the thread since the stall before it.
    pub involuntary_switches: u32,
}

impl Stall {
    /// Returns its length in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

/// Observations of one visit to one cpu.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallVisit {
    /// The cpu.
    pub cpu: u32,
    /// Index of the round, from 0.
    pub round: u32,
    /// True if the kernel's events were recorded meanwhile.
    pub armed: bool,
    /// Begin of timing, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub begin_ns: u64,
    /// End of timing, on the same clock.
    pub end_ns: u64,
    /// Duration of an uninterrupted piece, in nanoseconds: this part of a stall is work.
    pub piece_ns: u64,
    /// Thread id of the timing thread in the system's namespace; 0 if unknown.
    pub own_task: u32,
    /// The stalls, in order of time.
    pub stalls: Vec<Stall>,
    /// Stalls for which there was no room: only the histogram of pieces has them.
    pub not_kept: u64,
    /// The events of the cpu, and interrupts sent to it by others, in order of time.
    pub events: Vec<KernelEvent>,
    /// Events that were lost because the buffers were full.
    pub events_lost: u64,
}

impl StallVisit {
    /// Truncates the visit to `begin_ns..=end_ns`. Outside of it there was no room for stalls, or for the events that
    /// would name them: rates would be too low, and stalls would lack their causes.
    pub fn cut_to(&mut self, begin_ns: u64, end_ns: u64) {
        self.end_ns = end_ns.clamp(self.begin_ns, self.end_ns);
        self.begin_ns = begin_ns.clamp(self.begin_ns, self.end_ns);
        let stretch = self.begin_ns..=self.end_ns;
        let before = self.stalls.len();
        self.stalls.retain(|stall| stretch.contains(&stall.begin_ns) && stretch.contains(&stall.end_ns));
        self.not_kept += (before - self.stalls.len()) as u64;
        self.events.retain(|event| stretch.contains(&event.at_ns));
    }

    /// Truncates the visit to its first `most` stalls and the time up to the last of them; 0 leaves an empty visit.
    pub fn cut_to_stalls(&mut self, most: usize) {
        let end_ns = match most.checked_sub(1) {
            None => self.begin_ns,
            Some(last) if most < self.stalls.len() => self.stalls[last].end_ns,
            Some(_) => return,
        };
        self.cut_to(self.begin_ns, end_ns);
    }

    /// Returns the timed duration in seconds.
    pub fn elapsed_s(&self) -> f64 {
        self.end_ns.saturating_sub(self.begin_ns) as f64 * 1e-9
    }
}

/// Facts about a machine needed to name causes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseSurroundings {
    /// True if a hypervisor could take time.
    pub has_hypervisor: bool,
    /// The devices of the interrupts, by number: "virtio1-req.0".
    pub devices: BTreeMap<u32, String>,
    /// The names of tasks that sent interrupts to a visited cpu, by number.
    pub tasks: BTreeMap<u32, String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewise_machine::event::EventKind;

    #[test]
    fn what_had_no_room_takes_its_time_with_it() {
        let stall = |begin_ns| Stall { begin_ns, end_ns: begin_ns + 10, off_cpu_ns: 0, involuntary_switches: 0 };
        let event = |at_ns| KernelEvent { at_ns, cpu: 0, task: 1, what: EventKind::PageFault { in_kernel: false } };
        let whole = StallVisit {
            begin_ns: 100,
            end_ns: 1100,
            stalls: [200, 400, 600].map(stall).to_vec(),
            events: [205, 405, 605].map(event).to_vec(),
            not_kept: 1,
            ..StallVisit::default()
        };
        let facts =
            |visit: &StallVisit| (visit.begin_ns, visit.end_ns, visit.stalls.len(), visit.events.len(), visit.not_kept);
        let cut = |begin_ns, end_ns| {
            let mut visit = whole.clone();
            visit.cut_to(begin_ns, end_ns);
            facts(&visit)
        };
        assert_eq!(cut(0, u64::MAX), (100, 1100, 3, 3, 1));
        assert_eq!(cut(0, 605), (100, 605, 2, 3, 2), "the last stall is not whole");
        assert_eq!(cut(405, u64::MAX), (405, 1100, 1, 2, 3));
        let kept = |most| {
            let mut visit = whole.clone();
            visit.cut_to_stalls(most);
            facts(&visit)
        };
        assert_eq!(kept(3), (100, 1100, 3, 3, 1));
        assert_eq!(kept(2), (100, 410, 2, 2, 2));
        assert_eq!(kept(0), (100, 100, 0, 0, 4));
        let mut without = StallVisit { stalls: Vec::new(), ..whole };
        without.cut_to_stalls(0);
        assert_eq!(facts(&without), (100, 100, 0, 0, 1), "nor does a visit without stalls count then");
    }
}
