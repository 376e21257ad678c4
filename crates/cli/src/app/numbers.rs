//! Checks that process numbers have the user's meaning here.

use corewise_sys::process;

use super::failure::CommandFailure;

/// Makes sure that the named processes are the ones that are placed or watched.
///
/// # Errors
/// If /proc belongs to another pid namespace.
pub fn check_numbers() -> Result<(), CommandFailure> {
    if process::reads_own_numbers() {
        return Ok(());
    }
    let what = "/proc belongs to another namespace of processes: its numbers mean other processes here";
    Err(CommandFailure::unavailable_error(what)
        .with_hint("Mount it anew in this namespace, or run corewise where /proc was mounted."))
}
