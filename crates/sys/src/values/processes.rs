//! What is known of any process: all that a rule may match.

use std::path::PathBuf;

use corewise_machine::CpuSet;

use super::process::Process;

/// A process as it was seen at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Which process it is. Number and start time stay through an exec: what follows may change with one.
    pub process: Process,
    /// The number of its parent; 0 where it has none that can be seen here.
    pub parent: u32,
    /// Its name: of the program that it executes, or as it called itself; at most 15 bytes.
    pub name: String,
    /// The file that it executes.
    pub executable: Executable,
    /// Its words, the program's own name first: at most 64 KiB of them. It may have changed them.
    pub arguments: Vec<String>,
    /// The user whose rights it has.
    pub user: u32,
    /// The user that started it; another one than `user` for a program that has the rights of its file's owner.
    pub real_user: u32,
    /// Its control group in the hierarchy of version 2, or else in systemd's own: "/system.slice/redis.service".
    pub cgroup: String,
    /// The unit of the system's service manager that it belongs to: "redis.service", "user@1000.service".
    pub unit: Option<String>,
    /// Its unit in a user's own service manager, which that user can name at will.
    pub user_unit: Option<String>,
    /// Its session; 0 for the kernel's own.
    pub session: u32,
    /// Whether that session has a terminal.
    pub has_terminal: bool,
}

/// The file that a process executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executable {
    /// This file, by its path when it was executed, and by what is found there whatever its name is now.
    File {
        /// The path; it ends in " (deleted)" where the file is gone.
        path: PathBuf,
        /// The device that it lies on.
        device: u64,
        /// Its number there.
        inode: u64,
    },
    /// None: it is a thread of the kernel's.
    Kernel,
    /// It cannot be read: why. Another user's needs CAP_SYS_PTRACE.
    Unreadable(String),
}

/// A thread as it was seen at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Which thread it is.
    pub identity: Process,
    /// Its name, at most 15 bytes.
    pub name: String,
    /// The cpus that it may use.
    pub cpus: CpuSet,
}
