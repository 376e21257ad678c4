//! The command that this program attends, with its job.

use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::handle::KernelHandle;
use super::job::KernelJob;

static ATTENDED: Mutex<Option<(Child, KernelJob)>> = Mutex::new(None);

/// Returns the command, if one was started and has not ended.
pub fn attended_command() -> MutexGuard<'static, Option<(Child, KernelJob)>> {
    ATTENDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for its end; returns false if there is none, or it is still running.
pub fn has_ended(wait: Duration) -> bool {
    let attended = attended_command();
    let Some((child, _)) = &*attended else { return false };
    KernelHandle::of_child(child).has_ended(wait)
}
