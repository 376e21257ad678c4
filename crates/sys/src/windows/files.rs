//! Whose files are, who may use them, and what is no file.

use std::fs::{File, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::missing::{answers, missing};

answers! {
    fn make_private_folder(&Path) -> io::Result<()> = missing();
    fn create_new_private(&Path) -> io::Result<File> = missing();
    fn make_private(&Path) -> io::Result<()> = missing();
    fn is_of_this_user(&Path) -> bool = true;
    fn home_of_this_user() -> Option<PathBuf> = None;
    fn make_readable(&File) -> io::Result<()> = missing();
    fn open_itself(&Path) -> io::Result<File> = missing();
    fn writers(&Metadata) -> Option<String> = Some("has an owner who cannot be determined on this system yet".to_owned());
}

pub fn open_to_read(file: &Path, _: bool) -> io::Result<File> {
    File::open(file)
}

pub fn is_executable(file: &Metadata) -> bool {
    file.is_file()
}

answers! {
    fn is_device(FileType) -> bool = false;
    fn special(FileType) -> &'static str = "it is neither a file nor a folder";
    fn is_refused_by_kernel(&io::Error) -> bool = false;
}

/// The path of bytes that [`OsStr::as_encoded_bytes`](std::ffi::OsStr::as_encoded_bytes) gave; what is not UTF-8 in them is lost.
pub fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
