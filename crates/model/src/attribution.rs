//! Attribution of stalls: the time of each is divided among causes to the nanosecond; a part without a known cause is
//! marked as unknown.
//!
//! [`divide`] compares one visit's stalls with the kernel's events of that cpu. [`settle`] looks at all visits
//! together: parts too long to be delivery, time that a hypervisor took, periodic stalls. No time is dropped: the parts
//! of a stall always add up to its length.

mod divide;
mod fence;
mod perturbation;
pub(crate) mod senders;
mod settle;
mod summary;
#[cfg(test)]
mod tests;

use corewise_machine::event::InterruptSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use divide::divide_stalls;
pub use perturbation::{RecordingPerturbation, measure_perturbation};
pub use senders::InterruptSender;
pub use settle::settle_visits;
pub use summary::{CauseSummary, CpuStalls, StallTimeline};

use crate::stall::Stall;

/// A cause of lost time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum StallCause {
    /// An interrupt; soft interrupts are included.
    Interrupt {
        /// Origin of the interrupt.
        source: InterruptSource,
        /// A device's name, or the function that another cpu had called; empty if neither is known.
        detail: String,
    },
    /// A non-maskable interrupt.
    NonMaskable {
        /// The handler.
        handler: String,
    },
    /// A page fault.
    PageFault,
    /// Another task ran.
    Task {
        /// Its name.
        name: String,
        /// Thread id in the system's namespace.
        number: u32,
        /// The work function of a kernel worker; empty otherwise.
        function: String,
    },
    /// Another task ran; its name is unknown without the kernel's events.
    OtherTask,
    /// The thread was on the cpu and made no progress: an interrupt, unknown without the kernel's events.
    Interrupted,
    /// The hypervisor ran something else.
    Stolen,
    /// A periodic cause outside this system's kernel.
    Periodic {
        /// Index of the cpu's period, from 0.
        rank: u8,
    },
    /// No cause is known.
    Unknown,
    /// The piece of work that was timed: no time was lost.
    Work,
}

/// Phase of a cause that a part belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CausePhase {
    /// Before the kernel's first event: the way into it.
    Delivery,
    /// In a handler, or while another task runs.
    Running,
    /// Between two events: from a handler to the scheduler, and the like.
    Between,
    /// After the last event: the way back.
    Return,
}

/// A part of a stall.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StallPart {
    /// The cause of this part.
    #[serde(flatten)]
    pub cause: StallCause,
    /// The phase of that cause.
    pub phase: CausePhase,
    /// Length in nanoseconds.
    pub length_ns: u64,
}

/// A stall with its parts, in order of time; their lengths add up to its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DividedStall {
    /// The stall.
    pub stall: Stall,
    /// Its parts.
    pub parts: Vec<StallPart>,
    /// True if the kernel recorded events within the stall.
    pub has_events: bool,
}

/// A visit with divided stalls; its events are no longer needed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DividedVisit {
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
    /// The stalls.
    pub stalls: Vec<DividedStall>,
    /// Stalls for which there was no room.
    pub not_kept: u64,
    /// Events that were lost because the buffers were full.
    pub events_lost: u64,
    /// Median time between two interrupts of the cpu's own timer, in nanoseconds; 0 if unknown.
    pub tick_ns: u64,
    /// Senders of interrupts to this cpu.
    pub senders: Vec<InterruptSender>,
}

/// A stall of unknown cause is counted with the host if the host took at least 1/4 of it.
const HOSTS_LEAST_PART: u64 = 4;

impl StallCause {
    /// Returns the plain name.
    pub fn plain_name(&self) -> String {
        match self {
            Self::Interrupt { source: InterruptSource::Device(number), detail } if !detail.is_empty() => {
                format!("{detail} (interrupt {number})")
            }
            Self::Interrupt { source, detail } if detail.is_empty() => source.name(),
            Self::Interrupt { source, detail } => format!("{}: {detail}", source.name()),
            Self::NonMaskable { handler } if handler.is_empty() => "non-maskable interrupt".into(),
            Self::NonMaskable { handler } => format!("non-maskable interrupt: {handler}"),
            Self::PageFault => "page fault".into(),
            Self::Task { name, number, function } if function.is_empty() => format!("task {name} ({number})"),
            Self::Task { name, function, .. } => format!("task {name}: {function}"),
            Self::OtherTask => "another task".into(),
            Self::Interrupted => "interrupted".into(),
            Self::Stolen => "stolen by the host".into(),
            Self::Periodic { .. } => "periodic".into(),
            Self::Unknown => "unknown".into(),
            Self::Work => "work".into(),
        }
    }

    /// Returns true if the kernel's events name the cause.
    pub const fn is_named(&self) -> bool {
        matches!(self, Self::Interrupt { .. } | Self::NonMaskable { .. } | Self::PageFault | Self::Task { .. })
    }

    /// Returns true if another task ran.
    pub const fn is_task(&self) -> bool {
        matches!(self, Self::Task { .. } | Self::OtherTask)
    }
}

impl DividedStall {
    /// Returns the cause that the stall is counted with: the other task that ran longest, if any, since its wake-up is
    /// its own doing. Otherwise it is the cause with the most time. Time around a host's preemption is often
    /// unaccounted: unknown stalls count with the host if it accounts for at least a quarter.
    pub fn main(&self) -> &StallCause {
        let sums = self.cause_sums();
        let longest = |is_wanted: fn(&StallCause) -> bool| {
            let wanted = sums.iter().filter(|(cause, _)| is_wanted(cause));
            wanted.max_by_key(|(_, length_ns)| *length_ns).map(|(cause, _)| *cause)
        };
        let stolen_ns = self.time_of(|cause| *cause == StallCause::Stolen);
        match longest(StallCause::is_task).or_else(|| longest(|cause| *cause != StallCause::Work)) {
            Some(StallCause::Unknown) if stolen_ns * HOSTS_LEAST_PART >= self.stall.length_ns() && stolen_ns > 0 => {
                &StallCause::Stolen
            }
            Some(cause) => cause,
            None => &StallCause::Unknown,
        }
    }

    /// Sums the time by cause over all phases, in the order of first parts.
    pub fn cause_sums(&self) -> Vec<(&StallCause, u64)> {
        let mut sums: Vec<(&StallCause, u64)> = Vec::new();
        for part in &self.parts {
            match sums.iter_mut().find(|(cause, _)| **cause == part.cause) {
                Some((_, length_ns)) => *length_ns += part.length_ns,
                None => sums.push((&part.cause, part.length_ns)),
            }
        }
        sums
    }

    /// Sums the time of the parts with a wanted cause, in nanoseconds.
    pub fn time_of(&self, is_wanted: impl Fn(&StallCause) -> bool) -> u64 {
        self.parts.iter().filter(|part| is_wanted(&part.cause)).map(|part| part.length_ns).sum()
    }
}
