//! Actions on a thread, the mask that it gets back, and reasons to leave a process alone.

use std::time::Duration;

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use corewise_machine::suggested_command;

/// Original mask of a thread, before a rule placed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OriginalMask {
    /// All that its control group allows, also after that grows.
    All,
    /// These cpus.
    Only(CpuSet),
}

impl OriginalMask {
    /// Classifies an original mask, given the cpus that were reachable.
    pub fn from_mask(cpus: &CpuSet, reachable: &CpuSet) -> Self {
        if reachable.is_subset(cpus) { Self::All } else { Self::Only(cpus.clone()) }
    }

    /// Returns the cpus of a set that it allows.
    pub fn restrict_to(&self, cpus: &CpuSet) -> CpuSet {
        match self {
            Self::All => cpus.clone(),
            Self::Only(own) => own.intersection(cpus),
        }
    }
}

/// Author of a thread's mask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum MaskAuthor {
    /// Unknown: without privilege the kernel does not report it.
    Unknown,
    /// A thread of the same process.
    Itself,
    /// A process in a session with a terminal.
    Person {
        /// Its number and name.
        program: String,
    },
    /// Another process.
    Program {
        /// Its number and name.
        program: String,
    },
}

/// Reason to leave a matching process alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "because", rename_all = "kebab-case")]
pub enum LeftBecause {
    /// The user asked for it with `corewise keep release`.
    Asked,
    /// A person set the mask of one of its threads.
    Person {
        /// The program that set it: its number and name.
        program: String,
        /// The thread's present cpus.
        cpus: CpuSet,
    },
    /// A thread left the rule's cpus.
    LeftBoundary {
        /// Author of the mask.
        author: MaskAuthor,
        /// The thread's present cpus.
        cpus: CpuSet,
    },
    /// A thread was corrected as often as is allowed in an hour, and its mask was set again.
    Fought {
        /// Author of the mask.
        author: MaskAuthor,
        /// Times of the corrections, since the keeper began.
        corrected: Vec<Duration>,
        /// The thread's present cpus.
        cpus: CpuSet,
    },
}

/// An action on a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeepAction {
    /// The process.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// Start of the thread, to exclude another thread that reuses its number.
    pub start_ticks: u64,
    /// The cpus that it gets; `None` to restore its original mask.
    pub cpus: Option<CpuSet>,
    /// Its mask before any rule placed it.
    pub original: OriginalMask,
    /// Its observed mask; if the mask has changed since, no action is taken.
    pub seen: CpuSet,
}

/// Result of an action that placed a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeepActionOutcome {
    /// It has these cpus now.
    Placed(CpuSet),
    /// It ended before the action.
    Ended,
    /// The system or the journal refused, with this reason.
    Refused(String),
}

impl MaskAuthor {
    /// Returns the author as the subject of a sentence.
    pub fn describe_author(&self) -> &str {
        match self {
            Self::Unknown => {
                "an unknown author (the kernel reports authors to privileged users only, and loses some if it is busy)"
            }
            Self::Itself => "the program itself",
            Self::Person { program } | Self::Program { program } => program,
        }
    }
}

impl LeftBecause {
    /// Returns the reason as a sentence.
    pub fn reason_sentence(&self) -> String {
        match self {
            Self::Asked => format!("released by {}", suggested_command::keep_release("PID").quoted_line()),
            Self::Person { program, cpus } => format!("released: a person set cpus {cpus} with {program}"),
            Self::LeftBoundary { author, cpus } => {
                format!("released: {} set cpus {cpus}, outside of the rule's", author.describe_author())
            }
            Self::Fought { author, corrected, cpus } => format!(
                "released: {} set cpus {cpus} again after {} corrections by corewise within an hour",
                author.describe_author(),
                corrected.len()
            ),
        }
    }
}
