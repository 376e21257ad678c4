//! Files of /proc, each read in one call; a process's files through a handle of its folder, so that a reused number is noticed.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// Size of a read. The kernel makes the text of such a file anew for each call; all of a process's files but its arguments are smaller.
const PIECE_BYTES: usize = 4 << 10;

/// Reads a whole file.
///
/// # Errors
/// The kernel's error.
pub fn read_file(path: &str) -> io::Result<Vec<u8>> {
    read_at_most(File::open(path)?, u64::MAX)
}

/// The folder of a process or of its threads. If the number is reused, reading through this handle is an error ([`is_gone`]).
#[derive(Debug)]
pub struct ProcFolder(OwnedFd);

impl ProcFolder {
    /// Opens a folder by its path.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open(path: &str) -> io::Result<Self> {
        open_file_at(libc::AT_FDCWD, path, libc::O_PATH | libc::O_DIRECTORY).map(Self)
    }

    /// Reads at most `most_bytes` of a file in it, by its relative path.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn read_file(&self, path: &str, most_bytes: u64) -> io::Result<Vec<u8>> {
        read_at_most(open_file_at(self.0.as_raw_fd(), path, libc::O_RDONLY)?.into(), most_bytes)
    }

    /// Returns the target of a link in it, as the kernel writes it, with its device and inode.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn follow_link(&self, name: &str) -> io::Result<(PathBuf, u64, u64)> {
        let name = CString::new(name)?;
        let mut path = [0_u8; libc::PATH_MAX as usize];
        // SAFETY: the kernel writes at most as many bytes as the path has room for, and the whole stat on success; the name ends with a
        // zero, and all outlive the calls.
        unsafe {
            let folder = self.0.as_raw_fd();
            let length = libc::readlinkat(folder, name.as_ptr(), path.as_mut_ptr().cast(), path.len());
            let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
            let mut found = MaybeUninit::<libc::stat64>::uninit();
            if libc::fstatat64(folder, name.as_ptr(), found.as_mut_ptr(), 0) != 0 {
                return Err(io::Error::last_os_error());
            }
            let found = found.assume_init();
            Ok((OsString::from_vec(path[..length].to_vec()).into(), found.st_dev, found.st_ino))
        }
    }
}

/// Returns true if an error means that the process is gone. ESRCH means that it ended between opening its file and reading it.
pub fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

fn open_file_at(folder: libc::c_int, path: &str, flags: libc::c_int) -> io::Result<OwnedFd> {
    let path = CString::new(path)?;
    // SAFETY: the path ends with a zero and outlives the call; a returned descriptor has no other owner.
    unsafe {
        match libc::openat(folder, path.as_ptr(), flags | libc::O_CLOEXEC) {
            ..0 => Err(io::Error::last_os_error()),
            file => Ok(OwnedFd::from_raw_fd(file)),
        }
    }
}

/// Reads to the end or the limit. A read that returns less than the buffer holds was the last.
fn read_at_most(mut file: File, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut piece = [0; PIECE_BYTES];
    let mut all = Vec::new();
    while (all.len() as u64) < most_bytes {
        let length = file.read(&mut piece)?;
        all.extend_from_slice(&piece[..length]);
        if length < piece.len() {
            break;
        }
    }
    all.truncate(usize::try_from(most_bytes).unwrap_or(usize::MAX));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn files_longer_than_a_piece_are_read_whole() {
        let words = "x".repeat(3 * PIECE_BYTES);
        let mut child = Command::new("sleep").arg("1000").env("LONG", &words).spawn().unwrap();
        let folder = ProcFolder::open(&format!("/proc/{}", child.id())).unwrap();
        // It has its own environment once it was executed.
        let long = std::iter::repeat_with(|| folder.read_file("environ", u64::MAX).unwrap())
            .find(|all| all.windows(5).any(|bytes| bytes == b"LONG="));
        assert!(String::from_utf8_lossy(&long.unwrap()).contains(&words));
        assert_eq!(folder.read_file("environ", 5_000).unwrap().len(), 5_000);
        assert_eq!(read_file(&format!("/proc/{}/comm", child.id())).unwrap(), b"sleep\n");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_gone(&folder.read_file("stat", u64::MAX).unwrap_err()), "nor is it ever another's");
        assert!(is_gone(&folder.follow_link("exe").unwrap_err()));
    }
}
