//! Checks that process numbers mean the same in /proc and in system calls.

use corewise_machine::Gap;
use corewise_sys::process::reads_own_numbers;

/// Makes sure that the named processes are the ones that are placed or watched.
///
/// # Errors
/// The gap that says so if /proc belongs to another namespace of processes.
pub fn check_numbers() -> Result<(), Gap> {
    if reads_own_numbers() {
        return Ok(());
    }
    let why = "/proc belongs to another namespace of processes: its numbers mean other processes here";
    Err(Gap::new("numbers of processes", why).cured_by("`mount -t proc proc /proc` in this namespace"))
}
