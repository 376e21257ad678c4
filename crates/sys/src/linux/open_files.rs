//! Limit of open files of this process: each tracepoint of each cpu is one.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The limit that this process was started with.
#[derive(Clone, Copy)]
pub struct OpenFiles(libc::rlimit);

impl std::fmt::Debug for OpenFiles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("OpenFiles").field(&self.0.rlim_cur).finish()
    }
}

impl OpenFiles {
    /// Raises the soft limit to the hard one, getrlimit(2), and returns the old one. If raising fails the limit stays as it is.
    ///
    /// # Errors
    /// The kernel's error; none is known.
    pub fn raise_limit() -> io::Result<Self> {
        // SAFETY: an all-zero limit is a valid one, and the kernel fills it.
        let before = unsafe {
            let mut limit: libc::rlimit = std::mem::zeroed();
            if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
                return Err(io::Error::last_os_error());
            }
            limit
        };
        set_limit(libc::rlimit { rlim_cur: before.rlim_max, ..before });
        Ok(Self(before))
    }

    /// Restores the original limit for a command: programs that use select(2) rely on a low one.
    pub fn give_back_to(self, command: &mut Command) {
        let give_back = move || {
            set_limit(self.0);
            Ok(())
        };
        // SAFETY: setrlimit(2) is a bare system call, which may be made between fork(2) and execve(2).
        unsafe { command.pre_exec(give_back) };
    }
}

/// Returns true if an error means that this process may open no more files.
pub fn are_too_many(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMFILE)
}

fn set_limit(limit: libc::rlimit) {
    // SAFETY: the kernel reads the limit, which outlives the call.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_finds_the_limit_that_was_there() {
        let limit = || {
            let output = Command::new("sh").args(["-c", "ulimit -Sn"]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let found = limit();
        let before = OpenFiles::raise_limit().unwrap();
        let mut command = Command::new("sh");
        before.give_back_to(&mut command);
        let output = command.args(["-c", "ulimit -Sn"]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), found);
        set_limit(before.0);
        assert_eq!(limit(), found);
    }
}
