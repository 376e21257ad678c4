//! The measuring of corewise: sessions, the probes they run, and trials of programs. No terminal, no database.
#![forbid(unsafe_code)]

pub mod beside;
pub mod causes;
mod error;
pub mod experiment;
pub mod kernel_events;
pub mod links;
pub mod memory;
pub mod placing;
pub mod probe;
mod script;
pub mod session;
pub mod streams;
pub mod suite;
pub mod survey;
pub mod watch;

pub use error::LabError;
