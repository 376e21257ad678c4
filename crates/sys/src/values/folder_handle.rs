//! Reasons why a folder is not used, and the kernel's own file systems.

use std::fmt::{self, Display, Formatter};
use std::fs::Metadata;
use std::io;

/// Reason why a folder is not used.
#[derive(Debug)]
pub enum FolderError {
    /// Another user may have written there, or may replace it; names the folder and the user.
    Foreign(String),
    /// The system's error.
    System(io::Error),
}

impl From<io::Error> for FolderError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// A file system of the kernel's own, in which users cannot make files of arbitrary names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelFiles {
    /// procfs.
    Processes,
    /// Control groups of version 2.
    Groups,
}

impl Display for FolderError {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign(why) => to.write_str(why),
            Self::System(error) => error.fmt(to),
        }
    }
}

/// The users that may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSharing {
    /// This user alone.
    Private,
    /// The users that the process's umask allows.
    Usual,
}

/// Options for reaching the folder of a file.
#[derive(Clone, Copy, Debug)]
pub struct ReachOptions {
    /// Makes missing folders.
    pub make: Option<FileSharing>,
    /// Follows a link at the end of the path, too.
    pub follows_last: bool,
}

/// The file system of a file and its number there: no other file has both while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// The file system.
    pub volume: u64,
    /// The number.
    pub number: u64,
}

/// A file, folder or link as its folder has it.
#[derive(Clone, Debug)]
pub struct FoundFile {
    /// Its identity.
    pub identity: FileIdentity,
    /// Its kind and size.
    pub metadata: Metadata,
    /// The reason why others than this user and root may write it.
    pub writers: Option<String>,
}
