//! What a service reports to its service manager: not written yet.

use std::ffi::OsStr;
use std::io;

/// Not available here.
///
/// # Errors
/// Always.
pub fn notify(_: &OsStr, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not here.
pub fn logs_to_journal() -> bool {
    false
}
