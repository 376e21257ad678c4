//! Errors that end a fleet's run. What concerns one node is a problem of that node instead.

use std::io;
use std::path::PathBuf;

use corewise_sys::SysError;

/// Reason why a fleet cannot be visited.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A program of Slurm or ssh is not there.
    #[error("cannot start {program}: {source}")]
    NoProgram {
        /// The program.
        program: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A program of Slurm failed.
    #[error("{program}: {why}")]
    Program {
        /// The program.
        program: &'static str,
        /// Its own words.
        why: String,
    },
    /// There are no nodes.
    #[error("{0}")]
    NoNodes(String),
    /// A line of the hosts file cannot be read.
    #[error("line {line}: {why}")]
    HostsLine {
        /// Number of the line, from 1.
        line: usize,
        /// The defect.
        why: String,
    },
    /// The folder of results cannot be read or written.
    #[error("cannot use {}: {source}", path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("{0}")]
    Unreadable(#[from] SysError),
    /// The program cannot be copied to other machines.
    #[error("{} cannot be copied: {why}", path.display())]
    NotCopied {
        /// The program.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}
