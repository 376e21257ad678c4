//! One change: made, looked at, and taken back where it is still as corewise left it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use corewise_machine::CpuSet;
use serde::{Deserialize, Serialize};

use super::affinity::AffinityChange;
use super::controller::ControllerChange;
use super::file::{FileChange, Format};
use super::folder::FolderChange;
use super::look::Look;
use crate::lock::Lock;

/// One change to the machine, with what is needed to take it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// A kernel file holds another value.
    File(FileChange),
    /// A controller is turned on for the groups below a control group.
    Controller(ControllerChange),
    /// A folder is made: a control group, where it lies in a control group.
    Folder(FolderChange),
    /// A thread may run on other cpus.
    Affinity(AffinityChange),
}

/// What became of a change that was to be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The old value is back; a remark where more is to be told.
    Reverted(Option<String>),
    /// There was nothing to take back: why.
    NothingToDo(String),
    /// It is no longer corewise's: why. It is not looked at again.
    LeftAlone(String),
    /// It could not be taken back: why. It stays in the journal.
    Failed(String),
}

/// A change that was to be undone, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// What had been changed.
    pub change: Change,
    /// What became of it.
    pub outcome: Outcome,
}

impl Change {
    /// A kernel file that will hold another value; reads the present one.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn file(path: impl AsRef<Path>, new: impl Into<String>, format: Format) -> io::Result<Self> {
        FileChange::new(path.as_ref(), new.into(), format).map(Self::File)
    }

    /// A controller that will be on for the groups below a control group of version 2.
    pub fn controller(group: impl AsRef<Path>, name: impl Into<String>) -> Self {
        Self::Controller(ControllerChange { group: group.as_ref().to_owned(), name: name.into() })
    }

    /// A folder that will be made. Where it is a control group, processes that are still in it when it is removed go home.
    pub fn folder(path: impl AsRef<Path>, home: impl AsRef<Path>) -> Self {
        Self::Folder(FolderChange { path: path.as_ref().to_owned(), home: home.as_ref().to_owned() })
    }

    /// A thread that will be restricted to a set of cpus; reads which it may use now.
    ///
    /// # Errors
    /// When there is no such thread, or it may not be asked.
    pub fn affinity(thread: u32, cpus: CpuSet) -> io::Result<Self> {
        AffinityChange::of_number(thread, cpus).map(Self::Affinity)
    }

    /// What taking it back does, as one would do it by hand: "set file … from "1" back to "f"".
    pub fn way_back(&self) -> String {
        match self {
            Self::File(change) => change.way_back(),
            Self::Controller(change) => change.way_back(),
            Self::Folder(change) => change.way_back(),
            Self::Affinity(change) => change.way_back(),
        }
    }

    /// Makes the change; what is there afterwards, in the kernel's words, where those may differ from ours.
    pub(super) fn make(&self) -> io::Result<Option<String>> {
        match self {
            Self::File(change) => change.make().map(Some),
            Self::Controller(change) => change.make().map(|()| None),
            Self::Folder(change) => change.make().map(|()| None),
            Self::Affinity(change) => change.make().map(|()| None),
        }
    }

    /// Looks how it stands; `became` is what [`Change::make`] said, nothing where that was not written down any more, and
    /// `going` are folders that will be gone before this is undone.
    fn look(&self, became: Option<&str>, meanwhile: &Meanwhile) -> io::Result<Look> {
        match self {
            Self::File(change) => change.look(became, meanwhile.values.get(&change.path)),
            Self::Controller(change) => change.look(&meanwhile.going),
            Self::Folder(change) => change.look(),
            Self::Affinity(change) => change.look(),
        }
    }

    /// Takes the change back; a remark where more is to be told.
    fn revert(&self) -> io::Result<Option<String>> {
        match self {
            Self::File(change) => change.revert().map(|()| None),
            Self::Controller(change) => change.revert().map(|()| None),
            Self::Folder(change) => change.revert(),
            Self::Affinity(change) => change.revert(),
        }
    }

    /// What undoing would come to; nothing is done.
    pub(super) fn preview(&self, became: Option<&str>, meanwhile: &Meanwhile) -> Outcome {
        match self.look(became, meanwhile) {
            Ok(Look::AsBefore(why)) => Outcome::NothingToDo(why.to_owned()),
            Ok(Look::Changed(why)) => Outcome::LeftAlone(why),
            Ok(Look::InForce) => Outcome::Reverted(None),
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    /// Undoes the change where it is still as corewise left it. `hold` keeps others from changing control groups.
    pub(super) fn undo(&self, became: Option<&str>, hold: impl Fn() -> io::Result<Lock>) -> Outcome {
        let nothing = Meanwhile::default();
        let seen = self.preview(became, &nothing);
        match self {
            // Whoever decides by looking must not be overtaken by another corewise that looks at the same group.
            Self::Controller(_) if seen.is_reverted() => match hold() {
                Ok(_held) => self.undo_as(self.preview(became, &nothing)),
                Err(error) => Outcome::Failed(error.to_string()),
            },
            _ => self.undo_as(seen),
        }
    }

    fn undo_as(&self, seen: Outcome) -> Outcome {
        match seen {
            Outcome::Reverted(_) => self.revert().map_or_else(|e| Outcome::Failed(e.to_string()), Outcome::Reverted),
            other => other,
        }
    }
}

/// What undoing would have come to so far, where it is only looked at.
#[derive(Debug, Default)]
pub struct Meanwhile {
    /// What files would hold.
    pub(super) values: BTreeMap<PathBuf, String>,
    /// The folders that would be gone.
    pub(super) going: Vec<PathBuf>,
}

impl Outcome {
    /// Whether the old value is back.
    pub fn is_reverted(&self) -> bool {
        matches!(self, Self::Reverted(_))
    }

    /// Whether nothing remains to be done.
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
