//! What can go wrong with the rig, or with a machine in it.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RigError {
    /// Something that the rig is made of is not on this host; nothing can be booted.
    #[error("{what} is missing: {cure}")]
    Missing {
        /// What is missing: "the emulator qemu-system-x86_64".
        what: String,
        /// What would change that.
        cure: String,
    },
    /// A file of the rig could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program of the host could not be started, or failed.
    #[error("{program}: {why}")]
    Host {
        /// Its name.
        program: String,
        /// What went wrong.
        why: String,
    },
    /// The emulator ended while the machine was needed.
    #[error("the machine ended ({status}) while {during}; its console ends with\n{console}")]
    Gone {
        /// How the emulator ended.
        status: ExitStatus,
        /// What was going on.
        during: String,
        /// The console's last lines.
        console: String,
    },
    /// The machine did not do in time what it was asked to do.
    #[error("no answer in {seconds} s while {during}; the console ends with\n{console}")]
    Silent {
        /// How long was waited.
        seconds: u64,
        /// What was going on.
        during: String,
        /// The console's last lines.
        console: String,
    },
    /// The machine answered with something that is no answer.
    #[error("not an answer while {during}: {line:?}")]
    Garbled {
        /// What was going on.
        during: String,
        /// What it said instead.
        line: String,
    },
    /// A fact that was waited for did not come about.
    #[error("waited for {what} without success: {last}")]
    InVain {
        /// What was waited for.
        what: String,
        /// What the last look showed.
        last: String,
    },
}

impl RigError {
    /// An error about a file.
    pub(crate) fn file(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { path: path.into(), source }
    }
}
