//! Folders that are opened once and then used by handle, so that they cannot be replaced meanwhile.

mod walk;

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::files::{foreign_owner, identity_of, is_device, look_at, writers_of};
pub use crate::values::folder_handle::{FileIdentity, FileSharing, FolderError, FoundFile, KernelFiles, ReachOptions};
#[cfg(test)]
pub use walk::strangers_above;
use walk::{PathWalk, check_owner, check_way};

/// Maximum that is read of a kernel file: the list of a group with a million processes.
const LARGEST_KERNEL_FILE_BYTES: u64 = 16 << 20;
const PRIVATE_FOLDER: libc::mode_t = 0o700;
const USUAL_FOLDER: libc::mode_t = 0o777;

/// The folder of a file, open, and the file's name in it.
#[derive(Debug)]
pub struct ReachedFolder {
    /// The folder.
    pub folder: FolderHandle,
    /// The name, which is no link.
    pub name: OsString,
    /// The file's path, without links.
    pub path: PathBuf,
    /// Reason why others may replace this folder; `None` if only this user and root may.
    pub strangers: Option<String>,
}

/// An open folder.
#[derive(Debug)]
pub struct FolderHandle(File);

impl FolderHandle {
    /// Opens a folder that belongs to this user and in which no other user may write; `make` makes it and its missing parents for this user
    /// alone.
    ///
    /// No other user can have chosen it: each folder on the way from `/` belongs to root or this user and lets no other user write, unless
    /// it is sticky. A link must meet the same conditions, or it is not followed. Members of a group with the number of the owner, a user's
    /// private group, may write on the way.
    ///
    /// # Errors
    /// [`FolderError::Foreign`] if these conditions fail; [`FolderError::System`] with the kernel's error.
    pub fn open_private(path: &Path, make: bool) -> Result<Self, FolderError> {
        let mut walk = PathWalk::from_root(path)?;
        while let Some(name) = walk.left.pop() {
            check_way(&walk.at.0.metadata()?, &walk.so_far)?;
            let next = walk.open(&name, make.then_some(PRIVATE_FOLDER))?;
            let metadata = next.metadata()?;
            if metadata.is_symlink() {
                check_owner(&metadata, &walk.so_far.join(&name))?;
                walk.follow_link(&next)?;
            } else {
                walk.enter_folder(&name, next);
            }
        }
        let folder = walk.at.open_at(OsStr::new("."), libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
        foreign_owner(&folder.metadata()?).map_or(Ok(Self(folder)), |why| Err(FolderError::Foreign(why)))
    }

    /// Reaches the folder of a file that exists or will be made, step by step. A link is followed only if this user and root alone may
    /// write in its folder, and no other user can replace that folder.
    ///
    /// # Errors
    /// The kernel's error, or that a link is not followed.
    pub fn reach_folder(path: &Path, options: ReachOptions) -> io::Result<ReachedFolder> {
        let mut walk = if path.is_absolute() { PathWalk::from_root(path)? } else { PathWalk::from_here(path)? };
        let make =
            options.make.map(|sharing| if sharing == FileSharing::Private { PRIVATE_FOLDER } else { USUAL_FOLDER });
        while let Some(name) = walk.left.pop() {
            let is_last = walk.left.is_empty();
            let next = match walk.open(&name, make.filter(|_| !is_last)) {
                Err(error) if is_last && error.kind() == io::ErrorKind::NotFound => return Ok(walk.end_at_file(name)),
                other => other?,
            };
            let metadata = next.metadata()?;
            if metadata.is_symlink() && (!is_last || options.follows_last) {
                walk.check_link(&name)?;
                walk.follow_link(&next)?;
            } else if is_last {
                return Ok(walk.end_at_file(name));
            } else if metadata.is_dir() {
                walk.note_strangers()?;
                walk.enter_folder(&name, next);
            } else {
                return Err(io::Error::from(io::ErrorKind::NotADirectory));
            }
        }
        Ok(walk.end_at_file(".".into()))
    }

    /// Lets other users open files in it by name, if they may read the files; they still cannot list it.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn let_through(&self) -> io::Result<()> {
        let mode = self.0.metadata()?.mode() & 0o7777;
        self.0.set_permissions(fs::Permissions::from_mode(mode | 0o011))
    }

    /// Opens a kernel folder; a link at its end is not followed.
    ///
    /// # Errors
    /// The kernel's error, or that the folder lies on another file system.
    pub fn of_kernel(path: &Path, files: KernelFiles) -> io::Result<Self> {
        let folder = Self::open_any(path)?;
        match folder.lies_on(files)? {
            true => Ok(folder),
            false => Err(io::Error::other(format!("{} does not lie on the kernel's own file system", path.display()))),
        }
    }

    /// Opens any user's folder; a link at its end is not followed.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open_any(path: &Path) -> io::Result<Self> {
        open_file_at(libc::AT_FDCWD, path.as_os_str(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW, 0)
            .map(Self)
    }

    fn open_root() -> io::Result<Self> {
        open_file_at(libc::AT_FDCWD, OsStr::new("/"), libc::O_PATH | libc::O_DIRECTORY, 0).map(Self)
    }

    /// Returns true if it lies on a file system: fstatfs(2), linux/magic.h.
    fn lies_on(&self, files: KernelFiles) -> io::Result<bool> {
        let wanted = match files {
            KernelFiles::Processes => libc::PROC_SUPER_MAGIC,
            KernelFiles::Groups => libc::CGROUP2_SUPER_MAGIC,
        };
        let mut found = MaybeUninit::<libc::statfs>::zeroed();
        // SAFETY: the kernel fills the buffer; zeros are a valid value.
        let (result, found) = unsafe {
            let result = libc::fstatfs(self.0.as_raw_fd(), found.as_mut_ptr());
            (result, found.assume_init())
        };
        // Both are words of a type that differs between C libraries.
        if result == 0 { Ok(i128::from(found.f_type) == i128::from(wanted)) } else { Err(io::Error::last_os_error()) }
    }

    fn open_at(&self, name: &OsStr, flags: i32, mode: u32) -> io::Result<File> {
        open_file_at(self.0.as_raw_fd(), name, flags, mode)
    }

    /// Makes a folder, or opens it if it was made meanwhile.
    fn make_or_open(&self, name: &OsStr, mode: libc::mode_t) -> io::Result<File> {
        match self.make_folder_as(name, mode) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => self.open_at(name, libc::O_PATH | libc::O_NOFOLLOW, 0),
        }
    }

    /// Opens a file in it for reading. Follows no link, and does not wait for the other end of a pipe.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open_to_read(&self, name: &OsStr) -> io::Result<File> {
        let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW;
        self.open_at(name, flags, 0).map_err(describe_special_file)
    }

    /// Opens a device in it for writing. Follows no link.
    ///
    /// # Errors
    /// The kernel's error, or that it is no device.
    pub fn open_device(&self, name: &OsStr) -> io::Result<File> {
        let file = self.open_at(name, libc::O_WRONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW, 0)?;
        match is_device(file.metadata()?.file_type()) {
            true => Ok(file),
            false => Err(io::Error::other("it is not a regular file")),
        }
    }

    /// Returns why others than this user and root may write in it, or `None` if they may not.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn other_writers(&self) -> io::Result<Option<String>> {
        writers_of(&self.0)
    }

    /// Returns the entry with this name, or `None` if there is none. A link is not followed.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn find_file(&self, name: &OsStr) -> io::Result<Option<FoundFile>> {
        match self.open_at(name, libc::O_PATH | libc::O_NOFOLLOW, 0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => look_at(&found?).map(Some),
        }
    }

    /// Opens a regular file in it, of this user's alone, for reading and writing. Follows no link, and does not wait for the other end of a
    /// pipe.
    ///
    /// # Errors
    /// The kernel's error, or that there is no such file.
    pub fn open_own(&self, name: &OsStr) -> io::Result<File> {
        let file = self.open_at(name, libc::O_RDWR | libc::O_NOFOLLOW | libc::O_NONBLOCK, 0)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        foreign_owner(&metadata).map_or(Ok(file), |why| Err(io::Error::other(why)))
    }

    /// Makes a new file for this user alone.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn create_file(&self, name: &OsStr) -> io::Result<File> {
        self.create_as(name, FileSharing::Private)
    }

    /// Makes a new file for the users that may read it.
    ///
    /// # Errors
    /// The kernel's error: [`io::ErrorKind::AlreadyExists`] if the name is taken.
    pub fn create_as(&self, name: &OsStr, sharing: FileSharing) -> io::Result<File> {
        let mode = if sharing == FileSharing::Private { 0o600 } else { 0o666 };
        self.open_at(name, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW, mode)
    }

    /// Reads a kernel file in it, without white space at its end.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn read_file(&self, name: &str) -> io::Result<String> {
        let file = self.open_at(OsStr::new(name), libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK, 0)?;
        let mut text = String::new();
        file.take(LARGEST_KERNEL_FILE_BYTES).read_to_string(&mut text)?;
        text.truncate(text.trim_end().len());
        Ok(text)
    }

    /// Writes a value in one call, as the kernel's files require. The end of the line causes a write even for an empty value.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn write_file(&self, name: &str, value: &str) -> io::Result<()> {
        let flags = libc::O_WRONLY | libc::O_TRUNC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        self.open_at(OsStr::new(name), flags, 0)?.write_all(format!("{value}\n").as_bytes())
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        self.make_folder_as(name, 0o777)
    }

    fn make_folder_as(&self, name: &OsStr, mode: libc::mode_t) -> io::Result<()> {
        let name = c_string(name)?;
        // SAFETY: the name is a C string that outlives the call.
        check_result(unsafe { libc::mkdirat(self.0.as_raw_fd(), name.as_ptr(), mode) })
    }

    /// Opens a folder in it; a link is not followed.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open_folder(&self, name: &OsStr) -> io::Result<Self> {
        self.open_at(name, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW, 0).map(Self)
    }

    /// Removes an empty folder in it.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        self.unlink_at(name, libc::AT_REMOVEDIR)
    }

    /// Removes a file in it.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        self.unlink_at(name, 0)
    }

    fn unlink_at(&self, name: &OsStr, flags: i32) -> io::Result<()> {
        let name = c_string(name)?;
        // SAFETY: the name is a C string that outlives the call.
        check_result(unsafe { libc::unlinkat(self.0.as_raw_fd(), name.as_ptr(), flags) })
    }

    /// Renames a file in it, replacing any file of that name; the new name survives a crash of the file system.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn rename_durably(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.replace_file(from, to)?;
        self.0.sync_all()
    }

    /// Renames a file in it, replacing any file of that name.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn replace_file(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let (from, to, folder) = (c_string(from)?, c_string(to)?, self.0.as_raw_fd());
        // SAFETY: the names are C strings that outlive the call.
        check_result(unsafe { libc::renameat(folder, from.as_ptr(), folder, to.as_ptr()) })
    }

    /// Returns true if a name in it is that of an open file.
    pub fn is_name_of(&self, name: &OsStr, file: &File) -> bool {
        let named = self.find_file(name).ok().flatten();
        named.is_some_and(|named| identity_of(file).is_ok_and(|identity| identity == named.identity))
    }

    /// Returns true if the name exists in it.
    pub fn has_name(&self, name: &OsStr) -> bool {
        self.open_at(name, libc::O_PATH | libc::O_NOFOLLOW, 0).is_ok()
    }

    /// Lists its entries, in no order: the name, and true for a folder.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn list_names(&self) -> io::Result<Vec<(OsString, bool)>> {
        let entries = fs::read_dir(format!("/proc/self/fd/{}", self.0.as_raw_fd()))?;
        entries.map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?.is_dir())))).collect()
    }
}

/// Describes why a file that is not regular is not opened.
fn describe_special_file(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ELOOP) => io::Error::other("it is a link in a folder that others may write in"),
        Some(libc::ENXIO) => io::Error::other("it is a socket or a device"),
        _ => error,
    }
}

fn c_string(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(io::Error::from)
}

fn open_file_at(folder: i32, name: &OsStr, flags: i32, mode: u32) -> io::Result<File> {
    let name = c_string(name)?;
    // SAFETY: the name is a C string that outlives the call; the result is a new descriptor, or -1.
    unsafe {
        match libc::openat(folder, name.as_ptr(), flags | libc::O_CLOEXEC, mode) {
            file if file >= 0 => Ok(File::from_raw_fd(file)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn check_result(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use super::*;
    use crate::os::process::effective_user;

    fn refusal(path: &Path) -> String {
        match FolderHandle::open_private(path, false) {
            Err(FolderError::Foreign(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn own_links_are_followed_and_missing_folders_are_made() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir(path("real")).unwrap();
        symlink("real", path("link")).unwrap();
        symlink(path("link"), path("links")).unwrap();
        let folder = FolderHandle::open_private(&path("links/../link/a/b"), true).unwrap();
        folder.create_file(OsStr::new("file")).unwrap();
        assert!(path("real/a/b/file").exists());
        assert_eq!(fs::metadata(path("real/a")).unwrap().mode() & 0o777, 0o700);
        symlink("turn", path("turn")).unwrap();
        let FolderError::System(error) = FolderHandle::open_private(&path("turn"), false).unwrap_err() else {
            panic!()
        };
        assert_eq!(error.raw_os_error(), Some(libc::ELOOP));
    }

    #[test]
    fn a_way_on_which_others_may_write_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let (open, folder) = (place.path().join("open"), place.path().join("open/folder"));
        drop(FolderHandle::open_private(&folder, true).unwrap());
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(refusal(&folder).starts_with("other users may write in "), "{}", refusal(&folder));
        fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
        FolderHandle::open_private(&folder, false).unwrap();
    }

    #[test]
    fn a_link_or_a_folder_of_another_user_is_not_followed() {
        if effective_user() != 0 {
            println!("skipped: only root can make links of another user");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let (folder, link) = (place.path().join("folder"), place.path().join("link"));
        drop(FolderHandle::open_private(&folder, true).unwrap());
        symlink(&folder, &link).unwrap();
        FolderHandle::open_private(&link, false).unwrap();
        lchown(&link, Some(65_534), None).unwrap();
        assert!(refusal(&link).ends_with("link belongs to user 65534"), "{}", refusal(&link));
        // Their folder on the way is as good as a link.
        fs::create_dir(folder.join("inner")).unwrap();
        std::os::unix::fs::chown(&folder, Some(65_534), None).unwrap();
        assert!(refusal(&folder.join("inner")).ends_with("folder belongs to user 65534"));
    }
}
