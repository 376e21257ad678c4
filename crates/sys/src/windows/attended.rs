//! The command that this program attends, with its job.

use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::handle::Handle;
use super::job::Job;

static ATTENDED: Mutex<Option<(Child, Job)>> = Mutex::new(None);

/// Returns the command, if one was started and has not ended.
pub fn attended() -> MutexGuard<'static, Option<(Child, Job)>> {
    ATTENDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for its end; returns false if there is none, or it is still running.
pub fn has_ended(wait: Duration) -> bool {
    let attended = attended();
    let Some((child, _)) = &*attended else { return false };
    Handle::of(child).has_ended(wait)
}
