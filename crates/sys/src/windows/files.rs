//! Whose files are, who may use them, and what is no file.
//!
//! A file of Windows has the access list of its folder: below a user's profile, where corewise keeps what is its own, that lets in this user,
//! administrators and the system. Access lists themselves are not read yet, so that a file elsewhere counts as one that others may write.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_OPEN_REPARSE_POINT;

use super::missing::answers;

pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

pub fn create_new_private(file: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(file)
}

answers! {
    fn make_private(&Path) -> io::Result<()> = Ok(());
    fn make_readable(&File) -> io::Result<()> = Ok(());
    fn is_of_this_user(&Path) -> bool = true;
    fn writers(&Metadata) -> Option<String> = Some("has an owner who cannot be determined on this system yet".to_owned());
}

pub fn home_of_this_user() -> Option<PathBuf> {
    std::env::var_os("USERPROFILE").map(PathBuf::from).filter(|home| home.is_absolute())
}

pub fn usual_folder() -> Option<PathBuf> {
    std::env::var_os("LOCALAPPDATA").map(PathBuf::from).filter(|folder| folder.is_absolute())
}

pub fn open_itself(file: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(file)
}

pub fn open_to_read(file: &Path, follow: bool) -> io::Result<File> {
    let flags = if follow { 0 } else { FILE_FLAG_OPEN_REPARSE_POINT };
    OpenOptions::new().read(true).custom_flags(flags).open(file)
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
