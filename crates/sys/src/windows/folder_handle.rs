//! Folders that are held open while they are used: nobody can put another one in their place meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::os::windows::io::AsRawHandle as _;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_FLAG_OPEN_REPARSE_POINT, GetFileInformationByHandle,
};

use super::files::{held_folder, opened_to_ask, others_with, writers_of};
use super::handle::checked;
use super::missing::missing;
use crate::access_list;
pub use crate::values::folder_handle::{FolderError, KernelFiles};

/// A folder, by its path without links, held open so that neither it nor a folder above it can be renamed.
#[derive(Debug)]
pub struct FolderHandle {
    path: PathBuf,
    _held: File,
}

impl FolderHandle {
    /// Opens a folder in which nobody else may write, and which nobody else can put in the place of another: not one folder above it
    /// lets others than this user, administrators and the system replace what is in it.
    pub fn own(path: &Path, make: bool) -> Result<Self, FolderError> {
        if make {
            fs::create_dir_all(path)?;
        }
        let folder = Self::any(path)?;
        for (steps_up, way) in folder.path.ancestors().enumerate() {
            let rights = match (steps_up, way.parent()) {
                (0, _) => access_list::WRITE,
                (_, Some(_)) => access_list::REPLACE,
                (_, None) => access_list::REPLACE & !access_list::DELETE,
            };
            if let Some(why) = others_with(&opened_to_ask(way, false)?, rights)? {
                return Err(FolderError::Foreign(format!("{} {why}", shown(way))));
            }
        }
        // What it was reached by while it was held is what it is.
        if folder.path.canonicalize()? != folder.path {
            return Err(FolderError::Foreign("another folder was put in its place".to_owned()));
        }
        Ok(folder)
    }

    pub fn any(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let held = held_folder(&path)?;
        match held.metadata()?.is_dir() {
            true => Ok(Self { path, _held: held }),
            false => Err(io::Error::from(io::ErrorKind::NotADirectory)),
        }
    }

    pub fn of_kernel(_: &Path, _: KernelFiles) -> io::Result<Self> {
        missing()
    }

    pub fn let_through(&self) -> io::Result<()> {
        Ok(())
    }

    pub fn open_own(&self, name: &OsStr) -> io::Result<File> {
        let file = options().open(self.path.join(name))?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        writers_of(&file)?.map_or(Ok(file), |why| Err(io::Error::other(format!("it {why}"))))
    }

    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        options().create_new(true).open(self.path.join(name))
    }

    pub fn read(&self, name: &str) -> io::Result<String> {
        fs::read_to_string(self.path.join(name))
    }

    pub fn write(&self, name: &str, value: &str) -> io::Result<()> {
        fs::write(self.path.join(name), value)
    }

    pub fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::create_dir(self.path.join(name))
    }

    pub fn folder(&self, name: &OsStr) -> io::Result<Self> {
        Self::any(&self.path.join(name))
    }

    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_dir(self.path.join(name))
    }

    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    /// Whether a name is that of an open file.
    pub fn is_name_of(&self, name: &OsStr, file: &File) -> bool {
        let named = opened_to_ask(&self.path.join(name), false);
        named.and_then(|named| Ok(identity(&named)? == identity(file)?)).unwrap_or(false)
    }

    pub fn has(&self, name: &OsStr) -> bool {
        self.path.join(name).symlink_metadata().is_ok()
    }

    pub fn names(&self) -> io::Result<Vec<(OsString, bool)>> {
        let name = |entry: io::Result<fs::DirEntry>| {
            let entry = entry?;
            Ok((entry.file_name(), entry.file_type()?.is_dir()))
        };
        fs::read_dir(&self.path)?.map(name).collect()
    }
}

/// The volume of a file, and its number there.
fn identity(file: &File) -> io::Result<(u32, u32, u32)> {
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the kernel fills the structure.
    checked(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut found) })?;
    Ok((found.dwVolumeSerialNumber, found.nFileIndexHigh, found.nFileIndexLow))
}

/// A path as people write it.
fn shown(path: &Path) -> String {
    let path = path.display().to_string();
    path.strip_prefix(r"\\?\").map_or(path.clone(), str::to_owned)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    options
}
