//! Lock of measurements: two at a time would measure each other.

use corewise_sys::lock::{self, FileLock, LockAttempt};
use corewise_sys::process::{is_descendant_of, others_called};

use super::failure::CommandFailure;
use super::output::print_message;
use super::settings::ProgramSettings;

/// File name of the lock in the user's state folder.
const NAME: &str = "measuring.lock";

/// Takes the lock of this user's measurements on this machine. Those of other users are reported, but do not prevent measuring.
/// Returns `None` if there is no place for a lock, or if this process is part of the measurement that holds it.
///
/// # Errors
/// If another process of this user measures.
pub fn take_lock(settings: &ProgramSettings) -> Result<Option<FileLock>, CommandFailure> {
    let others = if settings.has_own_locks { Vec::new() } else { others_called("corewise") };
    let others: Vec<String> = others.into_iter().map(|(process, user)| format!("{process} (user {user})")).collect();
    if !others.is_empty() {
        print_message(&format!(
            "note: other users run corewise, too: process {}. Two measurements disturb each other.",
            others.join(", ")
        ));
    }
    match settings.locks.as_deref().map(|folder| lock::take_lock(folder, NAME)) {
        Some(Ok(LockAttempt::Ours(lock))) => Ok(Some(lock)),
        Some(Ok(LockAttempt::Held(process))) if !settings.anyway && !process.is_some_and(is_descendant_of) => {
            let who = process.map_or_else(String::new, |process| format!(" (process {process})"));
            Err(CommandFailure::unavailable_error(format!("another corewise of yours is measuring{who}")).with_hint(
                "Two measurements would disturb each other: wait until it has ended, or measure anyway with --anyway.",
            ))
        }
        _ => Ok(None),
    }
}
