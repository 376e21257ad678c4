//! Stalls of a cpu as they were observed: a stretch of time in which a loop that never waits did not get on.

use std::collections::BTreeMap;

use corewise_machine::event::Event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// The last reading of the clock before it, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub begin_ns: u64,
    /// The first reading after it.
    pub end_ns: u64,
    /// How much of the time since the stall before it the thread was not on the cpu, in nanoseconds, at most its own length:
    /// time that passed less the thread's cpu time.
    pub off_cpu_ns: u64,
    /// How often the cpu was taken from the thread since the stall before it.
    pub involuntary_switches: u32,
}

impl Stall {
    /// How long it took, in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

/// What one visit to one cpu observed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Visit {
    /// The cpu.
    pub cpu: u32,
    /// Which round, from 0.
    pub round: u32,
    /// Whether the kernel's events were recorded meanwhile.
    pub armed: bool,
    /// When timing began, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What a piece takes that nothing interrupts, in nanoseconds: so much of a stall is work that was done.
    pub piece_ns: u64,
    /// The thread that timed: its number in the system as a whole, 0 where it is not known.
    pub own_task: u32,
    /// The stalls, in order of time.
    pub stalls: Vec<Stall>,
    /// Stalls for which there was no room: they are in the histogram of pieces alone.
    pub not_kept: u64,
    /// The events of the cpu, and what others sent it, in order of time.
    pub events: Vec<Event>,
    /// Events that were lost because the buffers were full.
    pub events_lost: u64,
}

impl Visit {
    /// Leaves what lies in a stretch of it. Outside of that there was no room for stalls, or for the events that would name them: rates
    /// would be too low, and stalls would seem to be nobody's.
    pub fn cut_to(&mut self, begin_ns: u64, end_ns: u64) {
        self.end_ns = end_ns.clamp(self.begin_ns, self.end_ns);
        self.begin_ns = begin_ns.clamp(self.begin_ns, self.end_ns);
        let stretch = self.begin_ns..=self.end_ns;
        let before = self.stalls.len();
        self.stalls.retain(|stall| stretch.contains(&stall.begin_ns) && stretch.contains(&stall.end_ns));
        self.not_kept += (before - self.stalls.len()) as u64;
        self.events.retain(|event| stretch.contains(&event.at_ns));
    }

    /// Leaves so many of its stalls, and the time up to the last of them; nothing of it where that is none.
    pub fn cut_to_stalls(&mut self, most: usize) {
        let end_ns = match most.checked_sub(1) {
            None => self.begin_ns,
            Some(last) if most < self.stalls.len() => self.stalls[last].end_ns,
            Some(_) => return,
        };
        self.cut_to(self.begin_ns, end_ns);
    }

    /// How long it was timed, in seconds.
    pub fn elapsed_s(&self) -> f64 {
        self.end_ns.saturating_sub(self.begin_ns) as f64 * 1e-9
    }
}

/// What has to be known of a machine to name causes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Surroundings {
    /// Whether a hypervisor could take time.
    pub has_hypervisor: bool,
    /// The devices of the interrupts, by number: "virtio1-req.0".
    pub devices: BTreeMap<u32, String>,
    /// The names of tasks that sent interrupts to a visited cpu, by number.
    pub tasks: BTreeMap<u32, String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewise_machine::event::What;

    #[test]
    fn what_had_no_room_takes_its_time_with_it() {
        let stall = |begin_ns| Stall { begin_ns, end_ns: begin_ns + 10, off_cpu_ns: 0, involuntary_switches: 0 };
        let event = |at_ns| Event { at_ns, cpu: 0, task: 1, what: What::PageFault { in_kernel: false } };
        let whole = Visit {
            begin_ns: 100,
            end_ns: 1100,
            stalls: [200, 400, 600].map(stall).to_vec(),
            events: [205, 405, 605].map(event).to_vec(),
            not_kept: 1,
            ..Visit::default()
        };
        let facts =
            |visit: &Visit| (visit.begin_ns, visit.end_ns, visit.stalls.len(), visit.events.len(), visit.not_kept);
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
        let mut without = Visit { stalls: Vec::new(), ..whole };
        without.cut_to_stalls(0);
        assert_eq!(facts(&without), (100, 100, 0, 0, 1), "nor does a visit without stalls count then");
    }
}
