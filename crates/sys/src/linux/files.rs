//! Whose files are, who may use them, and what is no file.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::process::effective_user;

/// Makes a folder, and those above it, where they are missing, for this user alone.
///
/// # Errors
/// What the kernel says.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes an empty file, or empties the one that is there, for this user alone.
///
/// # Errors
/// What the kernel says.
pub fn create_private(file: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(file)
}

/// Opens a file for reading and writing; follows no link, and waits for nobody at the other end of a pipe.
///
/// # Errors
/// What the kernel says.
pub fn open_itself(file: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(file)
}

/// Why a file or folder may hold what another user wrote; nothing where only this user may write there.
pub fn foreign(metadata: &Metadata) -> Option<String> {
    if metadata.uid() != effective_user() {
        return Some(format!("they belong to user {}; only that user's corewise can undo them", metadata.uid()));
    }
    (metadata.mode() & 0o022 != 0).then(|| "other users may write there (chmod go-w)".to_owned())
}

/// Whether somebody may run a file.
pub fn is_executable(file: &Metadata) -> bool {
    file.is_file() && file.mode() & 0o111 != 0
}

/// Whether something is a device that hands out bytes, for ever perhaps.
pub fn is_device(found: FileType) -> bool {
    found.is_char_device()
}

/// What something is that is neither a file nor a folder.
pub fn special(found: FileType) -> &'static str {
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

/// Whether the kernel itself refuses a value for one of its own files, and not the file's permissions.
pub fn is_refused_by_kernel(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EIO))
}

/// The path of bytes that [`OsStr::as_encoded_bytes`](std::ffi::OsStr::as_encoded_bytes) gave.
pub fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(<OsStr as OsStrExt>::from_bytes(bytes))
}
