//! Whose files are, who may use them, and what is no file.

use std::fs::{File, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::missing::missing;

pub fn make_private_folder(_: &Path) -> io::Result<()> {
    missing()
}

pub fn create_private(_: &Path) -> io::Result<File> {
    missing()
}

pub fn open_itself(_: &Path) -> io::Result<File> {
    missing()
}

pub fn foreign(_: &Metadata) -> Option<String> {
    Some("whose they are cannot be seen on this system yet".to_owned())
}

pub fn is_executable(file: &Metadata) -> bool {
    file.is_file()
}

pub fn is_device(_: FileType) -> bool {
    false
}

pub fn special(_: FileType) -> &'static str {
    "it is neither a file nor a folder"
}

pub fn is_refused_by_kernel(_: &io::Error) -> bool {
    false
}

/// The path of bytes that [`OsStr::as_encoded_bytes`](std::ffi::OsStr::as_encoded_bytes) gave; what is not UTF-8 in them is lost.
pub fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
