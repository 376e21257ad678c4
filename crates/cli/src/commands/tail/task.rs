//! What `tail` is to do.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use corewise_machine::placement::Expression;
use corewise_model::survey::WorkKind;

use super::arguments::TailArguments;
use crate::app::failure::Failure;
use crate::app::measuring::{DEFAULT_BUDGET, grown};
use crate::app::placing;

/// What is looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum TailTask {
    /// The cpus of this machine.
    Measure(Measure),
    /// A recording.
    Replay {
        /// The file.
        recording: PathBuf,
        /// The folder that histograms are written into.
        histograms: Option<PathBuf>,
    },
    /// A command, and who interrupts it.
    Beside {
        /// The cpus that it may use; as it is, where nothing is said.
        cpus: Option<Expression>,
        /// After how long watching ends; with the command, where nothing is said.
        budget: Option<Duration>,
        /// The command and its arguments.
        command: Vec<OsString>,
    },
}

/// How the cpus are measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// Which; all that are allowed, where nothing is said.
    pub cpus: Option<Expression>,
    /// How long in all; depends on their number, where nothing is said.
    budget: Option<Duration>,
    /// From how much beyond the usual on it is a stall.
    pub threshold: Duration,
    /// What is timed.
    pub work: WorkKind,
    /// Whether the kernel's events name the causes.
    pub explain: bool,
    /// Whether to run before all others.
    pub fifo: bool,
    /// The seed; from the clock, where nothing is said.
    pub seed: Option<u64>,
    /// The file that a recording is written into.
    pub record: Option<PathBuf>,
    /// The folder that histograms are written into.
    pub histograms: Option<PathBuf>,
}

impl TailTask {
    /// What was typed, understood.
    ///
    /// # Errors
    /// Where the expression cannot be read.
    pub fn new(typed: TailArguments) -> Result<Self, Failure> {
        let cpus = typed.cpus.as_deref().map(placing::expression).transpose()?;
        if let Some(recording) = typed.replay {
            return Ok(Self::Replay { recording, histograms: typed.histograms });
        }
        if typed.beside {
            return Ok(Self::Beside { cpus, budget: typed.budget, command: typed.command });
        }
        Ok(Self::Measure(Measure {
            cpus,
            budget: typed.budget,
            threshold: typed.threshold,
            work: typed.work.kind(),
            // A recording without the kernel's events would be one of numbers that the JSON has too.
            explain: typed.explain || typed.record.is_some(),
            fifo: typed.fifo,
            seed: typed.seed,
            record: typed.record,
            histograms: typed.histograms,
        }))
    }
}

impl Measure {
    /// How long so many cpus may take.
    pub fn budget(&self, cpus: usize) -> Duration {
        self.budget.unwrap_or_else(|| grown(DEFAULT_BUDGET, cpus))
    }
}
