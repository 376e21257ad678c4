//! The task of `tail`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use corewise_machine::placement::PlacementExpression;
use corewise_model::survey::WorkKind;

use super::arguments::TailArguments;
use crate::app::failure::CommandFailure;
use crate::app::measurement::{DEFAULT_BUDGET, grow_budget};
use crate::app::placement;

/// The source of the stalls.
#[derive(Clone, Debug, PartialEq)]
pub enum TailTask {
    /// The cpus of this machine.
    Measure(MeasureTask),
    /// A recording.
    Replay {
        /// The file.
        recording: PathBuf,
        /// The folder for histograms.
        histograms: Option<PathBuf>,
    },
    /// A running process to watch.
    Process {
        /// Its number.
        process: u32,
        /// The maximum duration of watching; until it ends if not given.
        budget: Option<Duration>,
    },
    /// A command to watch.
    Beside {
        /// The cpus that it may use; unchanged if not given.
        cpus: Option<PlacementExpression>,
        /// The maximum duration of watching; until the command ends if not given.
        budget: Option<Duration>,
        /// The command and its arguments.
        command: Vec<OsString>,
    },
}

/// Options of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureTask {
    /// The cpus; all allowed cpus if not given.
    pub cpus: Option<PlacementExpression>,
    /// The total duration; depends on the number of cpus if not given.
    budget: Option<Duration>,
    /// Minimum excess over the usual duration for a piece to be a stall.
    pub threshold: Duration,
    /// The timed work.
    pub work: WorkKind,
    /// True if the kernel's events name the causes.
    pub explain: bool,
    /// True to run before all other tasks (SCHED_FIFO).
    pub fifo: bool,
    /// The seed; from the clock if not given.
    pub seed: Option<u64>,
    /// The file for a recording.
    pub record: Option<PathBuf>,
    /// The folder for histograms.
    pub histograms: Option<PathBuf>,
}

impl TailTask {
    /// Interprets the arguments.
    ///
    /// # Errors
    /// The expression cannot be read.
    pub fn new(typed: TailArguments) -> Result<Self, CommandFailure> {
        let cpus = typed.cpus.as_deref().map(placement::parse_expression).transpose()?;
        if let Some(recording) = typed.replay {
            return Ok(Self::Replay { recording, histograms: typed.histograms });
        }
        if let Some(process) = typed.pid {
            return Ok(Self::Process { process, budget: typed.budget });
        }
        if typed.beside {
            return Ok(Self::Beside { cpus, budget: typed.budget, command: typed.command });
        }
        Ok(Self::Measure(MeasureTask {
            cpus,
            budget: typed.budget,
            threshold: typed.threshold,
            work: typed.work.to_kind(),
            // A recording without the kernel's events would contain no more than the JSON output.
            explain: typed.explain || typed.record.is_some(),
            fifo: typed.fifo,
            seed: typed.seed,
            record: typed.record,
            histograms: typed.histograms,
        }))
    }
}

impl MeasureTask {
    /// Returns the total duration for a number of cpus.
    pub fn budget_for(&self, cpus: usize) -> Duration {
        self.budget.unwrap_or_else(|| grow_budget(DEFAULT_BUDGET, cpus))
    }
}
