//! A control group that holds a command for as long as it runs.

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

/// The group, and the journal in which it stands. Dropped before [`Group::finish`], it is taken away in silence.
pub struct Group {
    cgroup: Cgroup,
    journal: Journal,
}

impl Group {
    /// Makes a group with the cpus of a placement, and with its memory nodes where it is bound to some.
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

    /// What is in force.
    pub fn words(&self) -> String {
        format!("corewise: held in the control group {}", self.cgroup.path().display())
    }

    /// Takes the group away, and says what could not be taken back; with `verbose`, what became of the rest too.
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

/// The failure of a command that could not enter its group.
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
