//! Control group that holds a command while it runs.

use std::io;
use std::process::Command;

use corewise_lab::placement::ResolvedPlacement;
use corewise_machine::suggested_command;
use corewise_sys::SysError;
use corewise_sys::cgroup::{ControlGroup, GroupEntry};
use corewise_sys::change::{ChangeJournal, UndoOutcome};

use crate::app::failure::CommandFailure;
use crate::app::output::print_message;
use crate::app::settings::ProgramSettings;
use crate::draw::suggestion;

/// Control group and its journal. If it is dropped without [`CommandGroup::remove_group`], it is removed silently.
pub struct CommandGroup {
    cgroup: ControlGroup,
    journal: ChangeJournal,
}

impl CommandGroup {
    /// Makes a group with the cpus of a placement, and with its memory nodes if memory is bound.
    pub fn make_group(place: &ResolvedPlacement, settings: &ProgramSettings) -> Result<Self, CommandFailure> {
        let mut journal = ChangeJournal::in_folder(settings.journal_folder()?);
        let (cpus, nodes) = (&place.resolution.cpus, place.bound_nodes());
        let cgroup =
            ControlGroup::make_group(&mut journal, cpus, nodes.as_ref()).map_err(|error| explain_refusal(&error))?;
        Ok(Self { cgroup, journal })
    }

    /// Makes a command enter the group before its first instruction.
    pub fn enter_command(&self, command: &mut Command) -> Result<GroupEntry, CommandFailure> {
        self.cgroup
            .hold_command(command)
            .map_err(|error| CommandFailure::unavailable_error(format!("--cgroup: {error}")))
    }

    /// Describes the group for `--verbose`.
    pub fn describe_group(&self) -> String {
        format!("corewise: held in the control group {}", self.cgroup.path().display())
    }

    /// Removes the group and reports what could not be reverted; with `verbose`, also other remarks.
    pub fn remove_group(mut self, verbose: bool) {
        for undone in self.cgroup.remove_group(&mut self.journal) {
            let change = undone.change;
            match undone.outcome {
                UndoOutcome::Failed(why) => {
                    let undo = suggestion::format_mention(&suggested_command::undo());
                    print_message(&format!("corewise: {change}: cannot be reverted: {why}\n  {undo} tries again."));
                }
                UndoOutcome::Reverted(Some(remark)) if verbose => {
                    print_message(&format!("corewise: {change}: {remark}"))
                }
                _ => {}
            }
        }
    }
}

/// Failure of a command that could not enter its group.
pub fn explain_not_entered(error: &io::Error) -> CommandFailure {
    CommandFailure::unavailable_error(format!("--cgroup: the command cannot enter its control group: {error}"))
        .with_hint("Nothing was started. Without --cgroup, only the affinity mask holds the command.")
}

fn explain_refusal(error: &SysError) -> CommandFailure {
    let failure = CommandFailure::unavailable_error(format!("--cgroup: {error}"));
    match error {
        SysError::Cgroup(refusal) => failure.with_hint(refusal.suggest_cure()),
        SysError::Journal { .. } | SysError::JournalRefused { .. } => {
            failure.with_hint("Nothing was started. Changes need a journal, so that they can be undone.")
        }
        _ => failure.with_hint("Nothing was started. Without --cgroup, only the affinity mask holds the command."),
    }
}
