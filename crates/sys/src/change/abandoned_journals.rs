//! Journals of other corewise processes: running ones, and ones that ended without undoing their changes.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use corewise_machine::CpuSet;

use super::affinity::AffinityChange;
use super::journal_place::JournalPlace;
use super::lines::JournalHeader;
use super::log::{JournalLog, UnsettledChange};
use super::undo::{Change, UndoForecast, UndoneChange};
use crate::error::SysError;
use crate::os::files;
use crate::os::process::{boot_id, host_name, number_space};

/// State of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalStanding {
    /// Its corewise still runs: its changes are in force, and it will undo them itself.
    InForce,
    /// Its corewise ended without undoing all changes.
    Left,
    /// Its corewise ended, and its changes are meant to stay: they are undone only on request.
    Kept,
    /// It is of another boot of this machine; no change outlives a boot.
    OtherBoot,
    /// It is of another machine that shares the folder.
    OtherMachine,
    /// Its corewise runs, or ran, in another process namespace: the process numbers in it mean other processes here.
    Unknown,
    /// A later corewise wrote it, or it is damaged: none of it is undone.
    Unreadable,
}

/// A journal that was found.
#[derive(Debug)]
pub struct AbandonedJournal {
    standing: JournalStanding,
    log: JournalLog,
}

/// Returns the journals in a folder, the latest process's first; none if there is no folder. A journal that cannot be opened or read is an
/// error of its own.
///
/// # Errors
/// [`SysError::Read`] for a folder that cannot be read, [`SysError::JournalRefused`] for a folder that others may write in.
pub fn left_in(folder: &Path) -> Result<Vec<Result<AbandonedJournal, SysError>>, SysError> {
    let Some(place) = JournalPlace::find_folder(folder)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for name in place.journal_names()? {
        match open(&place, &name) {
            // Its corewise ended, and removed it, between listing and opening.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => found.push(Err(SysError::Read { path: place.path_of(&name), source })),
            Ok(left) => found.push(Ok(left)),
        }
    }
    found.sort_by_key(|left| {
        let header = left.as_ref().ok().and_then(AbandonedJournal::header);
        std::cmp::Reverse(header.map(|header| (header.started_unix_ms, header.process.start_ticks)))
    });
    Ok(found)
}

fn open(place: &JournalPlace, name: &OsStr) -> io::Result<AbandonedJournal> {
    // Getting the lock proves that the owner is gone, and keeps others from undoing the same journal.
    let (file, lock) = place.open(name, |file: &File| match files::try_lock(file) {
        Ok(()) => JournalLock::Got,
        Err(TryLockError::WouldBlock) => JournalLock::Taken,
        Err(TryLockError::Error(_)) => JournalLock::Unsupported,
    })?;
    let log = JournalLog::read_log(place.clone(), name.to_owned(), file)?;
    let here = RunningSystem { boot: boot_id()?, host: host_name(), number_space: number_space() };
    let standing = match (&log.contents.header, log.contents.is_empty()) {
        _ if log.contents.damage.is_some() => JournalStanding::Unreadable,
        (Some(header), _) => match find_standing(header, lock, &here, |header| header.process.is_alive()) {
            JournalStanding::Left if log.contents.kept_by.is_some() => JournalStanding::Kept,
            other => other,
        },
        // A crash tore it before the first change.
        (None, true) => JournalStanding::Left,
        (None, false) => JournalStanding::Unreadable,
    };
    Ok(AbandonedJournal { standing, log })
}

/// Result of trying to lock a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JournalLock {
    Got,
    Taken,
    Unsupported,
}

/// This boot, host and process namespace, to compare with a journal's header.
#[derive(Clone, Debug)]
struct RunningSystem {
    boot: String,
    host: String,
    number_space: String,
}

fn find_standing(
    header: &JournalHeader,
    lock: JournalLock,
    here: &RunningSystem,
    is_alive: impl Fn(&JournalHeader) -> bool,
) -> JournalStanding {
    if !header.is_readable() {
        JournalStanding::Unreadable
    } else if header.boot != here.boot {
        // No process of an earlier boot holds a lock: machines that share the folder may have the same name.
        let is_earlier = header.host == here.host && lock != JournalLock::Taken;
        if is_earlier { JournalStanding::OtherBoot } else { JournalStanding::OtherMachine }
    } else if lock == JournalLock::Taken {
        JournalStanding::InForce
    } else if header.number_space != here.number_space {
        JournalStanding::Unknown
    } else if is_alive(header) {
        JournalStanding::InForce
    } else {
        JournalStanding::Left
    }
}

/// Returns true if a journal in the folder, other than our own, holds a change that is still open. Journals that cannot be read hold none.
pub(super) fn is_open_in(folder: &Path, change: &Change, own: Option<&Path>) -> Result<bool, SysError> {
    let boot = boot_id().map_err(|source| SysError::Journal { path: folder.to_owned(), source })?;
    let Some(place) = JournalPlace::find_folder(folder)? else { return Ok(false) };
    for name in place.journal_names()?.into_iter().filter(|name| Some(place.path_of(name).as_path()) != own) {
        // Opened without the lock, which would make a living corewise look dead to others, or a dead one alive.
        let opened = place.open(&name, |_| ());
        let Ok(log) = opened.and_then(|(file, ())| JournalLog::read_log(place.clone(), name, file)) else { continue };
        let is_of_now = log.contents.header.as_ref().is_some_and(|header| header.is_readable() && header.boot == boot);
        if is_of_now && log.contents.entries.iter().any(|entry| entry.change == *change) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Undoes the open changes of this process, by the files of its journals: for its end after a panic that drops nothing. Journals whose changes
/// are meant to stay are left alone.
///
/// # Errors
/// As [`left_in`], and if this process cannot be identified.
pub fn undo_own_changes(folder: &Path) -> Result<Vec<UndoneChange>, SysError> {
    let Some(place) = JournalPlace::find_folder(folder)? else { return Ok(Vec::new()) };
    let failed = |source| SysError::Journal { path: folder.to_owned(), source };
    let this = JournalHeader::of_this_process().map_err(failed)?;
    let mut undone = Vec::new();
    for name in place.journal_names()? {
        // The lock is this process's own.
        let opened = place.open(&name, |_| ());
        let Ok(mut log) = opened.and_then(|(file, ())| JournalLog::read_log(place.clone(), name, file)) else {
            continue;
        };
        let is_own = log.contents.header.as_ref().is_some_and(|header| header.is_of_process(&this));
        if is_own && log.contents.kept_by.is_none() {
            undone.extend(log.undo_changes(|_| true));
            // `corewise undo` removes a file that stays.
            let _ = log.remove_if_settled();
        }
    }
    Ok(undone)
}

impl AbandonedJournal {
    /// Returns its state.
    pub fn standing(&self) -> &JournalStanding {
        &self.standing
    }

    /// Returns the path of its file.
    pub fn path(&self) -> PathBuf {
        self.log.file_path()
    }

    /// Returns its header; `None` if its corewise was ended while it made the file.
    pub fn header(&self) -> Option<&JournalHeader> {
        self.log.contents.header.as_ref()
    }

    /// Returns the command that meant its changes to stay, such as "corewise irq"; `None` if there is none.
    pub fn kept_by(&self) -> Option<&str> {
        self.log.contents.kept_by.as_deref()
    }

    /// Iterates over its changes that are not settled.
    pub fn open_entries(&self) -> impl Iterator<Item = &UnsettledChange> {
        self.log.contents.entries.iter()
    }

    /// Returns why none of it is trusted: a line that no corewise writes. `None` if all lines are valid.
    pub fn damage_reason(&self) -> Option<&str> {
        self.log.contents.damage.as_deref()
    }

    /// Returns true if its corewise has ended, on this machine and in this boot.
    fn can_be_undone(&self) -> bool {
        matches!(self.standing, JournalStanding::Left | JournalStanding::Kept)
    }

    /// Predicts the outcomes of undoing it, the last change first; changes nothing.
    ///
    /// `meanwhile` holds the effects predicted before and is added to: several journals may name the same file.
    pub fn preview_undo(&self, meanwhile: &mut UndoForecast) -> Vec<UndoneChange> {
        if self.can_be_undone() { self.log.preview_undo(meanwhile) } else { Vec::new() }
    }

    /// Returns the changes of masks that are still as its corewise set them, at first or in turn, each with the mask now; none unless its
    /// state is [`JournalStanding::Left`]. A caller that takes them over records them with [`super::ChangeJournal::take_over`], and undoes
    /// the rest.
    pub fn masks_in_force(&self) -> Vec<(AffinityChange, CpuSet)> {
        let changes = self.open_entries().filter_map(|entry| match &entry.change {
            Change::Affinity(change) if self.standing == JournalStanding::Left => {
                change.cpus_in_force().map(|now| (change.clone(), now))
            }
            _ => None,
        });
        changes.collect()
    }

    /// Returns true if a thread still has the mask that this journal's corewise set.
    pub fn has_mask_in_force(&self, thread: u32) -> bool {
        self.open_entries().any(|entry| match &entry.change {
            Change::Affinity(own) => own.thread.id == thread && own.cpus_in_force().is_some(),
            _ => false,
        })
    }

    /// Settles changes that another journal has taken over.
    pub fn hand_over(&mut self, taken: &[AffinityChange]) {
        let is_taken =
            |entry: &&UnsettledChange| matches!(&entry.change, Change::Affinity(change) if taken.contains(change));
        let numbers: Vec<u32> = self.log.contents.entries.iter().filter(is_taken).map(|entry| entry.number).collect();
        numbers.into_iter().for_each(|number| self.log.settle_change(number));
    }

    /// Undoes the remaining changes, the last first; does nothing unless its state is [`JournalStanding::Left`] or [`JournalStanding::Kept`].
    pub fn undo_changes(&mut self) -> Vec<UndoneChange> {
        if self.can_be_undone() { self.log.undo_changes(|_| true) } else { Vec::new() }
    }

    /// Removes the journal if nothing remains of it: all is settled, or it is of another boot. Returns true if it did.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub fn clear_journal(self) -> Result<bool, SysError> {
        let cleared = match self.standing {
            JournalStanding::Left | JournalStanding::Kept => self.log.remove_if_settled(),
            JournalStanding::OtherBoot => self.log.remove_file().map(|()| true),
            _ => Ok(false),
        };
        cleared.map_err(|source| SysError::Journal { path: self.log.file_path(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::process::ProcessIdentity;

    #[test]
    fn a_journal_stands_as_its_boot_machine_lock_and_process_say() {
        let here = RunningSystem { boot: "boot".into(), host: "host".into(), number_space: "pid:[1]".into() };
        let header = JournalHeader {
            version: 1,
            corewise: "0.1.0".into(),
            boot: "boot".into(),
            host: "host".into(),
            process: ProcessIdentity { id: 7, start_ticks: 100 },
            number_space: "pid:[1]".into(),
            started_unix_ms: 0,
        };
        let stands = |header: &JournalHeader, lock, alive| find_standing(header, lock, &here, |_| alive);
        assert_eq!(stands(&header, JournalLock::Got, false), JournalStanding::Left);
        assert_eq!(stands(&header, JournalLock::Taken, false), JournalStanding::InForce);
        assert_eq!(stands(&header, JournalLock::Unsupported, true), JournalStanding::InForce);
        assert_eq!(stands(&header, JournalLock::Unsupported, false), JournalStanding::Left);
        let container = JournalHeader { number_space: "pid:[2]".into(), ..header.clone() };
        assert_eq!(
            stands(&container, JournalLock::Got, true),
            JournalStanding::Unknown,
            "numbers that mean other processes here"
        );
        assert_eq!(stands(&container, JournalLock::Taken, false), JournalStanding::InForce);
        assert_eq!(stands(&container, JournalLock::Unsupported, false), JournalStanding::Unknown);
        let rebooted = JournalHeader { boot: "before".into(), ..header.clone() };
        assert_eq!(stands(&rebooted, JournalLock::Got, true), JournalStanding::OtherBoot);
        assert_eq!(
            stands(&rebooted, JournalLock::Taken, false),
            JournalStanding::OtherMachine,
            "a machine of the same name that shares the folder"
        );
        let shared = JournalHeader { host: "neighbour".into(), ..rebooted };
        assert_eq!(stands(&shared, JournalLock::Got, true), JournalStanding::OtherMachine);
        assert_eq!(
            stands(&JournalHeader { version: 2, ..header }, JournalLock::Got, false),
            JournalStanding::Unreadable
        );
    }
}
