//! The measuring of corewise: probes, and the survey that runs them all. No terminal, no database.
#![forbid(unsafe_code)]

pub mod beside;
pub mod causes;
pub mod experiment;
pub mod links;
pub mod placing;
pub mod probe;
pub mod schedule;
pub mod streams;
pub mod survey;
pub mod watch;
