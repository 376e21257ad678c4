//! Ownership and permissions of files, and special files.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, FileType, Metadata, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use super::process::effective_user;
use crate::values::folder_handle::{FileIdentity, FoundFile};

/// Makes a folder and its missing parents, for this user alone.
///
/// # Errors
/// The kernel's error.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Removes all other users' permissions from a file of this user's.
///
/// # Errors
/// The kernel's error.
pub fn make_private(file: &Path) -> io::Result<()> {
    let open = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(file)?;
    let metadata = open.metadata()?;
    match metadata.uid() == effective_user() && metadata.mode() & 0o077 != 0 {
        true => open.set_permissions(Permissions::from_mode(metadata.mode() & 0o700)),
        false => Ok(()),
    }
}

/// Lets every user read an open file of this user's, and only this user write it.
///
/// # Errors
/// The kernel's error.
pub fn make_readable(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(0o644))
}

/// Returns true if all existing parts of a path, including links, belong to this user or root, and the last one to this user.
pub fn is_of_this_user(path: &Path) -> bool {
    let mut owners = path.ancestors().filter_map(|path| path.symlink_metadata().ok()).map(|found| found.uid());
    let user = effective_user();
    owners.next() == Some(user) && owners.all(|owner| owner == 0 || owner == user)
}

/// Returns the home of this process's effective user, if it belongs to that user.
pub fn home_of_this_user() -> Option<PathBuf> {
    home_of_user(effective_user()).filter(|home| is_of_this_user(home))
}

/// Returns the home of a user: passwd(5).
pub fn home_of_user(user: u32) -> Option<PathBuf> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let of = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2)?.parse() == Ok(user)).then(|| fields.get(5).map(PathBuf::from))?
    };
    users.lines().find_map(of).filter(|home| home.is_absolute())
}

/// Returns the usual folder of user data on this system; `None` if it follows from the environment's XDG folders and home.
pub fn usual_folder() -> Option<PathBuf> {
    None
}

/// Opens a file for reading. Does not wait for the other end of a pipe, and follows a link in the path's last part only if asked.
///
/// # Errors
/// The kernel's error.
pub fn open_to_read(file: &Path, follow: bool) -> io::Result<File> {
    let follow = if follow { 0 } else { libc::O_NOFOLLOW };
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | follow).open(file).map_err(|error| {
        match error.raw_os_error() {
            Some(libc::ELOOP) => io::Error::other("it is a link in a folder that others may write in"),
            Some(libc::ENXIO) => io::Error::other("it is a socket or a device"),
            _ => error,
        }
    })
}

/// Returns why others than this user and root may change an open file or folder, or `None` if they may not. A group with its user's number
/// may change it: many systems give each user such a group, without other members.
///
/// # Errors
/// If its metadata cannot be read.
pub fn writers_of(file: &File) -> io::Result<Option<String>> {
    file.metadata().map(|metadata| other_writers(&metadata))
}

/// Returns the identity of an open file.
///
/// # Errors
/// The kernel's error.
pub fn identity_of(file: &File) -> io::Result<FileIdentity> {
    file.metadata().map(|found| FileIdentity { volume: found.dev(), number: found.ino() })
}

/// Returns the identity of an open file, its kind, and the other users that may write it.
///
/// # Errors
/// The kernel's error.
pub fn look_at(file: &File) -> io::Result<FoundFile> {
    let metadata = file.metadata()?;
    Ok(FoundFile { identity: identity_of(file)?, writers: other_writers(&metadata), metadata })
}

fn other_writers(metadata: &Metadata) -> Option<String> {
    let (user, mode) = (metadata.uid(), metadata.mode());
    if user != 0 && user != effective_user() {
        return Some(format!("belongs to user {user}"));
    }
    match mode & 0o022 {
        0 => None,
        0o020 if metadata.gid() == user => None,
        0o020 => Some(format!("may be written by group {}", metadata.gid())),
        _ => Some("may be written by everybody".to_owned()),
    }
}

/// Returns the command that makes a file or folder this user's alone.
pub fn how_to_make_private(path: &Path) -> String {
    format!("chmod go-w {}", path.display())
}

/// Locks a file for this process, unless another one has locked it. The lock does not prevent reading or writing.
///
/// # Errors
/// [`TryLockError::WouldBlock`] if another process has it; otherwise the kernel's error.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    file.try_lock()
}

/// Releases the lock of a file.
///
/// # Errors
/// The kernel's error.
pub fn unlock_file(file: &File) -> io::Result<()> {
    file.unlock()
}

/// Returns the folder of settings for all users of this system; `None` if there is none.
pub fn system_settings() -> Option<PathBuf> {
    Some(PathBuf::from("/etc"))
}

/// Returns why another user may have written a file or in a folder; `None` if only this user may.
pub(super) fn foreign_owner(metadata: &Metadata) -> Option<String> {
    if metadata.uid() != effective_user() {
        return Some(format!("they belong to user {}; only that user's corewise can undo them", metadata.uid()));
    }
    (metadata.mode() & 0o022 != 0).then(|| "other users may write there (chmod go-w)".to_owned())
}

/// Returns true if a user may execute the file.
pub fn is_executable(file: &Metadata) -> bool {
    file.is_file() && file.mode() & 0o111 != 0
}

/// Returns true for a character device, which may deliver bytes without end.
pub fn is_device(found: FileType) -> bool {
    found.is_char_device()
}

/// Describes a file that is neither a regular file nor a folder.
pub fn special_kind(found: FileType) -> &'static str {
    if found.is_fifo() {
        "it is a named pipe"
    } else if found.is_socket() {
        "it is a socket"
    } else if found.is_char_device() || found.is_block_device() {
        "it is a device"
    } else {
        "it is neither a file nor a folder"
    }
}

/// Returns true if the kernel itself refuses a value for one of its own files, rather than the file's permissions.
pub fn is_refused_by_kernel(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EIO))
}

/// Returns the path of bytes from [`OsStr::as_encoded_bytes`](std::ffi::OsStr::as_encoded_bytes).
pub fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(<OsStr as OsStrExt>::from_bytes(bytes))
}
