//! A terminal of a command's own: a pair of pseudoterminals, pty(7), of which this process reads one end.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// Size of the terminal: the usual one, since some programs divide by it.
static SIZE: libc::winsize = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

/// Opens a pair: the end to read the output from, and the terminal. What is written arrives as it is, and nothing is echoed.
///
/// # Errors
/// If this system has no pseudoterminals, or no more of them.
pub fn open_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the call takes no memory, and returns a new file or an error.
    let reader = owned_file(unsafe { libc::posix_openpt(flags) })?;
    // SAFETY: calls without memory on an open file; the second returns a new file or an error.
    let terminal = owned_file(unsafe {
        if libc::unlockpt(reader.as_raw_fd()) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::ioctl(reader.as_raw_fd(), libc::TIOCGPTPEER, flags)
    })?;
    let mut settings = MaybeUninit::uninit();
    // SAFETY: the kernel fills the settings, which are read only if it did; the size outlives the call.
    let done = unsafe {
        libc::tcgetattr(terminal.as_raw_fd(), settings.as_mut_ptr()) == 0 && {
            let settings: &mut libc::termios = settings.assume_init_mut();
            settings.c_oflag &= !libc::OPOST;
            settings.c_lflag &= !libc::ECHO;
            libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, settings) == 0
                && libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &raw const SIZE) == 0
        }
    };
    if done { Ok((reader, terminal)) } else { Err(io::Error::last_os_error()) }
}

fn owned_file(number: i32) -> io::Result<OwnedFd> {
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned it, so nothing else owns it.
    Ok(unsafe { File::from_raw_fd(number) }.into())
}

/// Makes the calling process the leader of a session with its standard output as terminal. Safe to call between fork(2) and execve(2), by
/// a process that leads no group.
///
/// # Errors
/// If it leads a group, or its output is no terminal.
pub fn lead_session() -> io::Result<()> {
    // SAFETY: calls without memory.
    let done = unsafe { libc::setsid() >= 0 && libc::ioctl(libc::STDOUT_FILENO, libc::TIOCSCTTY, 0) == 0 };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}
