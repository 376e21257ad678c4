//! One change: making it, checking its state, and undoing it if it is still as corewise left it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use corewise_machine::CpuSet;
use serde::{Deserialize, Serialize};

use super::affinity::AffinityChange;
use super::controller::ControllerChange;
use super::file::{FileChange, ValueFormat};
use super::folder::FolderChange;
use super::standing::ChangeStanding;
use crate::lock::FileLock;

/// One change to the machine, with the data needed to undo it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// Another value in a kernel file.
    File(FileChange),
    /// A controller turned on for the groups below a control group.
    Controller(ControllerChange),
    /// A new folder; a control group, if it lies in a control group.
    Folder(FolderChange),
    /// Other cpus for a thread.
    Affinity(AffinityChange),
}

/// Outcome of undoing a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoOutcome {
    /// The old value is back; holds a remark if there is one.
    Reverted(Option<String>),
    /// There was nothing to undo; holds the reason.
    NothingToDo(String),
    /// It is no longer corewise's; holds the reason. It is not tried again.
    LeftAlone(String),
    /// It could not be undone; holds the reason. It stays in the journal.
    Failed(String),
}

/// A change that was to be undone, and the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneChange {
    /// The change.
    pub change: Change,
    /// The outcome.
    pub outcome: UndoOutcome,
}

impl Change {
    /// Creates a change of a kernel file's value; reads the present one.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn for_file(path: impl AsRef<Path>, new: impl Into<String>, format: ValueFormat) -> io::Result<Self> {
        FileChange::new(path.as_ref(), new.into(), format).map(Self::File)
    }

    /// Creates a change that turns a controller on for the groups below a control group of version 2.
    pub fn for_controller(group: impl AsRef<Path>, name: impl Into<String>) -> Self {
        Self::Controller(ControllerChange { group: group.as_ref().to_owned(), name: name.into() })
    }

    /// Creates a change that makes a folder. If it is a control group, processes still in it at its removal move to `home`.
    pub fn for_folder(path: impl AsRef<Path>, home: impl AsRef<Path>) -> Self {
        Self::Folder(FolderChange { path: path.as_ref().to_owned(), home: home.as_ref().to_owned() })
    }

    /// Creates a change that restricts a thread to a set of cpus; reads its present ones.
    ///
    /// # Errors
    /// If there is no such thread, or its cpus may not be read.
    pub fn for_affinity(thread: u32, cpus: CpuSet) -> io::Result<Self> {
        AffinityChange::of_number(thread, cpus).map(Self::Affinity)
    }

    /// Describes how to undo it by hand: "set file … from "1" back to "f"".
    pub fn way_back(&self) -> String {
        match self {
            Self::File(change) => change.way_back(),
            Self::Controller(change) => change.way_back(),
            Self::Folder(change) => change.way_back(),
            Self::Affinity(change) => change.way_back(),
        }
    }

    /// Describes the change after it was undone: "file …: back to "f" (was "1")".
    pub fn describe_undone(&self) -> String {
        match self {
            Self::File(change) => change.describe_undone(),
            Self::Affinity(change) => change.describe_undone(),
            Self::Controller(_) | Self::Folder(_) => self.to_string(),
        }
    }

    /// Makes the change; returns the value afterwards as the kernel prints it, if that may differ from the value written.
    pub(super) fn apply_change(&self) -> io::Result<Option<String>> {
        match self {
            Self::File(change) => change.apply_change().map(Some),
            Self::Controller(change) => change.apply_change().map(|()| None),
            Self::Folder(change) => change.apply_change().map(|()| None),
            Self::Affinity(change) => change.apply_change().map(|()| None),
        }
    }

    /// Reads its state. `became` is the result of [`Change::apply_change`], `None` if it was not recorded. `meanwhile` holds the effects of changes
    /// that will be undone before this one.
    fn read_standing(&self, became: Option<&str>, meanwhile: &UndoForecast) -> io::Result<ChangeStanding> {
        match self {
            Self::File(change) => change.read_standing(became, meanwhile.values.get(&change.path)),
            Self::Controller(change) => change.read_standing(&meanwhile.going),
            Self::Folder(change) => change.read_standing(),
            Self::Affinity(change) => change.read_standing(),
        }
    }

    /// Undoes the change; returns a remark if there is one.
    fn revert_change(&self) -> io::Result<Option<String>> {
        match self {
            Self::File(change) => change.revert_change().map(|()| None),
            Self::Controller(change) => change.revert_change().map(|()| None),
            Self::Folder(change) => change.revert_change(),
            Self::Affinity(change) => change.revert_change(),
        }
    }

    /// Predicts the outcome of undoing it; changes nothing.
    pub(super) fn preview_undo(&self, became: Option<&str>, meanwhile: &UndoForecast) -> UndoOutcome {
        match self.read_standing(became, meanwhile) {
            Ok(ChangeStanding::AsBefore(why)) => UndoOutcome::NothingToDo(why.to_owned()),
            Ok(ChangeStanding::Changed(why)) => UndoOutcome::LeftAlone(why),
            Ok(ChangeStanding::InForce) => UndoOutcome::Reverted(None),
            Err(error) => UndoOutcome::Failed(error.to_string()),
        }
    }

    /// Undoes the change if it is still as corewise left it. `hold` keeps others from changing control groups.
    pub(super) fn undo_change(&self, became: Option<&str>, hold: impl Fn() -> io::Result<FileLock>) -> UndoOutcome {
        let nothing = UndoForecast::default();
        let seen = self.preview_undo(became, &nothing);
        match self {
            // The check and the change happen under the lock: another corewise may be checking the same group.
            Self::Controller(_) if seen.is_reverted() => match hold() {
                Ok(_held) => self.undo_as(self.preview_undo(became, &nothing)),
                Err(error) => UndoOutcome::Failed(error.to_string()),
            },
            _ => self.undo_as(seen),
        }
    }

    fn undo_as(&self, seen: UndoOutcome) -> UndoOutcome {
        match seen {
            UndoOutcome::Reverted(_) => {
                self.revert_change().map_or_else(|e| UndoOutcome::Failed(e.to_string()), UndoOutcome::Reverted)
            }
            other => other,
        }
    }
}

/// Predicted effects of the changes already undone, for previews.
#[derive(Debug, Default)]
pub struct UndoForecast {
    /// Values that files would hold.
    pub(super) values: BTreeMap<PathBuf, String>,
    /// Folders that would be gone.
    pub(super) going: Vec<PathBuf>,
}

impl UndoOutcome {
    /// Returns true if the old value is back.
    pub fn is_reverted(&self) -> bool {
        matches!(self, Self::Reverted(_))
    }

    /// Returns true if nothing remains to be done.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(change) => change.fmt(formatter),
            Self::Controller(change) => change.fmt(formatter),
            Self::Folder(change) => change.fmt(formatter),
            Self::Affinity(change) => change.fmt(formatter),
        }
    }
}
