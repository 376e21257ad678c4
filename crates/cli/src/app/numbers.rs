//! Checks that process numbers have the user's meaning here.

use corewise_sys::process;

use super::failure::Failure;

/// Makes sure that the named processes are the ones that are placed or watched.
///
/// # Errors
/// If /proc belongs to another pid namespace.
pub fn check_numbers() -> Result<(), Failure> {
    if process::reads_own_numbers() {
        return Ok(());
    }
    let what = "/proc belongs to another namespace of processes: its numbers mean other processes here";
    Err(Failure::unavailable(what).next("Mount it anew in this namespace, or run corewise where /proc was mounted."))
}
