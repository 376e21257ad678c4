//! What a service manager is told of a service: not written yet.

use std::ffi::OsStr;
use std::io;

/// Not available here.
///
/// # Errors
/// Always.
pub fn notify(_: &OsStr, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
