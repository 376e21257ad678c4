//! Built-in workloads: programs worth placing, each of which checks its own result, and examples of programs that place their own threads.
#![forbid(unsafe_code)]

pub mod amount;
pub mod crew;
pub mod euler;
pub mod geometry;
pub mod image;
pub mod particles;
pub mod picture;
pub mod pingpong;

pub mod pipeline;
pub mod raymesh;
pub mod render;
pub mod report;
pub mod rounds;
pub mod settings;
pub mod tail;

pub use report::{WorkloadLimit, WorkloadReport};
pub use settings::{WorkloadHost, WorkloadSettings, WorkloadSize};

/// Reason why a workload has no result.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The result is wrong, because of a defect of the program or of the machine.
    #[error("the result is wrong: {0}")]
    Wrong(String),
    /// An input cannot be used.
    #[error("{what}: {why}")]
    Input {
        /// A file, or an option.
        what: String,
        /// The mistake.
        why: String,
    },
    /// The operating system refused something.
    #[error("{what}: {error}")]
    System {
        /// The action that failed.
        what: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// It was ended from outside.
    #[error("it was stopped before its end")]
    Stopped,
}

impl WorkError {
    /// Converts an I/O error, for `map_err`; `what` is the action that failed.
    pub fn from_system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::System { what, error }
    }
}
