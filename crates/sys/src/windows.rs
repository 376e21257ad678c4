//! Windows: most kernel interfaces are not available yet. Each module can be completed on its own.
#![allow(missing_docs, reason = "they are documented where they do something, in `linux`")]

pub mod accounts;
pub mod affinity;
#[cfg(feature = "events")]
pub mod affinity_events;
pub mod atomic_wait;
mod attended;
pub mod clock_rates;
#[cfg(feature = "events")]
pub mod counters;
pub mod counts;
pub mod cpuset;
#[cfg(feature = "events")]
pub mod events;
#[cfg(feature = "events")]
pub mod execution;
pub mod files;
#[cfg_attr(not(feature = "changes"), allow(dead_code, reason = "the journal of changes uses all of it"))]
pub mod folder_handle;
#[cfg(feature = "changes")]
pub mod group_entry;
mod handle;
pub mod ipc;
#[cfg_attr(not(feature = "events"), allow(dead_code, reason = "the execution of commands uses all of it"))]
mod job;
pub mod limits;
pub mod memory;
pub mod memory_policy;
mod missing;
pub mod open_files;
mod opened_task;
pub mod own_files;
mod preferred_sets;
pub mod process;
pub mod process_events;
pub mod processes;
pub mod processor_time;
mod processors;
pub mod scheduling;
pub mod service;
pub mod shared_words;
pub mod signals;
mod snapshot;
pub mod spawn;
pub mod standard_files;
#[cfg(feature = "events")]
pub mod switches;
pub mod task;
mod text;
pub mod thread;
pub mod thread_reader;
mod throttling;
#[cfg(target_arch = "x86_64")]
pub mod timekeeping;
mod users;
mod version;
#[cfg(feature = "events")]
pub mod wakes;
