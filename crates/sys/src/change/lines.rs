//! The lines of a journal: one JSON value each, so that a crash can spoil the last one only.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::undo::Change;
use crate::os::process::{self, ProcessIdentity};

/// Version of the line format that this corewise writes and reads.
const VERSION: u32 = 1;

/// The first line of a journal: the process that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// Version of the line format.
    pub version: u32,
    /// The version of corewise.
    pub corewise: String,
    /// The boot of the machine; no change outlives it.
    pub boot: String,
    /// The machine's name, to distinguish machines that share the folder.
    pub host: String,
    /// The corewise process.
    pub process: ProcessIdentity,
    /// The process namespace of its number.
    pub number_space: String,
    /// Time of its first change, in milliseconds since 1970.
    pub started_unix_ms: i64,
}

/// A line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum JournalLine {
    /// The header.
    Journal(JournalHeader),
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
        /// The value afterwards, as the kernel prints it.
        became: Option<String>,
    },
    /// Nothing remains to be undone of a change.
    Settled {
        /// The number of the change.
        entry: u32,
    },
    /// All changes are made, and stay when the process ends.
    Kept {
        /// The command that made them, as a user types it: "corewise irq".
        by: String,
    },
}

impl JournalHeader {
    /// Returns the header for the journal of the calling process.
    pub(super) fn of_this_process() -> io::Result<Self> {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            version: VERSION,
            corewise: env!("CARGO_PKG_VERSION").to_owned(),
            boot: process::boot_id()?,
            host: process::host_name(),
            process: ProcessIdentity::this_process()?,
            number_space: process::number_space(),
            started_unix_ms: i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX),
        })
    }

    /// Returns true if the same process wrote both headers, on the same machine in the same boot.
    pub(super) fn is_of_process(&self, other: &Self) -> bool {
        let identity = |header: &Self| (header.boot.clone(), header.host.clone(), header.number_space.clone());
        self.process == other.process && identity(self) == identity(other)
    }

    /// Returns true if this corewise can read the lines.
    pub(super) fn is_readable(&self) -> bool {
        self.version == VERSION
    }
}
