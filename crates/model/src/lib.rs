//! Values and pure functions of corewise: no input or output, no clock, no thread, no operating system.
//!
//! Readers (`corewise-sys`) fill [`facts::MachineFacts`]; [`machine::Machine`] is what they mean; probes (`corewise-lab`)
//! fill a [`survey::Survey`]; [`survey::conclude`] says what it shows. The same input always gives the same output.
#![forbid(unsafe_code)]

pub mod article;
pub mod artifact;
pub mod assemble;
pub mod attribution;
pub mod beside;
pub mod clock;
pub mod compare;
pub mod conducted;
pub mod cpu_set;
pub mod device;
pub mod event;
pub mod experiment;
pub mod facts;
pub mod finding;
pub mod followed;
pub mod gap;
pub mod histogram;
pub mod interrupt;
pub mod keep;
pub mod level;
pub mod links;
pub mod machine;
pub mod machine_file;
pub mod memory;
pub mod metric_line;
pub mod period;
pub mod placement;
pub mod quantity;
pub mod sample;
pub mod simulate;
pub mod stall;
pub mod stats;
pub mod suggested_command;
pub mod suite;
pub mod survey;
pub mod trial;
pub mod vocabulary;
pub mod watch;
pub mod worth;

pub use artifact::Artifact;
pub use cpu_set::CpuSet;
pub use gap::Gap;
pub use level::Level;
pub use machine::Machine;
pub use suggested_command::SuggestedCommand;
pub use survey::Survey;
