//! Standard input, output and error that were closed when this program was started, and are closed again for the program that replaces it.

use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// A bit for each of the files 0 to 2 that was closed. It is set by a constructor, as in C programs, since Rust opens /dev/null in their
/// place before `main`.
static WERE_CLOSED: AtomicU8 = AtomicU8::new(0);

#[used]
#[unsafe(link_section = ".init_array")]
static LOOK_UP: extern "C" fn() = {
    extern "C" fn look_up() {
        // SAFETY: a call without memory; it fails for a file that is not open.
        let is_closed = |file: i32| unsafe { libc::fcntl(file, libc::F_GETFD) } < 0;
        let bits = (0..3).filter(|file| is_closed(*file)).fold(0, |bits, file| bits | 1 << file);
        WERE_CLOSED.store(bits, Ordering::Relaxed);
    }
    look_up
};

/// Returns true if standard output was closed when this program was started, so that output there is lost.
pub fn output_was_closed() -> bool {
    WERE_CLOSED.load(Ordering::Relaxed) & (1 << libc::STDOUT_FILENO) != 0
}

/// Waits at most `patience` for input on the terminal that is standard input. Returns true if there is some; `None` if it is no terminal.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] if the terminal is gone; the kernel's error.
pub fn wait_for_input(patience: Duration) -> io::Result<Option<bool>> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    let mut file = libc::pollfd { fd: libc::STDIN_FILENO, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which lives until the call returns.
    match unsafe { libc::poll(&raw mut file, 1, milliseconds) } {
        -1 => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(Some(false)),
            error => Err(error),
        },
        _ if file.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0 => {
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has gone"))
        }
        count => Ok(Some(count > 0)),
    }
}

/// Marks them to be closed by execve(2). Safe to call between fork(2) and execve(2).
pub(super) fn close_those_that_were() {
    let bits = WERE_CLOSED.load(Ordering::Relaxed);
    for file in (0..3).filter(|file| bits & (1 << file) != 0) {
        // SAFETY: a call without memory.
        unsafe { libc::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}
