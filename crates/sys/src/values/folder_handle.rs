//! Why a folder is not used, and which file systems are the kernel's own.

use std::io;

/// Why a folder is not used.
#[derive(Debug)]
pub enum FolderError {
    /// Another user may have written there, or may put something else in its place: which folder, and whose it is.
    Foreign(String),
    /// What the system said.
    System(io::Error),
}

impl From<io::Error> for FolderError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// A file system of the kernel's own, in which no user can make files of any name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelFiles {
    /// procfs.
    Processes,
    /// Control groups of version 2.
    Groups,
}
