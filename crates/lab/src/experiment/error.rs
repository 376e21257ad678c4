//! Why an experiment cannot be begun, and what its user can do about it.

use std::io;

use corewise_machine::placement::PlacementError;
use corewise_machine::placement::memory::MemoryError;
use corewise_machine::{CpuSet, SuggestedCommand, suggested_command};
use corewise_model::trial::{MEMORY_SIGN, RareMetric, WITHOUT_ECO_QOS};
use corewise_sys::installed::explain_missing;

use super::RunnerEnd;
use crate::LabError;
use crate::placement::PlacingError;
use crate::script::ScriptError;

/// An experiment that cannot be begun. Nothing has been changed.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A metric or a service of the workload cannot be used.
    #[error(transparent)]
    Workload(#[from] LabError),
    /// A placement selects no cpus or no memory here.
    #[error(transparent)]
    Placement(#[from] PlacingError),
    /// A placement is not written in the placement language.
    #[error(transparent)]
    Expression(#[from] PlacementError),
    /// The memory policy of a placement cannot be read.
    #[error("--on '{placement} {MEMORY_SIGN} {policy}': {source}")]
    MemoryPolicy {
        /// The placement as it was written.
        placement: String,
        /// The policy as it was written.
        policy: String,
        /// The mistake.
        source: MemoryError,
    },
    /// The OS default was named, and nothing beside it.
    #[error("--on os alone leaves nothing to compare")]
    OnlyOsDefault,
    /// This process can use one cpu only.
    #[error("there is nothing to try: this process may use only cpu {0}")]
    OneCpu(CpuSet),
    /// Every placement of this machine comes to the OS default.
    #[error("there is nothing to try: no placement of this machine differs from the OS default")]
    NothingDiffers,
    /// All usable cpus are near a device.
    #[error("{placement} is every cpu that this process may use: {reason}")]
    NearEverything {
        /// The placement.
        placement: String,
        /// Why these cpus are near.
        reason: String,
    },
    /// A placement names roles, and the workload has none.
    #[error("--on {0}: this places roles, and there are none")]
    NoRoles(String),
    /// A placement names a role that the workload lacks.
    #[error("--on {text}: there is no role \"{role}\"")]
    UnknownRole {
        /// The placement as it was written.
        text: String,
        /// The role.
        role: String,
        /// The roles of the workload.
        known: Vec<String>,
    },
    /// A gate about something that is not tried.
    #[error("--gate: \"{name}\" is not tried")]
    UnknownCandidate {
        /// Its name.
        name: String,
        /// The names of the candidates.
        known: Vec<String>,
    },
    /// One memory policy for a placement of several roles.
    #[error("--memory has no role, and --on '{0}' places several")]
    MemoryOfRoles(String),
    /// A memory policy for a program that is running already.
    #[error("{0}: the memory of running processes stays where it is")]
    MemoryStays(String),
    /// The system cannot run a program without EcoQoS.
    #[error("--on '{WITHOUT_ECO_QOS}': {0}")]
    FullSpeed(String),
    /// One arm, and none to compare it with.
    #[error("there is nothing to compare{0}")]
    OneArm(String),
    /// A running process that may not use the cpus of a placement.
    #[error("process {id} ({name}) may use only cpus {reachable}, not {cpus}")]
    Unreachable {
        /// Its number.
        id: u32,
        /// Its name.
        name: String,
        /// The cpus that it may use.
        reachable: CpuSet,
        /// The cpus of the placement.
        cpus: CpuSet,
    },
    /// Running processes are placed through a journal, and the context has none.
    #[error("there is no folder for the journal of changes")]
    NoJournal,
    /// The program of the command is not there, or is no program.
    #[error("{0} cannot be started: {why}", why = explain_missing(.0))]
    NotInstalled(String),
    /// The file for the standard input cannot be read.
    #[error("--input {file}: {source}")]
    Input {
        /// The file.
        file: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The system cannot run commands with an option.
    #[error("{option} is not available here: {why}")]
    NotHere {
        /// The option.
        option: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// The current folder cannot be found.
    #[error("the current folder: {0}")]
    Folder(io::Error),
    /// The measurement before the first run or slot ended.
    #[error("{}", describe_end(.0))]
    NotBegun(RunnerEnd),
    /// The metric of running processes comes too rarely to find the length of slots.
    #[error(transparent)]
    Rare(RareMetric),
    /// The services were not ready, or the caller asked to stop.
    #[error("{}", describe_trouble(.0))]
    Service(ScriptError),
}

fn describe_end(ended: &RunnerEnd) -> String {
    match ended {
        RunnerEnd::Stopped => "nothing was tried: it was ended before the first measurement".to_owned(),
        RunnerEnd::OutOfTime => "nothing was tried: the budget ended before the first measurement".to_owned(),
        RunnerEnd::Gone(why) => why.clone(),
    }
}

fn describe_trouble(trouble: &ScriptError) -> String {
    match trouble {
        ScriptError::Interrupted => "nothing was tried: it was ended before the first run".to_owned(),
        ScriptError::Failed { why, .. } => why.clone(),
    }
}

impl ExperimentError {
    /// Returns true if the request itself is wrong, on any machine.
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Expression(_)
                | Self::MemoryPolicy { .. }
                | Self::OnlyOsDefault
                | Self::NoRoles(_)
                | Self::UnknownRole { .. }
                | Self::UnknownCandidate { .. }
                | Self::MemoryOfRoles(_)
                | Self::MemoryStays(_)
        )
    }

    /// Returns true if the caller asked to stop.
    pub const fn is_stop(&self) -> bool {
        matches!(self, Self::NotBegun(RunnerEnd::Stopped) | Self::Service(ScriptError::Interrupted))
    }

    /// Returns what to do next, or `None` if the error says it. `mention` words a command for a sentence.
    pub fn hint(&self, mention: impl Fn(&SuggestedCommand) -> String) -> Option<String> {
        Some(match self {
            Self::Placement(error) => return error.suggest_hint(),
            Self::Expression(error) => return error.hint.clone(),
            Self::MemoryPolicy { .. } => "For example: --on 'node:0 @ interleave:all'".to_owned(),
            Self::OnlyOsDefault => {
                "Add another placement, or give `--on os` twice to compare the OS default with itself.".to_owned()
            }
            Self::OneCpu(_) => format!("{} shows what limits it.", mention(&suggested_command::doctor())),
            Self::NothingDiffers => "Name a placement with --on EXPR.".to_owned(),
            Self::NearEverything { .. } => "There is nothing else to compare it with.".to_owned(),
            Self::NoRoles(_) => {
                "Services have roles (--start NAME=COMMAND), and threads by their names (--role NAME=REGEX).".to_owned()
            }
            Self::UnknownRole { known, .. } => format!("The roles are {}.", known.join(", ")),
            Self::UnknownCandidate { known, .. } => format!("The candidates are {}.", known.join(", ")),
            Self::MemoryOfRoles(_) => "Give each role its policy: --on 'server=node:0@bind:0, load=1'".to_owned(),
            Self::MemoryStays(_) => {
                "Only services that are started for each trial, and the load, can have a memory policy.".to_owned()
            }
            Self::OneArm(_) => "--threads takes several numbers, such as 1,2,4.".to_owned(),
            Self::Unreachable { .. } => "Name placements inside these with --on EXPR.".to_owned(),
            Self::Rare(rare) if rare.fitting_slot().is_none() => {
                "Nothing was changed. Name a metric that changes more often.".to_owned()
            }
            Self::NotBegun(RunnerEnd::Gone(_)) | Self::Rare(_) => "Nothing was changed.".to_owned(),
            Self::Service(ScriptError::Failed { output, .. }) if output.trim().is_empty() => {
                "Nothing was tried; all started processes were ended.".to_owned()
            }
            Self::Service(ScriptError::Failed { output, .. }) => {
                format!("Its last lines:{}", output.lines().map(|line| format!("\n    {line}")).collect::<String>())
            }
            Self::Workload(_)
            | Self::FullSpeed(_)
            | Self::NoJournal
            | Self::NotInstalled(_)
            | Self::NotHere { .. }
            | Self::Folder(_)
            | Self::Input { .. }
            | Self::NotBegun(_)
            | Self::Service(ScriptError::Interrupted) => return None,
        })
    }
}
