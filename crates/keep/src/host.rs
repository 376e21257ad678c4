//! The loop's caller: what it decides, and what it is told.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use corewise_machine::Machine;
use corewise_machine::placement::MachineKnowledge;
use corewise_machine::worth::CpuSpeed;
use corewise_model::keep::KeptProcess;
use corewise_sys::change::ChangeJournal;
use corewise_sys::process::ProcessIdentity;

use crate::rule_files::RuleFiles;
use crate::status::KeepStatus;

/// The next step of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepOrder {
    /// Go on.
    Continue,
    /// Read the rules again.
    Reload,
    /// Give everything back and end.
    Stop,
}

/// A user's request about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseRequest {
    /// Leave it alone, and restore its original cpus.
    Release,
    /// Hold it again.
    Hold,
}

/// Callbacks from the loop to its caller. Logs go to `tracing`.
pub trait KeepHost {
    /// Returns the next step. Called once a [`crate::TICK`] and after each batch of events.
    fn next_order(&mut self) -> KeepOrder;

    /// Announces that the rules are about to be read again; returns the requests made since the last call, each about one process.
    fn begin_reload(&mut self) -> Vec<(ProcessIdentity, ReleaseRequest)>;

    /// Returns the earlier measurements that expressions of rules need.
    fn machine_knowledge(&self) -> &dyn MachineKnowledge;

    /// Returns the speeds of a machine's cpus, for the map of what they are worth.
    fn cpu_speeds(&self, machine: &Machine) -> Vec<CpuSpeed>;

    /// Takes the loop's status: after a change, at most once a second, and at once after the rules were read. Returns false if the status
    /// could not be written and is to be reported again.
    fn report_status(&mut self, status: &KeepStatus<'_>) -> bool;
}

/// Options of [`crate::run`].
#[derive(Debug)]
pub struct KeepOptions<'a> {
    /// The rules to keep in force.
    pub rules: RuleFiles,
    /// The journal of changes. The loop takes over the changes that a killed loop left in the same folder.
    pub journal: ChangeJournal,
    /// The processes that had been released before.
    pub left_alone: BTreeMap<u32, KeptProcess>,
    /// Folder of the worth map and interval between its updates; `None` for no map.
    pub worth_map: Option<(&'a Path, Duration)>,
}
