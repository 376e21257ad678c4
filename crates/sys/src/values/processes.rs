//! Facts about any process: all that a rule may match.

use std::path::PathBuf;

use corewise_machine::CpuSet;

use super::process::ProcessIdentity;

/// A process as it was seen at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Its identity. Number and start time survive an exec; all other fields may change with one.
    pub process: ProcessIdentity,
    /// Number of its parent; 0 if no parent is visible here.
    pub parent: u32,
    /// Its name: the executed program's, or set by itself; at most 15 bytes.
    pub name: String,
    /// The file that it executes.
    pub executable: ExecutableFile,
    /// Its arguments, the program's own name first: at most 64 KiB of them. It may have changed them.
    pub arguments: Vec<String>,
    /// Its effective user.
    pub user: u32,
    /// The user that started it; differs from `user` for a set-uid program.
    pub real_user: u32,
    /// Its control group in the hierarchy of version 2, or else in systemd's own: "/system.slice/redis.service".
    pub cgroup: String,
    /// The unit of the system's service manager that it belongs to: "redis.service", "user@1000.service".
    pub unit: Option<String>,
    /// Its unit in a user's own service manager, which that user can name at will.
    pub user_unit: Option<String>,
    /// Its session; 0 for the kernel's own.
    pub session: u32,
    /// True if that session has a terminal.
    pub has_terminal: bool,
}

/// The file that a process executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutableFile {
    /// This file, by its path when it was executed, and by device and inode whatever its name is now.
    File {
        /// The path; it ends in " (deleted)" if the file is gone.
        path: PathBuf,
        /// The device that it lies on.
        device: u64,
        /// Its inode there.
        inode: u64,
    },
    /// None: it is a kernel thread.
    Kernel,
    /// It cannot be read; holds the reason. Another user's needs CAP_SYS_PTRACE.
    Unreadable(String),
}

/// A thread as it was seen at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadFacts {
    /// Its identity.
    pub identity: ProcessIdentity,
    /// Its name, at most 15 bytes.
    pub name: String,
    /// The cpus that it may use.
    pub cpus: CpuSet,
}
