//! How what is missing is reported.

use std::io;

use corewise_machine::Gap;

const WHY: &str = "not available on this system yet";

/// A value that cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Never {}

/// Public functions by what each answers, whatever it is given. To fill one, take its line out and write the function.
macro_rules! answers {
    ($(fn $name:ident($($kind:ty),*) -> $answer:ty = $value:expr;)*) => {
        $(pub fn $name($(_: $kind),*) -> $answer {
            $value
        })*
    };
}

pub(super) use answers;

/// The error of what is not available.
pub fn unavailable() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, WHY)
}

/// The same, instead of a result.
pub fn missing<T>() -> io::Result<T> {
    Err(unavailable())
}

/// The gap of what is not available.
pub fn gap<T>(what: &str) -> Result<T, Gap> {
    Err(Gap::new(what, WHY))
}
