//! Handles of processes and threads. A number may be given to another task once its own has ended; a handle never is: pidfd_open(2).

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// `PIDFD_THREAD` (include/uapi/linux/pidfd.h), since Linux 6.9: a handle of any thread.
const OF_THREAD: libc::c_int = libc::O_EXCL;

/// A handle of the task that had a number when it was opened.
#[derive(Debug)]
pub struct TaskHandle(OwnedFd);

impl TaskHandle {
    /// Opens the handle of a process.
    ///
    /// # Errors
    /// ESRCH if there is none; ENOSYS before Linux 5.3, or another error if a sandbox forbids the call.
    pub fn open_process(id: u32) -> io::Result<Self> {
        Self::open(id, 0)
    }

    /// Opens the handle of a thread; before Linux 6.9, only of the first thread of a process.
    ///
    /// # Errors
    /// As [`Self::open_process`], and EINVAL or ENOENT for another thread.
    pub fn open_thread(id: u32) -> io::Result<Self> {
        match Self::open(id, OF_THREAD) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Self::open(id, 0),
            other => other,
        }
    }

    fn open(id: u32, flags: libc::c_int) -> io::Result<Self> {
        // SAFETY: a call without memory; the result is a new file, or -1.
        unsafe {
            match libc::syscall(libc::SYS_pidfd_open, id, flags) {
                file if file >= 0 => Ok(Self(OwnedFd::from_raw_fd(file as i32))),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// Returns true if the task has ended. As long as it has not, its number means no other task.
    pub fn has_ended(&self) -> bool {
        let mut file = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the kernel reads and writes one pollfd, which outlives the call.
        unsafe { libc::poll(&raw mut file, 1, 0) != 0 }
    }

    /// Sends a signal to the process: pidfd_send_signal(2).
    pub fn send_signal(&self, signal: i32) {
        let nothing = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: the handle is open; without a siginfo there is no memory to read.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), signal, nothing, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_process_and_of_a_thread_is_seen() {
        if TaskHandle::open_process(std::process::id()).is_err() {
            return println!("skipped: no handles here");
        }
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let handle = TaskHandle::open_process(child.id()).unwrap();
        assert!(!handle.has_ended());
        child.kill().unwrap();
        while !handle.has_ended() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        let gone = TaskHandle::open_process(child.id()).unwrap_err();
        assert_eq!(gone.raw_os_error(), Some(libc::ESRCH), "nobody has had its number since");
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let handle = TaskHandle::open_thread(super::super::thread::own_number());
            let _ = receiver.recv();
            handle
        });
        drop(sender);
        let Ok(handle) = thread.join().unwrap() else { return println!("skipped: threads have no handles here") };
        while !handle.has_ended() {
            std::thread::yield_now();
        }
    }
}
