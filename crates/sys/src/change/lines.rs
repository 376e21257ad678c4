//! The lines of a journal: one JSON value each, so that a crash can spoil the last one only.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::undo::Change;
use crate::os::process::{self, Process};

/// The version of the lines that this corewise writes and reads.
const VERSION: u32 = 1;

/// The first line of a journal: whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the lines.
    pub version: u32,
    /// The version of corewise.
    pub corewise: String,
    /// The boot of the machine; no change outlives it.
    pub boot: String,
    /// The machine's name among those that share the folder.
    pub host: String,
    /// The corewise process.
    pub process: Process,
    /// The namespace of its number.
    pub number_space: String,
    /// When it made its first change, in milliseconds since 1970.
    pub started_unix_ms: i64,
}

/// A line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Line {
    /// Whose journal it is.
    Journal(Header),
    /// A change is about to be made.
    Begun {
        /// Its number in this journal, from 1.
        entry: u32,
        /// The change.
        change: Change,
    },
    /// A change was made.
    Made {
        /// The number of the change.
        entry: u32,
        /// What is there now, in the kernel's words.
        became: Option<String>,
    },
    /// Nothing remains to be undone of a change.
    Settled {
        /// The number of the change.
        entry: u32,
    },
    /// All changes are made, and meant to stay when the process ends.
    Kept {
        /// The command that made them, as a user types it: "corewise irq".
        by: String,
    },
}

impl Header {
    /// The header of the journal of the process that calls.
    pub(super) fn of_this_process() -> io::Result<Self> {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            version: VERSION,
            corewise: env!("CARGO_PKG_VERSION").to_owned(),
            boot: process::boot_id()?,
            host: process::host_name(),
            process: Process::this()?,
            number_space: process::number_space(),
            started_unix_ms: i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX),
        })
    }

    /// Whether this corewise knows what the lines mean.
    pub(super) fn is_readable(&self) -> bool {
        self.version == VERSION
    }
}
