//! What the operating system tells and does for corewise. The only crate with `unsafe` and with the operating system's name.

pub mod clock;
pub mod linux;
pub mod work;
