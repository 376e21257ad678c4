//! Measuring: sessions, their probes, and trials of programs. No terminal, no database.
#![forbid(unsafe_code)]

pub mod beside;
pub mod causes;
pub mod cpu_streams;
mod error;
pub mod experiment;
pub mod fleet;
pub mod kernel_events;
pub mod links;
pub mod memory;
pub mod numbers;
pub mod placement;
pub mod probe;
mod script;
pub mod session;
pub mod suite;
pub mod survey;
pub mod talk;
pub mod watch;

use corewise_machine::Machine;
use corewise_sys::Root;

pub use error::LabError;

/// Reads the machine that this process runs on.
///
/// # Errors
/// [`LabError::Unreadable`] if neither /sys nor /proc can be read.
pub fn this_machine() -> Result<Machine, LabError> {
    Ok(corewise_sys::topology::read_machine(&Root::this_machine())?)
}
