//! Made-up visits, and their parts in words.

use corewise_machine::CpuSet;
use corewise_machine::event::{EventKind, InterruptSource, KernelEvent};

use super::super::{CausePhase, DividedStall, DividedVisit, StallCause, divide_stalls};
use crate::stall::{CauseSurroundings, Stall, StallVisit};

/// The number of the thread that times.
pub const LOOP: u32 = 77;

/// A visit to cpu 0 in the making.
#[derive(Clone, Debug)]
pub struct MadeEvents {
    /// The visit.
    pub visit: StallVisit,
    /// What is known of the machine.
    pub surroundings: CauseSurroundings,
}

impl MadeEvents {
    /// A watched visit without anything.
    pub fn new() -> Self {
        let visit = StallVisit { armed: true, own_task: LOOP, end_ns: 1_000_000_000, ..StallVisit::default() };
        Self { visit, surroundings: CauseSurroundings::default() }
    }

    /// With a stall, in nanoseconds.
    pub fn stall(mut self, begin_ns: u64, end_ns: u64) -> Self {
        self.visit.stalls.push(Stall { begin_ns, end_ns, off_cpu_ns: 0, involuntary_switches: 0 });
        self
    }

    /// With a stall in which the thread was off the cpu.
    pub fn stall_off_cpu(mut self, begin_ns: u64, end_ns: u64, off_cpu_ns: u64, switches: u32) -> Self {
        self.visit.stalls.push(Stall { begin_ns, end_ns, off_cpu_ns, involuntary_switches: switches });
        self
    }

    /// With an event of the cpu.
    pub fn at(self, at_ns: u64, what: EventKind) -> Self {
        self.from(0, LOOP, at_ns, what)
    }

    /// With an event of any cpu, where a task was current.
    pub fn from(mut self, cpu: u32, task: u32, at_ns: u64, what: EventKind) -> Self {
        self.visit.events.push(KernelEvent { at_ns, cpu, task, what });
        self
    }

    /// On a virtual machine.
    pub fn under_hypervisor(mut self) -> Self {
        self.surroundings.has_hypervisor = true;
        self
    }

    /// Unwatched.
    pub fn unwatched(mut self) -> Self {
        self.visit.armed = false;
        self
    }

    /// With pieces that take so long.
    pub fn pieces(mut self, piece_ns: u64) -> Self {
        self.visit.piece_ns = piece_ns;
        self
    }

    /// Divided.
    pub fn divided(&self) -> DividedVisit {
        divide_stalls(&self.visit, &self.surroundings)
    }

    /// The parts of the only stall in words, which must add up to its length.
    pub fn parts(&self) -> Vec<String> {
        let divided = self.divided();
        assert_eq!(divided.stalls.len(), 1);
        in_words(&divided.stalls[0])
    }
}

/// "timer delivery 700"; the parts must add up.
pub fn in_words(divided: &DividedStall) -> Vec<String> {
    let sum_ns: u64 = divided.parts.iter().map(|part| part.length_ns).sum();
    assert_eq!(sum_ns, divided.stall.length_ns(), "{divided:?}");
    let phase = |phase: CausePhase| match phase {
        CausePhase::Delivery => "delivery",
        CausePhase::Running => "running",
        CausePhase::Between => "between",
        CausePhase::Return => "return",
    };
    let word = |part: &super::super::StallPart| {
        format!("{} {} {}", part.cause.plain_name(), phase(part.phase), part.length_ns)
    };
    divided.parts.iter().map(word).collect()
}

/// A handler begins.
pub fn enter(source: InterruptSource) -> EventKind {
    EventKind::Enter { source }
}

/// A handler ends.
pub fn exit(source: InterruptSource) -> EventKind {
    EventKind::Exit { source }
}

/// The cpu goes from one task, which wanted to go on, to another.
pub fn switch(from: u32, to: u32, to_name: &str) -> EventKind {
    EventKind::Switch { from, preempted: true, to, to_name: to_name.into() }
}

/// A page fault of a program.
pub fn fault() -> EventKind {
    EventKind::PageFault { in_kernel: false }
}

/// A call from another cpu.
pub fn called(function: &str) -> EventKind {
    EventKind::Called { function: function.into() }
}

/// A piece of a kernel worker's work.
pub fn work(function: &str) -> EventKind {
    EventKind::Work { function: function.into() }
}

/// An interrupt is sent to cpus.
pub fn sent(to: &[u32], function: &str) -> EventKind {
    EventKind::Sent { to: to.iter().copied().collect::<CpuSet>(), function: function.into() }
}

/// A non-maskable interrupt ended.
pub fn non_maskable(duration_ns: u64) -> EventKind {
    EventKind::NonMaskable { duration_ns, handler: "perf_event_nmi_handler".into() }
}

/// The cpu's timer.
pub fn timer() -> InterruptSource {
    InterruptSource::LocalTimer
}

/// Softirq SCHED.
pub fn soft() -> InterruptSource {
    InterruptSource::Soft(7)
}

/// A device without a name.
pub fn device() -> InterruptSource {
    InterruptSource::Device(36)
}

/// The cause that a task is.
pub fn task(name: &str, number: u32) -> StallCause {
    StallCause::Task { name: name.into(), number, function: String::new() }
}
