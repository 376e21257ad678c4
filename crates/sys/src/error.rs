//! Errors of the operating system, or of a recording of one.

use std::io;
use std::path::PathBuf;

use crate::values::cgroup::CgroupRefusal;

/// An error of this crate; it says what happened and where. The program adds what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SysError {
    /// A file could not be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write the recording: {source}")]
    Write {
        /// The system's error.
        source: io::Error,
    },
    /// A file or folder is there, but it is no recording of a machine.
    #[error("{} is not a recorded machine: {why}", path.display())]
    NotARecording {
        /// The file or folder.
        path: PathBuf,
        /// The missing part.
        why: String,
    },
    /// A folder holds more than one recording.
    #[error("several machines are in {}: {names}; name one of these folders", path.display())]
    SeveralRecordings {
        /// The folder.
        path: PathBuf,
        /// The folders of the machines below it.
        names: String,
    },
    /// An archive or export is cut off or damaged.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The defect.
        why: String,
    },
    /// A recording is larger than any machine's would be.
    #[error("reading {} was stopped: {what} exceeds {limit}", path.display())]
    TooLarge {
        /// The file or folder.
        path: PathBuf,
        /// The quantity: "its unpacked size in bytes".
        what: &'static str,
        /// The largest value that is accepted.
        limit: u64,
    },
    /// A recording cannot be made of this.
    #[error("{what} cannot be recorded: it may name hosts and devices")]
    NotRecordable {
        /// The source, such as "an hwloc XML export".
        what: &'static str,
    },
    /// The journal of changes cannot be written, so the change was not made.
    #[error("cannot write the journal in {}, so nothing was changed: {source}", path.display())]
    Journal {
        /// The folder of journals, or the journal.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder of journals is not used: others may have written in it.
    #[error("the journals in {} are not used: {why}", path.display())]
    JournalRefused {
        /// The folder.
        path: PathBuf,
        /// The defect of the folder.
        why: String,
    },
    /// A change to the machine could not be made; any part of it has been undone.
    #[error("{what}: not possible: {source}")]
    Change {
        /// The change.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// A control group cannot hold a command here.
    #[error("{0}")]
    Cgroup(#[from] CgroupRefusal),
    /// No online cpu was found.
    #[error("no cpu found, neither in sys/devices/system/cpu nor in proc/cpuinfo")]
    NoCpu,
}
