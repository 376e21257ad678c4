//! Whether numbers of processes mean here what the user means by them.

use corewise_sys::process;

use super::failure::Failure;

/// What is placed or watched has to be what was named.
///
/// # Errors
/// Where /proc has the numbers of another namespace of processes.
pub fn check_numbers() -> Result<(), Failure> {
    if process::reads_own_numbers() {
        return Ok(());
    }
    let what = "/proc belongs to another namespace of processes: its numbers mean other processes here";
    Err(Failure::unavailable(what).next("Mount it anew in this namespace, or run corewise where /proc was mounted."))
}
