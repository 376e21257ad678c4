//! A machine and where programs may run on it, as values and pure functions: no input or output, no clock, no thread, no operating system.
//!
//! Readers (`corewise-sys`) fill [`facts::MachineFacts`]; [`assemble`] builds a [`Machine`] from it; a [`placement`] says which of its cpus
//! a program gets. The same input always gives the same output.
//!
//! Features: `machine-files` reads described machines, `notations` writes and reads other programs' notations of cpu sets, `planning`
//! proposes candidates, `holding` keeps other programs' threads in place, `programs` has events, counts and interrupts, `json` derives forms
//! in JSON with their schemas. A program that places its own threads needs none of them.
#![forbid(unsafe_code)]

pub mod assemble;
#[cfg(feature = "programs")]
pub mod counts;
pub mod cpu_set;
pub mod device;
#[cfg(feature = "programs")]
pub mod event;
pub mod evidence;
pub mod facts;
pub mod gap;
#[cfg(feature = "machine-files")]
pub mod generate;
pub mod identity;
#[cfg(feature = "programs")]
pub mod interrupt;
pub mod level;
pub mod machine;
#[cfg(feature = "machine-files")]
pub mod machine_file;
pub mod placement;
pub mod random;
#[cfg(feature = "programs")]
pub mod ring;
pub mod suggested_command;
pub mod thread;
pub mod vocabulary;
pub mod worth;

pub use cpu_set::CpuSet;
pub use gap::{Gap, GapSubject};
pub use level::Level;
pub use machine::Machine;
pub use suggested_command::SuggestedCommand;
