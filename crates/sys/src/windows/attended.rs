//! The command that this program attends, with its job.

use std::os::windows::io::AsRawHandle as _;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windows_sys::Win32::System::Threading::WaitForSingleObject;

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
    let milliseconds = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX).min(u32::MAX - 1);
    // SAFETY: the handle is the child's, which is kept meanwhile.
    unsafe { WaitForSingleObject(child.as_raw_handle(), milliseconds) == 0 }
}
