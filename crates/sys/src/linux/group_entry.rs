//! Making a command enter a control group before its first instruction.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Makes a command write itself into a group's `cgroup.procs`, opened for writing, before its first instruction.
///
/// # Errors
/// If no file descriptor is left.
pub fn enter_first(command: &mut Command, entrance: File) -> io::Result<GroupEntry> {
    let (refused, told) = UnixDatagram::pair()?;
    refused.set_nonblocking(true)?;
    let go_in = move || {
        enter_group(entrance.as_fd()).inspect_err(|error| {
            // If even this fails, the error looks like one of the command.
            let _ = told.send(&error.raw_os_error().unwrap_or(0).to_ne_bytes());
        })
    };
    // SAFETY: between fork and exec the closure makes a write(2) and at most one send(2), to files that it owns; it
    // allocates and locks nothing.
    unsafe { command.pre_exec(go_in) };
    Ok(GroupEntry(refused))
}

/// Result of making a command enter a group.
#[derive(Debug)]
pub struct GroupEntry(UnixDatagram);

impl GroupEntry {
    /// Returns why a command that did not start could not enter; `None` if it failed for another reason.
    pub fn entry_refusal(&self) -> Option<io::Error> {
        let mut code = [0; 4];
        (self.0.recv(&mut code).ok()? == code.len()).then(|| io::Error::from_raw_os_error(i32::from_ne_bytes(code)))
    }
}

/// Moves the calling process into the group of this `cgroup.procs`; safe between fork and exec.
fn enter_group(entrance: BorrowedFd<'_>) -> io::Result<()> {
    // "0" means the process that writes.
    let zero = b"0";
    // SAFETY: the kernel reads one byte from a constant.
    match unsafe { libc::write(entrance.as_raw_fd(), zero.as_ptr().cast(), zero.len()) } {
        1 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
