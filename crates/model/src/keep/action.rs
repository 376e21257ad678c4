//! What is done with a thread, what it gets back, and why a process is left alone.

use std::time::Duration;

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use corewise_machine::suggested_command;

/// What a thread had before a rule placed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Original {
    /// All that its control group lets it use, also when that grows.
    All,
    /// These cpus.
    Only(CpuSet),
}

impl Original {
    /// What a mask was, where these cpus could be had.
    pub fn of(cpus: &CpuSet, reachable: &CpuSet) -> Self {
        if reachable.is_subset(cpus) { Self::All } else { Self::Only(cpus.clone()) }
    }

    /// What of these cpus it allows.
    pub fn within(&self, cpus: &CpuSet) -> CpuSet {
        match self {
            Self::All => cpus.clone(),
            Self::Only(own) => own.intersection(cpus),
        }
    }
}

/// Who set the mask of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Author {
    /// Not known: without privilege the kernel does not say.
    Unknown,
    /// A thread of the same process.
    Itself,
    /// A process whose session has a terminal.
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

/// Why a process is left alone that a rule matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "because", rename_all = "kebab-case")]
pub enum LeftBecause {
    /// Somebody asked for that with `corewise keep release`.
    Asked,
    /// A person set the mask of one of its threads.
    Person {
        /// With which program: its number and name.
        program: String,
        /// What the thread has now.
        cpus: CpuSet,
    },
    /// A thread left the rule's cpus.
    LeftBoundary {
        /// Who did that.
        author: Author,
        /// What the thread has now.
        cpus: CpuSet,
    },
    /// A thread was corrected as often as it may be in an hour, and somebody set its mask again.
    Fought {
        /// Who did that.
        author: Author,
        /// When it was corrected, since the keeper began.
        corrected: Vec<Duration>,
        /// What the thread has now.
        cpus: CpuSet,
    },
}

/// What is to be done with a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Action {
    /// The process.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// When the thread started: another one with its number is not meant.
    pub start_ticks: u64,
    /// The cpus that it gets; absent where it gets back what it had.
    pub cpus: Option<CpuSet>,
    /// What it had before any rule placed it.
    pub original: Original,
    /// What it has now, as far as was seen: where it has something else, nothing is done.
    pub seen: CpuSet,
}

/// What came of an action that placed a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has these cpus now.
    Placed(CpuSet),
    /// It ended in between.
    Ended,
    /// The system, or the journal, refused, and said why.
    Refused(String),
}

impl Author {
    /// Who, as the subject of a sentence.
    pub fn words(&self) -> &str {
        match self {
            Self::Unknown => "an unknown author (the kernel reports it to privileged users only)",
            Self::Itself => "the program itself",
            Self::Person { program } | Self::Program { program } => program,
        }
    }
}

impl LeftBecause {
    /// Why, in a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::Asked => format!("released by {}", suggested_command::keep_release("PID").mention()),
            Self::Person { program, cpus } => format!("released: a person set cpus {cpus} with {program}"),
            Self::LeftBoundary { author, cpus } => {
                format!("released: {} set cpus {cpus}, outside of the rule's", author.words())
            }
            Self::Fought { author, corrected, cpus } => format!(
                "released: {} set cpus {cpus} again after {} corrections by corewise within an hour",
                author.words(),
                corrected.len()
            ),
        }
    }
}
