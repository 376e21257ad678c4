//! Folders of this user's own, below the profile: nobody else but administrators may write there.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_OPEN_REPARSE_POINT;

use super::files::{home_of_this_user, usual_folder};
use super::missing::missing;
pub use crate::values::folder_handle::{FolderError, KernelFiles};

/// A folder, by its path without links.
#[derive(Debug)]
pub struct FolderHandle(PathBuf);

impl FolderHandle {
    pub fn own(path: &Path, make: bool) -> Result<Self, FolderError> {
        if make {
            fs::create_dir_all(path)?;
        }
        let real = path.canonicalize()?;
        let mut own =
            [home_of_this_user(), usual_folder()].into_iter().flatten().filter_map(|own| own.canonicalize().ok());
        match own.any(|own| real.starts_with(own)) {
            true => Ok(Self(real)),
            false => {
                Err(FolderError::Foreign("it is not below this user's profile, and others may write there".to_owned()))
            }
        }
    }

    pub fn of_kernel(_: &Path, _: KernelFiles) -> io::Result<Self> {
        missing()
    }

    pub fn any(path: &Path) -> io::Result<Self> {
        path.canonicalize().map(Self)
    }

    pub fn let_through(&self) -> io::Result<()> {
        Ok(())
    }

    pub fn open_own(&self, name: &OsStr) -> io::Result<File> {
        let file = options().open(self.0.join(name))?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
    }

    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        options().create_new(true).open(self.0.join(name))
    }

    pub fn read(&self, name: &str) -> io::Result<String> {
        fs::read_to_string(self.0.join(name))
    }

    pub fn write(&self, name: &str, value: &str) -> io::Result<()> {
        fs::write(self.0.join(name), value)
    }

    pub fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::create_dir(self.0.join(name))
    }

    pub fn folder(&self, name: &OsStr) -> io::Result<Self> {
        self.0.join(name).canonicalize().map(Self)
    }

    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_dir(self.0.join(name))
    }

    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    /// A file that is open cannot be replaced by another one of its name here.
    pub fn is_name_of(&self, name: &OsStr, _: &File) -> bool {
        self.has(name)
    }

    pub fn has(&self, name: &OsStr) -> bool {
        self.0.join(name).symlink_metadata().is_ok()
    }

    pub fn names(&self) -> io::Result<Vec<(OsString, bool)>> {
        let name = |entry: io::Result<fs::DirEntry>| {
            let entry = entry?;
            Ok((entry.file_name(), entry.file_type()?.is_dir()))
        };
        fs::read_dir(&self.0)?.map(name).collect()
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    options
}
