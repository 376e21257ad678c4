//! What can go wrong with the operating system or with a recording of one.

use std::io;
use std::path::PathBuf;

use crate::values::cgroup::CgroupRefusal;

/// An error of this crate; it says what happened and where, the program adds what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SysError {
    /// A file could not be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write the recording: {source}")]
    Write {
        /// What the system said.
        source: io::Error,
    },
    /// A file or folder is there, but it is no recording of a machine.
    #[error("{} is not a recorded machine: {why}", path.display())]
    NotARecording {
        /// The file or folder.
        path: PathBuf,
        /// What it lacks.
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
        /// What does not fit.
        why: String,
    },
    /// A recording is larger than any machine's would be.
    #[error("reading {} was stopped: {what} exceeds {limit}", path.display())]
    TooLarge {
        /// The file or folder.
        path: PathBuf,
        /// What is too large: "its unpacked size in bytes".
        what: &'static str,
        /// The largest value that is accepted.
        limit: u64,
    },
    /// A recording cannot be made of this.
    #[error("{what} cannot be recorded: it may name hosts and devices")]
    NotRecordable {
        /// What it is.
        what: &'static str,
    },
    /// The journal of changes cannot be written, so the change was not made.
    #[error("cannot write the journal in {}, so nothing was changed: {source}", path.display())]
    Journal {
        /// The folder of journals, or the journal.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The folder of journals is not used: others may have written in it.
    #[error("the journals in {} are not used: {why}", path.display())]
    JournalRefused {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A change to the machine could not be made; what was made of it has been undone.
    #[error("{what}: not possible: {source}")]
    Change {
        /// The change.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A command cannot be held by a control group here.
    #[error("{0}")]
    Cgroup(#[from] CgroupRefusal),
    /// Not a single online cpu could be found.
    #[error("no cpu found, neither in sys/devices/system/cpu nor in proc/cpuinfo")]
    NoCpu,
}
