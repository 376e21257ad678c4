//! Reports of unavailable functions.

use std::io;

use corewise_machine::Gap;

const WHY: &str = "not available on this system yet";

/// A value that cannot exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeverValue {}

/// Defines public functions with constant answers, whatever their arguments. To implement one, remove its line and write the function.
macro_rules! answers {
    ($(fn $name:ident($($kind:ty),*) -> $answer:ty = $value:expr;)*) => {
        $(pub fn $name($(_: $kind),*) -> $answer {
            $value
        })*
    };
}

pub(super) use answers;

/// Returns the error of an unavailable function.
pub fn unavailable_error() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, WHY)
}

/// Returns [`unavailable_error`] as a result.
pub fn missing_result<T>() -> io::Result<T> {
    Err(unavailable_error())
}

/// Returns the gap of an unavailable fact.
pub fn missing_gap<T>(what: &str) -> Result<T, Gap> {
    Err(Gap::new(what, WHY))
}
