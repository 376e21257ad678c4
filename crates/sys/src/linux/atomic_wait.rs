//! Sleeping until a word changes, and waking the sleepers, within one process: futex(2).

use std::io;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

pub use crate::values::thread::WaitEnd;

/// Sleeps while the word has the expected value, until [`wake_one`] is called, a signal comes, or the time is over. Check the word afterwards:
/// being woken does not mean that it changed.
///
/// # Errors
/// ENOSYS if futex(2) is refused.
pub fn wait_on_word(word: &AtomicU32, expected: u32, timeout: Duration) -> io::Result<WaitEnd> {
    let time = libc::timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel reads the word atomically and the time; both outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, &raw const time) };
    if result == 0 {
        return Ok(WaitEnd::Woken);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN) => Ok(WaitEnd::Changed),
        Some(libc::ETIMEDOUT) => Ok(WaitEnd::TimedOut),
        Some(libc::EINTR) => Ok(WaitEnd::Woken),
        _ => Err(error),
    }
}

/// Wakes one thread that sleeps in [`wait_on_word`] on this word. Returns true if there was one.
pub fn wake_one(word: &AtomicU32) -> bool {
    // SAFETY: the kernel uses the address as a name, and wakes at most one thread.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_word_that_differs_is_not_waited_for_and_one_that_stays_is_until_the_time_is_over() {
        let word = AtomicU32::new(3);
        assert_eq!(wait_on_word(&word, 4, Duration::from_secs(3600)).unwrap(), WaitEnd::Changed);
        assert_eq!(wait_on_word(&word, 3, Duration::from_millis(1)).unwrap(), WaitEnd::TimedOut);
        assert!(!wake_one(&word), "nobody sleeps");
    }

    #[test]
    fn a_sleeper_is_woken() {
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(Ordering::Acquire) == 0 {
                    assert_ne!(wait_on_word(&word, 0, Duration::from_secs(3600)).unwrap(), WaitEnd::TimedOut);
                }
            });
            // Until it sleeps there is nobody to wake.
            while !wake_one(&word) {
                std::thread::yield_now();
            }
            word.store(1, Ordering::Release);
            wake_one(&word);
        });
    }
}
