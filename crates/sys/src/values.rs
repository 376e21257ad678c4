//! Plain values of the modules that each system has: their arguments and results.

pub mod account;
pub mod affinity;
#[cfg(feature = "events")]
pub mod affinity_events;
pub mod cgroup;
#[cfg(feature = "programs")]
pub mod counts;
#[cfg(feature = "events")]
pub mod events;
#[cfg(feature = "events")]
pub mod execution;
#[cfg_attr(not(feature = "changes"), allow(dead_code, reason = "the journal of changes uses all of it"))]
pub mod folder_handle;
#[cfg(feature = "programs")]
pub mod lockdown;
pub mod memory;
#[cfg(feature = "events")]
pub mod output_ends;
#[cfg_attr(not(feature = "recordings"), allow(dead_code, reason = "readers of recordings use all of it"))]
pub mod own_files;
pub mod process;
#[cfg(feature = "programs")]
pub mod process_events;
#[cfg(feature = "programs")]
pub mod processes;
#[cfg(feature = "programs")]
pub mod signals;
#[cfg(feature = "programs")]
pub mod spawn;
#[cfg(feature = "events")]
pub mod switches;
pub mod task;
#[cfg_attr(not(feature = "programs"), allow(dead_code, reason = "what waits uses all of it"))]
pub mod thread;
#[cfg(feature = "events")]
pub mod wakes;
