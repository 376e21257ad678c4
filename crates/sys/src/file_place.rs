//! Places of files: a file's folder, reached step by step and held open, and the file's name in it.
//!
//! All checks and actions at a place concern one folder, whatever its path leads to meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::os::files::look_at;
use crate::os::folder_handle::{FileIdentity, FileSharing, FolderHandle, FoundFile, ReachOptions, ReachedFolder};

/// The place of a file that exists or is to be made.
#[derive(Debug)]
pub struct FilePlace {
    folder: FolderHandle,
    name: OsString,
    path: PathBuf,
    strangers: Option<String>,
}

impl FilePlace {
    /// Reaches the place of a file. Follows only links that this user or root made.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if a folder on the way is missing; a link that is not followed; errors of the system.
    pub fn find_place(path: &Path) -> io::Result<Self> {
        Self::reach_place(path, None, true)
    }

    /// Reaches the place of a file, and makes the folders that are missing for this user alone.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn make_private(path: &Path) -> io::Result<Self> {
        Self::reach_place(path, Some(FileSharing::Private), true)
    }

    /// Reaches the place of a file, and makes the folders that are missing.
    pub(crate) fn make_place(path: &Path) -> io::Result<Self> {
        Self::reach_place(path, Some(FileSharing::Usual), true)
    }

    /// Reaches the place of a file that may be a link itself.
    pub(crate) fn find_itself(path: &Path) -> io::Result<Self> {
        Self::reach_place(path, None, false)
    }

    fn reach_place(path: &Path, make: Option<FileSharing>, follows_last: bool) -> io::Result<Self> {
        let ReachedFolder { folder, name, path, strangers } =
            FolderHandle::reach_folder(path, ReachOptions { make, follows_last })?;
        Ok(Self { folder, name, path, strangers })
    }

    /// The path without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns why others may put another folder in the place of the file's. `None` if only this user and root may, so that the path means
    /// this folder as long as they leave it.
    pub fn strangers(&self) -> Option<&str> {
        self.strangers.as_deref()
    }

    /// Returns the file, or `None` if there is none. A link is not followed.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn find_file(&self) -> io::Result<Option<FoundFile>> {
        self.folder.find_file(&self.name)
    }

    /// Returns the file's origin: its identity, and other users that may have written it or a file that belongs to it. These are files in
    /// its folder that are named like it, with one of `endings` added. `None` if there is no file.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn file_origin(&self, endings: &[&str]) -> io::Result<Option<FileOrigin>> {
        let Some(found) = self.find_file()? else { return Ok(None) };
        let mut origin = self.origin_of(&found)?;
        for ending in endings {
            let Some(beside) = self.look_beside(ending)? else { continue };
            let why = beside.writers.or((!beside.metadata.is_file()).then(|| "is no regular file".to_owned()));
            origin.writers = origin.writers.or(why.map(|why| format!("the file with {ending} beside it {why}")));
        }
        Ok(Some(origin))
    }

    /// Returns the file named like this one with `ending` added, or `None` if there is none.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn look_beside(&self, ending: &str) -> io::Result<Option<FoundFile>> {
        let mut name = self.name.clone();
        name.push(ending);
        self.folder.find_file(&name)
    }

    fn origin_of(&self, found: &FoundFile) -> io::Result<FileOrigin> {
        let of_file = found.writers.as_ref().map(|why| format!("the file {why}"));
        let of_folder = self.folder.other_writers()?.map(|why| format!("its folder {why}"));
        let writers = of_file.or(of_folder).or_else(|| self.strangers.clone());
        Ok(FileOrigin { path: self.path.clone(), identity: found.identity, writers })
    }

    /// Opens the existing file for reading; returns its origin as read from the open file.
    pub(crate) fn open_to_read(&self) -> io::Result<(File, FileOrigin)> {
        let file = self.folder.open_to_read(&self.name)?;
        let origin = self.origin_of(&look_at(&file)?)?;
        Ok((file, origin))
    }

    /// Makes an empty file for this user alone.
    ///
    /// # Errors
    /// Errors of the system: [`io::ErrorKind::AlreadyExists`] if the name is taken.
    pub fn create_private(&self) -> io::Result<File> {
        self.folder.create_as(&self.name, FileSharing::Private)
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &FolderHandle {
        &self.folder
    }

    /// The file's name in its folder.
    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }
}

/// The identity of an opened file, and the other users that may have written it. Only the doors of this crate make one, of files that they
/// hold open: a path alone may lead elsewhere a moment later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOrigin {
    path: PathBuf,
    identity: FileIdentity,
    writers: Option<String>,
}

impl FileOrigin {
    /// The path by which the file was reached, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns why others than this user and root may have written the file, as a sentence: the file or its folder belongs to another user,
    /// others may write there, or others may put another folder in its place. `None` if no other may: the file's contents may be executed.
    pub fn writers(&self) -> Option<&str> {
        self.writers.as_deref()
    }

    /// Returns true if a path leads to this file now.
    pub fn is_at(&self, path: &Path) -> bool {
        let found = FilePlace::find_place(path).and_then(|place| place.find_file());
        found.is_ok_and(|found| found.is_some_and(|found| found.identity == self.identity))
    }

    /// Returns true if both are of one file.
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

#[cfg(all(test, unix))]
mod tests;
