//! Where reads go: this machine, a folder that holds a copy of its files, or an archive of one.

mod archive;
mod disk;
mod files;
mod fixed_interrupts;
mod folder;
mod hypervisor;
mod inline;
mod source;
mod wanted;

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::SysError;
use crate::os;
use disk::{list_folder, read_file};
use files::Files;
pub(crate) use fixed_interrupts::FIXED_INTERRUPTS;
use folder::{Folder, Found};
pub(crate) use hypervisor::{EMULATOR, HYPERVISOR, called};
pub(crate) use source::Source;
pub(crate) use wanted::{CPUID, HWLOC_XML};

/// A machine's files: its own, or recorded ones. Paths are relative, without a leading slash: "proc/cpuinfo".
#[derive(Debug)]
pub struct Root {
    place: Place,
    path: PathBuf,
}

#[derive(Debug)]
enum Place {
    Live,
    Folder(Folder),
    Files(Files),
}

impl Root {
    /// This machine.
    pub fn live() -> Self {
        Self { place: Place::Live, path: PathBuf::from("/") }
    }

    /// This machine for "/", otherwise a recorded one.
    ///
    /// A recording is a folder or an archive (tar, plain or packed by gzip, bzip2 or xz) with the machine's files under
    /// `sys` and `proc`, possibly inside other folders; pepc's inline file (`ro|path|value` lines), packed or in such an
    /// archive; a dump of cpuid by hwloc-gather-cpuid; or an hwloc XML export of format 2 or 3.
    ///
    /// # Errors
    /// [`SysError::Read`] where there is nothing to read, [`SysError::NotARecording`] where it holds no machine,
    /// or is neither a file nor a folder,
    /// [`SysError::Damaged`] and [`SysError::TooLarge`] for archives.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SysError> {
        let path = path.as_ref();
        let read_error = |source| SysError::Read { path: path.to_owned(), source };
        let real = fs::canonicalize(path).map_err(read_error)?;
        if real.parent().is_none() {
            return Ok(Self::live());
        }
        let metadata = fs::metadata(&real).map_err(read_error)?;
        if let Some(why) = unreadable(&metadata) {
            return Err(SysError::NotARecording { path: path.to_owned(), why: why.to_owned() });
        }
        let place = match metadata.is_dir() {
            true => match folder::open(path, real)? {
                Found::Folder(folder) => Place::Folder(folder),
                Found::Files(files) => Place::Files(files),
            },
            false => Place::Files(archive::read(path, fs::File::open(&real).map_err(read_error)?)?),
        };
        Ok(Self { place, path: path.to_owned() })
    }

    /// A recorded machine from the bytes of an archive or inline file, as [`Root::open`] reads it from a file.
    ///
    /// # Errors
    /// As [`Root::open`].
    pub fn from_archive_bytes(bytes: &[u8]) -> Result<Self, SysError> {
        let path = PathBuf::from("the archive");
        Ok(Self { place: Place::Files(archive::read(&path, bytes)?), path })
    }

    /// A machine of files that are given with their texts, for tests and for embedding.
    pub fn from_files<P: Into<String>, T: Into<String>>(files: impl IntoIterator<Item = (P, T)>) -> Self {
        let files = files.into_iter().map(|(path, text)| (path.into(), text.into())).collect();
        Self { place: Place::Files(files), path: PathBuf::from("the files") }
    }

    /// Where the files are, as it was given to [`Root::open`]; for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this is the machine that the program runs on.
    pub fn is_live(&self) -> bool {
        matches!(self.place, Place::Live)
    }

    /// The text of a file; nothing where it is absent, may not be read or is no file. Bytes that are not UTF-8 become
    /// replacement characters.
    pub fn read(&self, path: &str) -> Option<Cow<'_, str>> {
        match &self.place {
            Place::Live if path == HYPERVISOR => hypervisor::name().map(Cow::Owned),
            Place::Live if path == FIXED_INTERRUPTS => fixed_interrupts::numbers().map(Cow::Owned),
            Place::Live => read_file(&Path::new("/").join(path)).map(Cow::Owned),
            Place::Folder(folder) => folder.read(path).map(Cow::Owned),
            Place::Files(files) => files.text(path).map(Cow::Borrowed),
        }
    }

    /// The names in a folder, sorted; empty where there is no such folder.
    pub fn list(&self, folder: &str) -> Vec<String> {
        match &self.place {
            Place::Live => list_folder(&Path::new("/").join(folder)),
            Place::Folder(recorded) => recorded.list(folder),
            Place::Files(files) => files.names(folder),
        }
    }

    /// Whether there is such a file or folder.
    pub fn exists(&self, path: &str) -> bool {
        match &self.place {
            Place::Live => Path::new("/").join(path).exists(),
            Place::Folder(folder) => folder.exists(path),
            Place::Files(files) => files.exists(path),
        }
    }
}

impl Source for Root {
    fn text(&self, path: &str) -> Option<Cow<'_, str>> {
        self.read(path)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        self.list(folder)
    }
}

/// What keeps something from being opened: what is neither a file nor a folder may wait for ever for a writer, and so
/// may a file of the kernel that hands out what comes (/proc/kmsg); the kernel gives these no size.
fn unreadable(metadata: &fs::Metadata) -> Option<&'static str> {
    if metadata.is_dir() {
        None
    } else if metadata.is_file() {
        (metadata.len() == 0).then_some("it is empty, or generated by the kernel")
    } else {
        Some(os::files::special(metadata.file_type()))
    }
}
