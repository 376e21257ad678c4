//! What other corewise processes wrote down: those that still run, and those that ended without undoing their changes.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::affinity::AffinityChange;
use super::lines::Header;
use super::log::{Entry, Log};
use super::place::Place;
use super::undo::{Change, Meanwhile, Undone};
use crate::error::SysError;
use crate::os::files;
use crate::os::process::{boot_id, host_name, number_space};

/// How a journal stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its corewise still runs: its changes are in force, and it will undo them itself.
    InForce,
    /// Its corewise ended without undoing them all.
    Left,
    /// Its corewise ended, and meant its changes to stay: only who is asked to undo them should.
    Kept,
    /// It is of another boot of this machine, which no change outlives.
    OtherBoot,
    /// It is of another machine that shares the folder.
    OtherMachine,
    /// Its corewise runs, or ran, where process numbers mean something else: those in it are other processes here.
    Unknown,
    /// A later corewise wrote it, or it is damaged: nothing of it is undone.
    Unreadable,
}

/// A journal that was found.
#[derive(Debug)]
pub struct Left {
    standing: Standing,
    log: Log,
}

/// The journals in a folder, those of the latest process first; none where there is no folder. A journal that cannot be
/// opened or read is an error of its own.
///
/// # Errors
/// [`SysError::Read`] for a folder that cannot be read, [`SysError::JournalRefused`] for one that others may write in.
pub fn left_in(folder: &Path) -> Result<Vec<Result<Left, SysError>>, SysError> {
    let Some(place) = Place::find(folder)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for name in place.journals()? {
        match open(&place, &name) {
            // Its corewise ended, and removed it, between listing and opening.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => found.push(Err(SysError::Read { path: place.path_of(&name), source })),
            Ok(left) => found.push(Ok(left)),
        }
    }
    found.sort_by_key(|left| {
        let header = left.as_ref().ok().and_then(Left::header);
        std::cmp::Reverse(header.map(|header| (header.started_unix_ms, header.process.start_ticks)))
    });
    Ok(found)
}

fn open(place: &Place, name: &OsStr) -> io::Result<Left> {
    // Whoever gets the lock knows that the owner is gone, and keeps others from undoing the same journal.
    let (file, lock) = place.open(name, |file: &File| match files::try_lock(file) {
        Ok(()) => Lock::Got,
        Err(TryLockError::WouldBlock) => Lock::Taken,
        Err(TryLockError::Error(_)) => Lock::Unsupported,
    })?;
    let log = Log::read(place.clone(), name.to_owned(), file)?;
    let here = Here { boot: boot_id()?, host: host_name(), number_space: number_space() };
    let standing = match (&log.contents.header, log.contents.is_empty()) {
        _ if log.contents.damage.is_some() => Standing::Unreadable,
        (Some(header), _) => match standing(header, lock, &here, |header| header.process.is_alive()) {
            Standing::Left if log.contents.kept_by.is_some() => Standing::Kept,
            other => other,
        },
        // A crash tore it before the first change.
        (None, true) => Standing::Left,
        (None, false) => Standing::Unreadable,
    };
    Ok(Left { standing, log })
}

/// What trying to lock a journal told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    Got,
    Taken,
    Unsupported,
}

/// What is compared with a journal's header.
#[derive(Clone, Debug)]
struct Here {
    boot: String,
    host: String,
    number_space: String,
}

fn standing(header: &Header, lock: Lock, here: &Here, is_alive: impl Fn(&Header) -> bool) -> Standing {
    if !header.is_readable() {
        Standing::Unreadable
    } else if header.boot != here.boot {
        if header.host == here.host { Standing::OtherBoot } else { Standing::OtherMachine }
    } else if lock == Lock::Taken {
        Standing::InForce
    } else if header.number_space != here.number_space {
        Standing::Unknown
    } else if is_alive(header) {
        Standing::InForce
    } else {
        Standing::Left
    }
}

/// Whether a journal in the folder, other than our own, holds a change that is still open. Journals that cannot be read
/// hold none.
pub(super) fn is_open_in(folder: &Path, change: &Change, own: Option<&Path>) -> Result<bool, SysError> {
    let boot = boot_id().map_err(|source| SysError::Journal { path: folder.to_owned(), source })?;
    let Some(place) = Place::find(folder)? else { return Ok(false) };
    for name in place.journals()?.into_iter().filter(|name| Some(place.path_of(name).as_path()) != own) {
        // Without the lock, which would make a living corewise look dead to others, or a dead one alive.
        let opened = place.open(&name, |_| ());
        let Ok(log) = opened.and_then(|(file, ())| Log::read(place.clone(), name, file)) else { continue };
        let is_of_now = log.contents.header.as_ref().is_some_and(|header| header.is_readable() && header.boot == boot);
        if is_of_now && log.contents.entries.iter().any(|entry| entry.change == *change) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Left {
    /// How it stands.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// The journal's file.
    pub fn path(&self) -> PathBuf {
        self.log.path()
    }

    /// Whose it is; nothing where its corewise was ended while it made the file.
    pub fn header(&self) -> Option<&Header> {
        self.log.contents.header.as_ref()
    }

    /// The command that meant its changes to stay: "corewise irq"; nothing where none did.
    pub fn kept_by(&self) -> Option<&str> {
        self.log.contents.kept_by.as_deref()
    }

    /// The changes in it that are not settled.
    pub fn open_entries(&self) -> impl Iterator<Item = &Entry> {
        self.log.contents.entries.iter()
    }

    /// Why nothing in it is believed: a line that no corewise writes there; nothing where all are as they should be.
    pub fn damage(&self) -> Option<&str> {
        self.log.contents.damage.as_deref()
    }

    /// Whether its corewise has ended, here and in this boot.
    fn can_be_undone(&self) -> bool {
        matches!(self.standing, Standing::Left | Standing::Kept)
    }

    /// What undoing it would come to, the last change first; nothing is done.
    ///
    /// `meanwhile` is what was looked at before it would have come to, and is added to: the same file may be in several journals.
    pub fn preview(&self, meanwhile: &mut Meanwhile) -> Vec<Undone> {
        if self.can_be_undone() { self.log.preview(meanwhile) } else { Vec::new() }
    }

    /// The masks that are still as its corewise set them: whoever takes them over writes them down with [`super::Journal::take_over`], and
    /// undoes the rest. None unless it stands at [`Standing::Left`].
    pub fn masks_in_force(&self) -> Vec<AffinityChange> {
        let changes = self.open_entries().filter_map(|entry| match &entry.change {
            Change::Affinity(change) if self.standing == Standing::Left && change.is_in_force() => Some(change.clone()),
            _ => None,
        });
        changes.collect()
    }

    /// Settles changes that another journal has taken over.
    pub fn hand_over(&mut self, taken: &[AffinityChange]) {
        let is_taken = |entry: &&Entry| matches!(&entry.change, Change::Affinity(change) if taken.contains(change));
        let numbers: Vec<u32> = self.log.contents.entries.iter().filter(is_taken).map(|entry| entry.number).collect();
        numbers.into_iter().for_each(|number| self.log.settle(number));
    }

    /// Undoes the changes that are left, the last first; does nothing unless it stands at [`Standing::Left`] or
    /// [`Standing::Kept`].
    pub fn undo(&mut self) -> Vec<Undone> {
        if self.can_be_undone() { self.log.undo(|_| true) } else { Vec::new() }
    }

    /// Removes the journal where nothing remains of it: all is settled, or it is of another boot. Whether it did.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn clear(self) -> Result<bool, SysError> {
        let cleared = match self.standing {
            Standing::Left | Standing::Kept => self.log.remove_if_settled(),
            Standing::OtherBoot => self.log.remove().map(|()| true),
            _ => Ok(false),
        };
        cleared.map_err(|source| SysError::Journal { path: self.log.path(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::process::Process;

    #[test]
    fn a_journal_stands_as_its_boot_machine_lock_and_process_say() {
        let here = Here { boot: "boot".into(), host: "host".into(), number_space: "pid:[1]".into() };
        let header = Header {
            version: 1,
            corewise: "0.1.0".into(),
            boot: "boot".into(),
            host: "host".into(),
            process: Process { id: 7, start_ticks: 100 },
            number_space: "pid:[1]".into(),
            started_unix_ms: 0,
        };
        let stands = |header: &Header, lock, alive| standing(header, lock, &here, |_| alive);
        assert_eq!(stands(&header, Lock::Got, false), Standing::Left);
        assert_eq!(stands(&header, Lock::Taken, false), Standing::InForce);
        assert_eq!(stands(&header, Lock::Unsupported, true), Standing::InForce);
        assert_eq!(stands(&header, Lock::Unsupported, false), Standing::Left);
        let container = Header { number_space: "pid:[2]".into(), ..header.clone() };
        assert_eq!(stands(&container, Lock::Got, true), Standing::Unknown, "numbers that mean other processes here");
        assert_eq!(stands(&container, Lock::Taken, false), Standing::InForce);
        assert_eq!(stands(&container, Lock::Unsupported, false), Standing::Unknown);
        let rebooted = Header { boot: "before".into(), ..header.clone() };
        assert_eq!(stands(&rebooted, Lock::Got, true), Standing::OtherBoot);
        let shared = Header { host: "neighbour".into(), ..rebooted };
        assert_eq!(stands(&shared, Lock::Got, true), Standing::OtherMachine);
        assert_eq!(stands(&Header { version: 2, ..header }, Lock::Got, false), Standing::Unreadable);
    }
}
