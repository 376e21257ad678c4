//! Control group that holds a command while it runs.

use std::io;
use std::process::Command;

use corewise_lab::placing::Place;
use corewise_machine::suggested_command;
use corewise_sys::SysError;
use corewise_sys::cgroup::{Cgroup, Entry};
use corewise_sys::change::{Journal, Outcome};

use crate::app::failure::Failure;
use crate::app::output::say;
use crate::app::settings::Settings;
use crate::draw::suggestion;

/// Control group and its journal. If it is dropped without [`Group::finish`], it is removed silently.
pub struct Group {
    cgroup: Cgroup,
    journal: Journal,
}

impl Group {
    /// Makes a group with the cpus of a placement, and with its memory nodes if memory is bound.
    pub fn prepare(place: &Place, settings: &Settings) -> Result<Self, Failure> {
        let mut journal = Journal::in_folder(settings.journal_folder()?);
        let (cpus, nodes) = (&place.resolution.cpus, place.bound_nodes());
        let cgroup = Cgroup::prepare(&mut journal, cpus, nodes.as_ref()).map_err(|error| refused(&error))?;
        Ok(Self { cgroup, journal })
    }

    /// Makes a command enter the group before its first instruction.
    pub fn hold(&self, command: &mut Command) -> Result<Entry, Failure> {
        self.cgroup.hold(command).map_err(|error| Failure::unavailable(format!("--cgroup: {error}")))
    }

    /// Describes the group for `--verbose`.
    pub fn words(&self) -> String {
        format!("corewise: held in the control group {}", self.cgroup.path().display())
    }

    /// Removes the group and reports what could not be reverted; with `verbose`, also other remarks.
    pub fn finish(mut self, verbose: bool) {
        for undone in self.cgroup.finish(&mut self.journal) {
            let change = undone.change;
            match undone.outcome {
                Outcome::Failed(why) => {
                    let undo = suggestion::mention(&suggested_command::undo());
                    say(&format!("corewise: {change}: cannot be reverted: {why}\n  {undo} tries again."));
                }
                Outcome::Reverted(Some(remark)) if verbose => say(&format!("corewise: {change}: {remark}")),
                _ => {}
            }
        }
    }
}

/// Failure of a command that could not enter its group.
pub fn not_entered(error: &io::Error) -> Failure {
    Failure::unavailable(format!("--cgroup: the command cannot enter its control group: {error}"))
        .next("Nothing was started. Without --cgroup, only the affinity mask holds the command.")
}

fn refused(error: &SysError) -> Failure {
    let failure = Failure::unavailable(format!("--cgroup: {error}"));
    match error {
        SysError::Cgroup(refusal) => failure.next(refusal.cure()),
        SysError::Journal { .. } | SysError::JournalRefused { .. } => {
            failure.next("Nothing was started. Changes need a journal, so that they can be undone.")
        }
        _ => failure.next("Nothing was started. Without --cgroup, only the affinity mask holds the command."),
    }
}
