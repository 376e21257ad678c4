//! The journal of a running corewise: every change is recorded before it is made, and undone at the latest when corewise ends.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::abandoned_journals;
use super::journal_place::JournalPlace;
use super::lines::JournalHeader;
use super::log::{JournalLog, UnsettledChange};
use super::undo::{Change, UndoneChange};
use crate::error::SysError;
use crate::lock::FileLock;
use crate::os::files;

/// The changes of this process. Its file is made with the first change, and removed with the last undoing or at the end
/// ([`ChangeJournal::keep_file`]).
///
/// Dropping it undoes all open changes; [`ChangeJournal::keep_changes`] does not. A process that catches signals should call [`ChangeJournal::undo_all`] on
/// one. [`super::left_in`] finds the changes left by a crash.
#[derive(Debug)]
pub struct ChangeJournal {
    folder: PathBuf,
    log: Option<JournalLog>,
    /// True if the file stays while no change is open.
    stays: bool,
    /// The process that made it. A forked child has a copy, and must not undo its parent's changes.
    process: u32,
}

impl ChangeJournal {
    /// Creates a journal in a folder of journals; nothing is written yet.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), log: None, stays: false, process: std::process::id() }
    }

    /// Makes the file now, and keeps it until all is undone, so that repeated changes need not wait for a new file on disk each time.
    ///
    /// # Errors
    /// As [`ChangeJournal::make`], if no file can be made. It is then made with the first change.
    pub fn keep_file(&mut self) -> Result<(), SysError> {
        self.stays = true;
        self.opened_log().map(|_| ())
    }

    /// Returns the folder of journals.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the changes that are not undone, in the order in which they were made.
    pub fn entries(&self) -> &[UnsettledChange] {
        self.log.as_ref().map_or(&[], |log| &log.contents.entries)
    }

    /// Keeps other corewise processes of this user from changing control groups while the returned lock lives.
    pub(crate) fn hold_groups(&self) -> Result<FileLock, SysError> {
        let place = JournalPlace::prepare_folder(&self.folder)?;
        place.hold_groups().map_err(|source| SysError::Journal { path: self.folder.clone(), source })
    }

    /// Records a change, then makes it; returns its number in this journal.
    ///
    /// # Errors
    /// [`SysError::Journal`] and [`SysError::JournalRefused`] if it cannot be recorded: then it is not made. [`SysError::Change`] if it
    /// cannot be made: then any part of it has been undone.
    pub fn make_change(&mut self, change: Change) -> Result<u32, SysError> {
        let made = self.make_all(vec![change])?.pop();
        made.unwrap_or_else(|| {
            Err(SysError::Journal { path: self.folder.clone(), source: io::Error::other("no change") })
        })
    }

    /// Records changes, all at once, then makes one after the other. Returns the number of each, or its error as from [`ChangeJournal::make`]. A
    /// change that fails does not keep the others from being made.
    ///
    /// # Errors
    /// [`SysError::Journal`] and [`SysError::JournalRefused`] if they cannot be recorded: then none is made.
    pub fn make_all(&mut self, changes: Vec<Change>) -> Result<Vec<Result<u32, SysError>>, SysError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let log = self.opened_log()?;
        let first =
            log.begin_entries(&changes).map_err(|source| SysError::Journal { path: log.file_path(), source })?;
        let make = |(number, change): (u32, Change)| match change.apply_change() {
            Ok(became) => {
                log.mark_made(number, became);
                Ok(number)
            }
            Err(source) => {
                // A folder that another process made a moment ago is not ours to remove.
                if source.kind() == io::ErrorKind::AlreadyExists {
                    log.settle_change(number);
                } else {
                    log.undo_changes(|entry| entry.number == number);
                }
                Err(SysError::Change { what: change.to_string(), source })
            }
        };
        Ok((first..).zip(changes).map(make).collect())
    }

    /// Records changes that are already in force because of another journal: from now on they are this journal's. Returns their numbers
    /// here.
    ///
    /// # Errors
    /// If they cannot be recorded: then they remain the other journal's.
    pub fn take_over(&mut self, changes: Vec<Change>) -> Result<Vec<u32>, SysError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let log = self.opened_log()?;
        let first =
            log.begin_entries(&changes).map_err(|source| SysError::Journal { path: log.file_path(), source })?;
        let numbers: Vec<u32> = (first..).take(changes.len()).collect();
        numbers.iter().for_each(|number| log.mark_made(*number, None));
        Ok(numbers)
    }

    fn opened_log(&mut self) -> Result<&mut JournalLog, SysError> {
        let log = match self.log.take() {
            Some(log) => log,
            None => {
                let place = JournalPlace::prepare_folder(&self.folder)?;
                begin_log(place).map_err(|source| SysError::Journal { path: self.folder.clone(), source })?
            }
        };
        Ok(self.log.insert(log))
    }

    /// Returns true if another journal in the folder holds the same change and it is open. Undoing it is then shared.
    pub(crate) fn is_held_elsewhere(&self, change: &Change) -> Result<bool, SysError> {
        let own = self.log.as_ref().map(JournalLog::file_path);
        abandoned_journals::is_open_in(&self.folder, change, own.as_deref())
    }

    /// Undoes one change, by the number from [`ChangeJournal::make`]; `None` if it is settled already.
    pub fn undo_change(&mut self, number: u32) -> Option<UndoneChange> {
        self.undo_where(|entry| entry.number == number).pop()
    }

    /// Forgets a change without undoing it: a later one contains it ([`super::AffinityChange::and_in_turn`]).
    pub fn forget_replaced(&mut self, number: u32) {
        if let Some(log) = &mut self.log {
            log.settle_change(number);
        }
    }

    /// Undoes some changes, by the numbers from [`ChangeJournal::make`], the last first. One call searches only once for threads started since.
    pub fn undo_these(&mut self, numbers: &BTreeSet<u32>) -> Vec<UndoneChange> {
        if numbers.is_empty() { Vec::new() } else { self.undo_where(|entry| numbers.contains(&entry.number)) }
    }

    /// Undoes all changes, the last first, and removes the file if nothing remains.
    pub fn undo_all(&mut self) -> Vec<UndoneChange> {
        self.stays = false;
        self.undo_where(|_| true)
    }

    /// Ends the journal without undoing: its changes stay until `corewise undo` takes them back. `by` is the command that made them, as a
    /// user types it. Until this call they count as changes of a process that may crash.
    pub fn keep_changes(mut self, by: &str) {
        if let Some(mut log) = self.log.take()
            && !log.remove_if_settled().unwrap_or(false)
        {
            log.keep_changes(by);
        }
    }

    fn undo_where(&mut self, is_wanted: impl Fn(&UnsettledChange) -> bool) -> Vec<UndoneChange> {
        let Some(log) = &mut self.log else { return Vec::new() };
        let undone = log.undo_changes(is_wanted);
        // A file that cannot be removed says that all is settled; `corewise undo` removes it.
        if !self.stays && log.remove_if_settled().unwrap_or(false) {
            self.log = None;
        }
        undone
    }
}

/// Makes the journal's file. It gets its name only once it is locked and has a header, so no reader sees it without.
fn begin_log(place: JournalPlace) -> io::Result<JournalLog> {
    let header = JournalHeader::of_this_process()?;
    let (nameless, file) = place.create_journal(&header)?;
    // The lock shows that this process lives, from wherever it is checked. Some network file systems have no locks; then only the process
    // number is left.
    let _ = files::try_lock(&file);
    let begun = JournalLog::begin_log(place.clone(), nameless.clone(), file, header);
    let named = begun.and_then(|mut log| log.give_name().map(|()| log));
    named.inspect_err(|_| drop(place.remove_file(&nameless)))
}

impl Drop for ChangeJournal {
    fn drop(&mut self) {
        if std::process::id() == self.process {
            self.undo_all();
        }
    }
}
