//! Errors of the rig, or of a machine in it.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RigError {
    /// This host lacks a part of the rig; nothing can be booted.
    #[error("{what} is missing: {cure}")]
    Missing {
        /// The missing part: "the emulator qemu-system-x86_64".
        what: String,
        /// Advice for getting it.
        cure: String,
    },
    /// A file of the rig could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A program of the host could not be started, or failed.
    #[error("{program}: {why}")]
    Host {
        /// Its name.
        program: String,
        /// The error.
        why: String,
    },
    /// The emulator ended while the machine was needed.
    #[error("the machine ended ({status}) while {during}; its console ends with\n{console}")]
    Gone {
        /// Exit status of the emulator.
        status: ExitStatus,
        /// The operation in progress.
        during: String,
        /// The console's last lines.
        console: String,
    },
    /// The machine did not answer in time.
    #[error("no answer in {seconds} s while {during}; the console ends with\n{console}")]
    Silent {
        /// The time limit.
        seconds: u64,
        /// The operation in progress.
        during: String,
        /// The console's last lines.
        console: String,
    },
    /// The machine answered in an unknown form.
    #[error("not an answer while {during}: {line:?}")]
    Garbled {
        /// The operation in progress.
        during: String,
        /// The answer.
        line: String,
    },
    /// A condition was not met in time.
    #[error("waited for {what} without success: {last}")]
    InVain {
        /// The condition.
        what: String,
        /// Result of the last check.
        last: String,
    },
}

impl RigError {
    /// Creates an error about a file.
    pub(crate) fn file_error(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { path: path.into(), source }
    }
}
