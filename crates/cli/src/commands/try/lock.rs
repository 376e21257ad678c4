//! One experiment at a time: two would measure each other.

use corewise_sys::lock::{self, Lock};

use crate::shell::failure::Failure;

/// Takes the lock, or says that another process has it; absent where the system has no such lock.
pub fn take(name: &str) -> Result<Option<Lock>, Failure> {
    match lock::take(name) {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(Failure::unavailable("another corewise is running an experiment on this machine").next(
            "Two experiments would disturb each other: wait until it has ended (find it with pgrep -a corewise).",
        )),
        Err(_) => Ok(None),
    }
}
