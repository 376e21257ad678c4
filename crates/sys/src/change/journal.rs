//! The journal of a running corewise: every change is written down before it is made, and undone at the latest when it ends.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::left;
use super::lines::Header;
use super::log::{Entry, Log};
use super::place::Place;
use super::undo::{Change, Undone};
use crate::error::SysError;
use crate::lock::Lock;
use crate::os::files;

/// The changes of this process. Its file is made with the first change and removed with the last undoing, or at the end ([`Journal::stay`]).
///
/// Dropping it undoes what is still open; [`Journal::keep`] does not. A process that catches signals should call [`Journal::undo_all`] when one comes;
/// what a crash leaves is found by [`super::left_in`].
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    log: Option<Log>,
    /// Whether the file stays while nothing in it is open.
    stays: bool,
    /// A forked child has a copy, and must not undo its parent's changes.
    process: u32,
}

impl Journal {
    /// A journal in a folder of journals; nothing is written yet.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), log: None, stays: false, process: std::process::id() }
    }

    /// Makes the file now, and leaves it until all is undone: who changes things again and again need not wait each time until a file has a
    /// name on a disk.
    ///
    /// # Errors
    /// As [`Journal::make`], where no file can be made; it is made with the first change then.
    pub fn stay(&mut self) -> Result<(), SysError> {
        self.stays = true;
        self.opened().map(|_| ())
    }

    /// The folder of journals.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The changes that are not undone, in the order in which they were made.
    pub fn entries(&self) -> &[Entry] {
        self.log.as_ref().map_or(&[], |log| &log.contents.entries)
    }

    /// Keeps other corewise processes of this user from changing control groups while the answer lives.
    pub(crate) fn hold_groups(&self) -> Result<Lock, SysError> {
        let place = Place::prepare(&self.folder)?;
        place.hold_groups().map_err(|source| SysError::Journal { path: self.folder.clone(), source })
    }

    /// Writes a change down, then makes it; its number in this journal.
    ///
    /// # Errors
    /// [`SysError::Journal`] and [`SysError::JournalRefused`] when it cannot be written down: then it is not made.
    /// [`SysError::Change`] when it cannot be made: then what was made of it has been undone.
    pub fn make(&mut self, change: Change) -> Result<u32, SysError> {
        let made = self.make_all(vec![change])?.pop();
        made.unwrap_or_else(|| {
            Err(SysError::Journal { path: self.folder.clone(), source: io::Error::other("no change") })
        })
    }

    /// Writes changes down, all at once, then makes one after the other; the number of each, or why it could not be made, as
    /// [`Journal::make`] says. One that fails does not keep the others from being made.
    ///
    /// # Errors
    /// [`SysError::Journal`] and [`SysError::JournalRefused`] when they cannot be written down: then none is made.
    pub fn make_all(&mut self, changes: Vec<Change>) -> Result<Vec<Result<u32, SysError>>, SysError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let log = self.opened()?;
        let first = log.begin_entries(&changes).map_err(|source| SysError::Journal { path: log.path(), source })?;
        let make = |(number, change): (u32, Change)| match change.make() {
            Ok(became) => {
                log.mark_made(number, became);
                Ok(number)
            }
            Err(source) => {
                // A folder that another process made a moment ago is not ours to remove.
                if source.kind() == io::ErrorKind::AlreadyExists {
                    log.settle(number);
                } else {
                    log.undo(|entry| entry.number == number);
                }
                Err(SysError::Change { what: change.to_string(), source })
            }
        };
        Ok((first..).zip(changes).map(make).collect())
    }

    /// Writes down changes that are in force already, because another journal has them: from now on they are this one's. The numbers that they
    /// have here.
    ///
    /// # Errors
    /// When they cannot be written down: then they remain the other one's.
    pub fn take_over(&mut self, changes: Vec<Change>) -> Result<Vec<u32>, SysError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let log = self.opened()?;
        let first = log.begin_entries(&changes).map_err(|source| SysError::Journal { path: log.path(), source })?;
        let numbers: Vec<u32> = (first..).take(changes.len()).collect();
        numbers.iter().for_each(|number| log.mark_made(*number, None));
        Ok(numbers)
    }

    fn opened(&mut self) -> Result<&mut Log, SysError> {
        let log = match self.log.take() {
            Some(log) => log,
            None => {
                let place = Place::prepare(&self.folder)?;
                begin(place).map_err(|source| SysError::Journal { path: self.folder.clone(), source })?
            }
        };
        Ok(self.log.insert(log))
    }

    /// Whether another journal in the folder holds a change that is still open: whoever made it, undoing it is shared.
    pub(crate) fn is_held_elsewhere(&self, change: &Change) -> Result<bool, SysError> {
        let own = self.log.as_ref().map(Log::path);
        left::is_open_in(&self.folder, change, own.as_deref())
    }

    /// Undoes one change, by the number that [`Journal::make`] gave; nothing where it is settled already.
    pub fn undo(&mut self, number: u32) -> Option<Undone> {
        self.undo_where(|entry| entry.number == number).pop()
    }

    /// Forgets a change without undoing it: a later one contains it ([`super::AffinityChange::and_in_turn`]).
    pub fn forget_replaced(&mut self, number: u32) {
        if let Some(log) = &mut self.log {
            log.settle(number);
        }
    }

    /// Undoes some changes, by the numbers that [`Journal::make`] gave, the last first: at once, so that what was started since is looked
    /// for once.
    pub fn undo_these(&mut self, numbers: &BTreeSet<u32>) -> Vec<Undone> {
        if numbers.is_empty() { Vec::new() } else { self.undo_where(|entry| numbers.contains(&entry.number)) }
    }

    /// Undoes all changes, the last first, and removes the file where nothing remains.
    pub fn undo_all(&mut self) -> Vec<Undone> {
        self.stays = false;
        self.undo_where(|_| true)
    }

    /// Ends the journal without undoing: its changes are meant to stay until `corewise undo` takes them back. `by` is the
    /// command that made them, as a user types it. Until then they count as those of a process that may crash.
    pub fn keep(mut self, by: &str) {
        if let Some(mut log) = self.log.take()
            && !log.remove_if_settled().unwrap_or(false)
        {
            log.keep(by);
        }
    }

    fn undo_where(&mut self, is_wanted: impl Fn(&Entry) -> bool) -> Vec<Undone> {
        let Some(log) = &mut self.log else { return Vec::new() };
        let undone = log.undo(is_wanted);
        // A file that cannot be removed says that all is settled; `corewise undo` removes it.
        if !self.stays && log.remove_if_settled().unwrap_or(false) {
            self.log = None;
        }
        undone
    }
}

/// A journal gets its name once it is locked and says whose it is: nobody ever sees it without.
fn begin(place: Place) -> io::Result<Log> {
    let header = Header::of_this_process()?;
    let (nameless, file) = place.create(&header)?;
    // The lock says that this process lives, wherever it is asked from. Some network file systems have none; then only
    // the process number tells.
    let _ = files::try_lock(&file);
    let begun = Log::begin(place.clone(), nameless.clone(), file, header);
    let named = begun.and_then(|mut log| log.give_name().map(|()| log));
    named.inspect_err(|_| drop(place.remove(&nameless)))
}

impl Drop for Journal {
    fn drop(&mut self) {
        if std::process::id() == self.process {
            self.undo_all();
        }
    }
}
