//! The command that this program attends, with its job.

use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::handle::Handle;
use super::job::Job;

static ATTENDED: Mutex<Option<(Child, Job)>> = Mutex::new(None);

/// The command, where one was started and has not ended.
pub fn attended() -> MutexGuard<'static, Option<(Child, Job)>> {
    ATTENDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for its end; false where there is none, or it goes on.
pub fn has_ended(wait: Duration) -> bool {
    let attended = attended();
    let Some((child, _)) = &*attended else { return false };
    Handle::of(child).has_ended(wait)
}
