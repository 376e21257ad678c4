//! Values and pure functions of corewise: no input or output, no clock, no thread, no operating system.
//!
//! Readers (`corewise-sys`) fill [`facts::MachineFacts`], which [`machine::Machine`] interprets. Probes
//! (`corewise-lab`) fill a [`survey::Survey`], from which [`survey::conclude`] draws conclusions. The same input always
//! gives the same output.
#![forbid(unsafe_code)]

pub mod article;
pub mod artifact;
pub mod attribution;
pub mod beside;
pub mod clock;
pub mod compare;
pub mod credentials;
pub mod device_findings;
pub mod digest;
pub mod experiment_record;
pub mod finding;
pub mod fleet;
pub mod forecast;
pub mod interrupt_findings;
pub mod keep;
pub mod links;
pub mod memory;
pub mod metric_line;
pub mod sample;
pub mod simulate;
pub mod stall;
pub mod suite;
pub mod survey;
pub mod talk;
pub mod timings;
pub mod trend;
pub mod trial;
pub mod watch;
pub mod worth;

pub use artifact::Artifact;
pub use survey::Survey;
