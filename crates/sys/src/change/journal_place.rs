//! The folder of journals: its permissions, and the names of the files.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::controller;
use super::lines::JournalHeader;
use crate::error::SysError;
use crate::lock::FileLock;
use crate::os::folder_handle::{FolderError, FolderHandle};

/// File name extension of journals.
const SUFFIX: &str = "corewise-journal";
/// Their extension until version 0.1: a corewise from before an upgrade may have left some in this boot. Journals of other programs end
/// this way too; their first line differs.
const FORMER_SUFFIX: &str = "journal";
/// Maximum attempts to open a journal if its name moves to another file meanwhile.
const ATTEMPTS: u32 = 10;

/// An open folder of journals. It belongs to this user alone: a journal's writer decides which files are written when it is undone, so both
/// must be done by the same user.
#[derive(Clone, Debug)]
pub(super) struct JournalPlace {
    folder: Arc<FolderHandle>,
    path: PathBuf,
}

impl JournalPlace {
    /// Opens the folder; makes it, for this user alone, if it is missing.
    pub fn prepare_folder(path: &Path) -> Result<Self, SysError> {
        Self::open_folder(path, true)
            .map_err(|error| error.into_journal_error(path, |path, source| SysError::Journal { path, source }))
    }

    /// Opens the folder; `None` if there is none.
    pub fn find_folder(path: &Path) -> Result<Option<Self>, SysError> {
        match Self::open_folder(path, false) {
            Err(FolderError::System(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other
                .map(Some)
                .map_err(|error| error.into_journal_error(path, |path, source| SysError::Read { path, source })),
        }
    }

    fn open_folder(path: &Path, make: bool) -> Result<Self, FolderError> {
        Ok(Self { folder: Arc::new(FolderHandle::open_private(path, make)?), path: path.to_owned() })
    }

    /// Keeps other corewise processes of this user from changing control groups while the returned lock lives.
    pub fn hold_groups(&self) -> io::Result<FileLock> {
        controller::lock_groups(&self.folder)
    }

    /// Returns the path of a file in it.
    pub fn path_of(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// Makes the file of a new journal, under a name that readers ignore. The name contains the boot, the process and its start time, so it
    /// is unique.
    pub fn create_journal(&self, header: &JournalHeader) -> io::Result<(OsString, File)> {
        let name = OsString::from(format!("{}-{}-{}.new", header.boot, header.process.id, header.process.start_ticks));
        self.remove_file(&name)?;
        self.folder.create_file(&name).map(|file| (name, file))
    }

    /// Renames a journal to the name under which it is found and returns it. The rename is synced, so that it survives a crash of the file
    /// system.
    pub fn give_name(&self, nameless: &OsStr) -> io::Result<OsString> {
        let stem = Path::new(nameless).file_stem().unwrap_or_default().to_string_lossy();
        let number = |number| if number == 1 { String::new() } else { format!("-{number}") };
        let mut names = (1..).map(|n| OsString::from(format!("{stem}{}.{SUFFIX}", number(n))));
        let name = names.find(|name| !self.folder.has_name(name)).unwrap_or_default();
        self.rename_file(nameless, &name)?;
        Ok(name)
    }

    /// Renames a file, replacing another one.
    pub fn rename_file(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.folder.rename_durably(from, to)
    }

    /// Removes a file that may be gone already.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        match self.folder.remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the names of the journals, sorted.
    pub fn journal_names(&self) -> Result<Vec<OsString>, SysError> {
        let found = self.folder.list_names().map_err(|source| SysError::Read { path: self.path.clone(), source })?;
        let is_journal = |name: &OsString| {
            let extension = Path::new(name).extension();
            extension.is_some_and(|extension| extension == SUFFIX || extension == FORMER_SUFFIX)
        };
        let mut names: Vec<OsString> = found.into_iter().map(|(name, _)| name).filter(is_journal).collect();
        names.sort();
        Ok(names)
    }

    /// Opens a journal and calls `take` on it. Retries if the name moves to another file meanwhile, as when its corewise rewrites it.
    pub fn open<T>(&self, name: &OsStr, take: impl Fn(&File) -> T) -> io::Result<(File, T)> {
        for _ in 0..ATTEMPTS {
            let file = self.folder.open_own(name)?;
            let taken = take(&file);
            if self.folder.is_name_of(name, &file) {
                return Ok((file, taken));
            }
        }
        Err(io::Error::from(io::ErrorKind::NotFound))
    }
}

impl FolderError {
    /// Converts it to this crate's error about a folder of journals.
    fn into_journal_error(self, path: &Path, system: fn(PathBuf, io::Error) -> SysError) -> SysError {
        match self {
            Self::Foreign(why) => SysError::JournalRefused { path: path.to_owned(), why },
            Self::System(source) => system(path.to_owned(), source),
        }
    }
}
