//! Ownership and permissions of files, and special files.

use std::fs::{File, FileType, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::os::windows::io::AsRawHandle as _;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Foundation::{ERROR_IO_PENDING, ERROR_LOCK_VIOLATION};
use windows_sys::Win32::Security::{DACL_SECURITY_INFORMATION, GetKernelObjectSecurity, OWNER_SECURITY_INFORMATION};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_LIST_DIRECTORY,
    FILE_READ_ATTRIBUTES, FILE_SHARE_READ, FILE_SHARE_WRITE, GetFileInformationByHandle, LOCKFILE_EXCLUSIVE_LOCK,
    LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, READ_CONTROL, UnlockFileEx,
};
use windows_sys::Win32::System::IO::OVERLAPPED;

use super::handle::check_result;
use super::missing::answers;
use super::users;
use crate::access_list::{self, ForeignWriter};
use crate::values::folder_handle::{FileIdentity, FoundFile};

/// The largest access list is 64 KiB; an owner comes with it.
const LARGEST_DESCRIPTOR_BYTES: usize = (64 << 10) + 256;
/// Offset of the locked byte, far behind the end of every file: a lock of Windows also prevents reading.
const LOCKED_BYTE: u64 = 1 << 62;

pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

answers! {
    fn make_private(&Path) -> io::Result<()> = Ok(());
    fn make_readable(&File) -> io::Result<()> = Ok(());
    fn is_of_this_user(&Path) -> bool = true;
}

/// Returns the accounts besides this user, administrators and the system that may change an open file or folder.
pub fn writers_of(file: &File) -> io::Result<Option<String>> {
    others_with(file, access_list::WRITE)
}

/// Returns the identity of an open file: its volume, and its number there.
pub fn identity_of(file: &File) -> io::Result<FileIdentity> {
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the kernel fills the structure.
    check_result(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut found) })?;
    let number = u64::from(found.nFileIndexHigh) << 32 | u64::from(found.nFileIndexLow);
    Ok(FileIdentity { volume: found.dwVolumeSerialNumber.into(), number })
}

/// Returns the identity of an open file, its kind, and the other users that may write it.
pub fn look_at(file: &File) -> io::Result<FoundFile> {
    Ok(FoundFile { identity: identity_of(file)?, metadata: file.metadata()?, writers: writers_of(file)? })
}

/// Returns the accounts besides this user, administrators and the system with one of `rights` to an open file or folder.
pub(super) fn others_with(file: &File, rights: u32) -> io::Result<Option<String>> {
    let mut descriptor = vec![0_u8; LARGEST_DESCRIPTOR_BYTES];
    let mut length = 0;
    // SAFETY: the kernel writes at most as many bytes as the buffer has.
    check_result(unsafe {
        GetKernelObjectSecurity(
            file.as_raw_handle(),
            OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
            descriptor.as_mut_ptr().cast(),
            descriptor.len() as u32,
            &raw mut length,
        )
    })?;
    descriptor.truncate(length as usize);
    Ok(access_list::foreign_writer(&descriptor, users::own_user()?, rights).map(|foreign| match foreign {
        ForeignWriter::BelongsTo(user) => format!("belongs to {}", users::account_name(&user)),
        ForeignWriter::IsOpen => "may be changed by everybody".to_owned(),
        ForeignWriter::Writable(user) => format!("may be changed by {}", users::account_name(&user)),
        ForeignWriter::Unreadable => "has an access list that corewise does not understand".to_owned(),
    }))
}

/// Opens a file or folder to read its owner and permissions.
pub(super) fn opened_to_ask(path: &Path, follow: bool) -> io::Result<File> {
    let link = if follow { 0 } else { FILE_FLAG_OPEN_REPARSE_POINT };
    OpenOptions::new()
        .access_mode(READ_CONTROL | FILE_READ_ATTRIBUTES)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | link)
        .open(path)
}

/// Opens a folder that is no link. While it is open, neither it nor a folder above it can be deleted or renamed: others may only read and
/// write in it. The kernel enforces this only for a handle that may list the folder.
pub(super) fn held_folder(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .access_mode(READ_CONTROL | FILE_READ_ATTRIBUTES | FILE_LIST_DIRECTORY)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)
}

/// Returns the command that makes a file or folder this user's alone.
pub fn how_to_make_private(path: &Path) -> String {
    format!("icacls \"{}\" /inheritance:r /grant:r \"%USERNAME%:F\"", path.display())
}

fn locked_place() -> OVERLAPPED {
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.Offset = LOCKED_BYTE as u32;
    place.Anonymous.Anonymous.OffsetHigh = (LOCKED_BYTE >> 32) as u32;
    place
}

pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    let (how, mut place) = (LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, locked_place());
    // SAFETY: the structure outlives the call, which does not wait.
    let locked = check_result(unsafe { LockFileEx(file.as_raw_handle(), how, 0, 1, 0, &raw mut place) });
    let is_taken = |code: i32| [ERROR_LOCK_VIOLATION, ERROR_IO_PENDING].contains(&(code as u32));
    locked.map_err(|error| match error.raw_os_error() {
        Some(code) if is_taken(code) => TryLockError::WouldBlock,
        _ => TryLockError::Error(error),
    })
}

pub fn unlock_file(file: &File) -> io::Result<()> {
    let mut place = locked_place();
    // SAFETY: the structure outlives the call.
    check_result(unsafe { UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &raw mut place) })
}

/// Returns `None`: the home of another user is not looked up.
pub fn home_of_user(_: u32) -> Option<PathBuf> {
    None
}

pub fn home_of_this_user() -> Option<PathBuf> {
    std::env::var_os("USERPROFILE").map(PathBuf::from).filter(|home| home.is_absolute())
}

pub fn usual_folder() -> Option<PathBuf> {
    std::env::var_os("LOCALAPPDATA").map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// Rules of the system have no folder here yet.
pub fn system_settings() -> Option<PathBuf> {
    None
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
    fn special_kind(FileType) -> &'static str = "it is neither a file nor a folder";
    fn is_refused_by_kernel(&io::Error) -> bool = false;
}

/// Returns the path of bytes from [`OsStr::as_encoded_bytes`](std::ffi::OsStr::as_encoded_bytes); bytes that are not UTF-8 are lost.
pub fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
