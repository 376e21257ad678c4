//! How what is missing is reported.

use std::io;

use corewise_model::Gap;

/// A value that cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Never {}

/// The error of what is not available.
pub fn missing<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "not available on this system yet"))
}

/// The gap of what is not available.
pub fn gap<T>(what: &str) -> Result<T, Gap> {
    Err(Gap::new(what, "not available on this system yet"))
}
