//! A walk along a path, one folder at a time, each opened in the one before and checked by its handle.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use super::{FolderError, FolderHandle, ReachedFolder, open_file_at};
use crate::os::files::identity_of;
use crate::os::process::effective_user;

/// Maximum number of links in one path, as in the kernel: path_resolution(7).
const MOST_LINKS: u32 = 40;
const STICKY: u32 = 0o1000;

/// A walk along a path, a folder at a time.
pub struct PathWalk {
    /// The folder that was reached.
    pub at: FolderHandle,
    /// The path of that folder, without links.
    pub so_far: PathBuf,
    /// The remaining names, the last first.
    pub left: Vec<OsString>,
    links: u32,
    /// Reason why others may replace the present folder.
    strangers: Option<String>,
}

impl PathWalk {
    /// Starts at the root.
    pub fn from_root(path: &Path) -> io::Result<Self> {
        let left = path_steps(&std::path::absolute(path)?);
        Ok(Self { at: FolderHandle::open_root()?, so_far: PathBuf::from("/"), left, links: 0, strangers: None })
    }

    /// Starts at the current folder, which may lie below folders that this user cannot enter.
    pub fn from_here(path: &Path) -> io::Result<Self> {
        let at =
            open_file_at(libc::AT_FDCWD, OsStr::new("."), libc::O_PATH | libc::O_DIRECTORY, 0).map(FolderHandle)?;
        let so_far = std::env::current_dir()?;
        let strangers = strangers_above(&at, &so_far)?;
        Ok(Self { at, so_far, left: path_steps(path), links: 0, strangers })
    }

    /// Opens a name in the folder, of any kind; makes a folder if it is missing and `make` has a mode.
    pub fn open(&self, name: &OsStr, make: Option<libc::mode_t>) -> io::Result<File> {
        // From "/" by the whole path, which is equivalent: an emulator of another architecture has a "/" of its own.
        let step =
            if self.so_far.parent().is_none() { self.so_far.join(name).into_os_string() } else { name.to_owned() };
        match (self.at.open_at(&step, libc::O_PATH | libc::O_NOFOLLOW, 0), make) {
            (Err(error), Some(mode)) if error.kind() == io::ErrorKind::NotFound => self.at.make_or_open(&step, mode),
            (opened, _) => opened,
        }
    }

    /// Continues in a folder that was opened in this one.
    pub fn enter_folder(&mut self, name: &OsStr, folder: File) {
        if name == ".." {
            self.so_far.pop();
        } else {
            self.so_far.push(name);
        }
        self.at = FolderHandle(folder);
    }

    /// Continues at the target of a link in this folder.
    pub fn follow_link(&mut self, link: &File) -> io::Result<()> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
        let target = link_target(link)?;
        self.left.extend(path_steps(&target));
        if target.is_absolute() {
            (self.at, self.so_far, self.strangers) = (FolderHandle::open_root()?, PathBuf::from("/"), None);
        }
        Ok(())
    }

    /// Refuses a link in this folder that others can have made.
    pub fn check_link(&self, name: &OsStr) -> io::Result<()> {
        let folder = self.so_far.display();
        let others = self.at.other_writers()?.map(|why| format!("{folder} {why}"));
        others.or_else(|| self.strangers.clone()).map_or(Ok(()), |why| {
            let link = self.so_far.join(name);
            Err(io::Error::other(format!("{} is a link in a folder that others may write in: {why}", link.display())))
        })
    }

    /// Records whether others may replace the next folder.
    pub fn note_strangers(&mut self) -> io::Result<()> {
        let found = self.at.0.metadata()?;
        self.strangers =
            self.strangers.take().or_else(|| check_way(&found, &self.so_far).err().map(|why| why.to_string()));
        Ok(())
    }

    /// Ends in this folder, at a file's name.
    pub fn end_at_file(self, name: OsString) -> ReachedFolder {
        let path = if name == "." { self.so_far } else { self.so_far.join(&name) };
        ReachedFolder { folder: self.at, name, path, strangers: self.strangers }
    }
}

/// Returns why others may replace an open folder, judging by the folders above it; `path` names them in messages.
///
/// # Errors
/// The kernel's error.
pub fn strangers_above(folder: &FolderHandle, path: &Path) -> io::Result<Option<String>> {
    let mut below = identity_of(&folder.0)?;
    let mut above = folder.open_at(OsStr::new(".."), libc::O_PATH, 0);
    for path in path.ancestors().skip(1) {
        let Ok(at) = above else { return Ok(Some(format!("{} cannot be looked at", path.display()))) };
        if let Err(why) = check_way(&at.metadata()?, path) {
            return Ok(Some(why.to_string()));
        }
        below = identity_of(&at)?;
        above = FolderHandle(at).open_at(OsStr::new(".."), libc::O_PATH, 0);
    }
    // The path and the folder may differ: the last one checked has to be the root.
    let is_root = identity_of(&above?)? == below;
    Ok((!is_root).then(|| format!("{} was moved", path.display())))
}

/// Splits a path into names, the last first. The caller chooses where an absolute path starts.
fn path_steps(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    names.collect()
}

fn link_target(link: &File) -> io::Result<PathBuf> {
    let mut bytes = vec![0; libc::PATH_MAX as usize];
    // SAFETY: the kernel writes at most `bytes.len()` bytes; the name is empty, so the open link itself is read.
    let size = unsafe { libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), bytes.as_mut_ptr().cast(), bytes.len()) };
    bytes.truncate(usize::try_from(size).map_err(|_| io::Error::last_os_error())?);
    Ok(OsString::from_vec(bytes).into())
}

/// Refuses files of other users than this one and root.
pub fn check_owner(found: &Metadata, path: &Path) -> Result<(), FolderError> {
    match found.uid() {
        0 => Ok(()),
        owner if owner == effective_user() => Ok(()),
        owner => Err(FolderError::Foreign(format!("{} belongs to user {owner}", path.display()))),
    }
}

/// Checks that only root and this user can replace a folder in this one.
pub fn check_way(found: &Metadata, path: &Path) -> Result<(), FolderError> {
    check_owner(found, path)?;
    let is_group_private = found.gid() == found.uid();
    let writers = if is_group_private { 0o002 } else { 0o022 };
    match found.is_dir() && found.mode() & writers != 0 && found.mode() & STICKY == 0 {
        true => Err(FolderError::Foreign(format!("other users may write in {} (chmod go-w)", path.display()))),
        false => Ok(()),
    }
}
