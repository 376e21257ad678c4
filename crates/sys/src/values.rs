//! Plain values of the modules that each system has: their arguments and results.

pub mod account;
pub mod affinity;
#[cfg(feature = "events")]
pub mod affinity_events;
pub mod cgroup;
pub mod counts;
#[cfg(feature = "events")]
pub mod events;
#[cfg(feature = "events")]
pub mod execution;
#[cfg_attr(not(feature = "changes"), allow(dead_code, reason = "the journal of changes uses all of it"))]
pub mod folder_handle;
pub mod lockdown;
pub mod memory;
#[cfg(feature = "events")]
pub mod output_ends;
pub mod own_files;
pub mod process;
pub mod process_events;
pub mod processes;
pub mod signals;
pub mod spawn;
#[cfg(feature = "events")]
pub mod switches;
pub mod task;
pub mod thread;
#[cfg(feature = "events")]
pub mod wakes;
