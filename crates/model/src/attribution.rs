//! Who took the time of a stall: each is divided among causes to the nanosecond, and what no cause is known for says so.
//!
//! [`divide`] holds one visit's stalls against the kernel's events of that cpu; [`settle`] looks at all visits together: what is
//! too long to be delivery, what a hypervisor took, what comes with a period. Nothing is thrown away on the way: the parts of a
//! stall always add up to its length.

mod divide;
mod fence;
mod perturbation;
pub(crate) mod senders;
mod settle;
mod summary;
#[cfg(test)]
mod tests;

use corewise_machine::event::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use divide::divide;
pub use perturbation::{Perturbation, perturbation};
pub use senders::Sender;
pub use settle::settle;
pub use summary::{CauseSummary, CpuStalls, Timeline};

use crate::stall::Stall;

/// Who took time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum Cause {
    /// An interrupt, a soft one too.
    Interrupt {
        /// Where it comes from.
        source: Source,
        /// A device's name, or the function that another cpu had called; empty where neither is known.
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
        /// Its number in the system as a whole.
        number: u32,
        /// What it did, where it is a kernel worker; empty otherwise.
        function: String,
    },
    /// Another task ran; which is not known without the kernel's events.
    OtherTask,
    /// The thread was on the cpu and did not get on: an interrupt; which is not known without the kernel's events.
    Interrupted,
    /// The hypervisor ran something else.
    Stolen,
    /// It comes with a period, and the kernel of this system knows nothing of it.
    Periodic {
        /// Which of the cpu's periods, from 0.
        rank: u8,
    },
    /// Nobody is known.
    Unknown,
    /// The piece of work that was timed: no time was lost.
    Work,
}

/// What of a cause a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Before the kernel's first event: the way into it.
    Delivery,
    /// In a handler, or another task that runs.
    Running,
    /// Between two events: from a handler to the scheduler, and the like.
    Between,
    /// After the last event: the way back.
    Return,
}

/// A part of a stall.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Who took it.
    #[serde(flatten)]
    pub cause: Cause,
    /// What of it.
    pub phase: Phase,
    /// How long, in nanoseconds.
    pub length_ns: u64,
}

/// A stall with its parts, in order of time; their lengths add up to its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divided {
    /// The stall.
    pub stall: Stall,
    /// Its parts.
    pub parts: Vec<Part>,
    /// Whether the kernel told of anything in it.
    pub has_events: bool,
}

/// A visit whose stalls are divided; its events are no longer needed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DividedVisit {
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
    /// The stalls.
    pub stalls: Vec<Divided>,
    /// Stalls for which there was no room.
    pub not_kept: u64,
    /// Events that were lost because the buffers were full.
    pub events_lost: u64,
    /// How often the cpu's own timer struck, and the time between two of them in the middle, in nanoseconds; 0 where none did.
    pub tick_ns: u64,
    /// Who sent interrupts to this cpu.
    pub senders: Vec<Sender>,
}

/// A stall of unknown cause is counted with the host if the host accounts for one part in so many of it.
const HOSTS_LEAST_PART: u64 = 4;

impl Cause {
    /// The plain name.
    pub fn name(&self) -> String {
        match self {
            Self::Interrupt { source: Source::Device(number), detail } if !detail.is_empty() => {
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

    /// Whether the kernel's events name it.
    pub const fn is_named(&self) -> bool {
        matches!(self, Self::Interrupt { .. } | Self::NonMaskable { .. } | Self::PageFault | Self::Task { .. })
    }

    /// Whether another task ran.
    pub const fn is_task(&self) -> bool {
        matches!(self, Self::Task { .. } | Self::OtherTask)
    }
}

impl Divided {
    /// The cause that the stall is counted with: the other task that ran longest, if any did, since what woke it is its
    /// doing; otherwise whoever took most of the time. A host that took the cpu away also takes time to do so, for which nobody
    /// accounts: what would be unknown is its doing where it accounts for at least a quarter of the stall.
    pub fn main(&self) -> &Cause {
        let sums = self.sums();
        let longest = |is_wanted: fn(&Cause) -> bool| {
            let wanted = sums.iter().filter(|(cause, _)| is_wanted(cause));
            wanted.max_by_key(|(_, length_ns)| *length_ns).map(|(cause, _)| *cause)
        };
        let stolen_ns = self.time_of(|cause| *cause == Cause::Stolen);
        match longest(Cause::is_task).or_else(|| longest(|cause| *cause != Cause::Work)) {
            Some(Cause::Unknown) if stolen_ns * HOSTS_LEAST_PART >= self.stall.length_ns() && stolen_ns > 0 => {
                &Cause::Stolen
            }
            Some(cause) => cause,
            None => &Cause::Unknown,
        }
    }

    /// How long each cause took, phases together, in the order of their first part.
    pub fn sums(&self) -> Vec<(&Cause, u64)> {
        let mut sums: Vec<(&Cause, u64)> = Vec::new();
        for part in &self.parts {
            match sums.iter_mut().find(|(cause, _)| **cause == part.cause) {
                Some((_, length_ns)) => *length_ns += part.length_ns,
                None => sums.push((&part.cause, part.length_ns)),
            }
        }
        sums
    }

    /// How long the parts of a kind took.
    pub fn time_of(&self, is_wanted: impl Fn(&Cause) -> bool) -> u64 {
        self.parts.iter().filter(|part| is_wanted(&part.cause)).map(|part| part.length_ns).sum()
    }
}
