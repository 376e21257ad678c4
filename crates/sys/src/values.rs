//! Plain values of the modules that each system has: what they are given and what they report.

pub mod account;
pub mod affinity;
pub mod affinity_events;
pub mod cgroup;
pub mod counts;
pub mod events;
pub mod execution;
pub mod folder_handle;
pub mod memory;
pub mod own_files;
pub mod process;
pub mod process_events;
pub mod processes;
pub mod signals;
pub mod spawn;
pub mod task;
pub mod thread;
pub mod written;
