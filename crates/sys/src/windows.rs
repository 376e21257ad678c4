//! Windows: most kernel interfaces are not available yet. Each module can be completed on its own.
#![cfg_attr(not(feature = "programs"), allow(dead_code, reason = "readers of other programs use all of it"))]
#![allow(missing_docs, reason = "they are documented where they do something, in `linux`")]

pub mod accounts;
pub mod affinity;
#[cfg(feature = "events")]
pub mod affinity_events;
#[cfg(feature = "programs")]
pub mod atomic_wait;
#[cfg(feature = "programs")]
mod attended;
#[cfg(feature = "programs")]
pub mod clock_rates;
#[cfg(feature = "events")]
pub mod counters;
#[cfg(feature = "programs")]
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
#[cfg(feature = "programs")]
pub mod ipc;
#[cfg_attr(not(feature = "events"), allow(dead_code, reason = "the execution of commands uses all of it"))]
mod job;
#[cfg(feature = "programs")]
pub mod limits;
pub mod memory;
pub mod memory_policy;
mod missing;
pub mod open_files;
mod opened_task;
pub mod own_files;
#[cfg(feature = "programs")]
mod preferred_sets;
pub mod process;
#[cfg(feature = "programs")]
pub mod process_events;
#[cfg(feature = "programs")]
pub mod processes;
pub mod processor_time;
mod processors;
#[cfg(feature = "programs")]
pub mod scheduling;
#[cfg(feature = "programs")]
pub mod service;
pub mod shared_words;
#[cfg(feature = "programs")]
pub mod signals;
mod snapshot;
#[cfg(feature = "programs")]
pub mod spawn;
#[cfg(feature = "programs")]
pub mod standard_files;
#[cfg(feature = "events")]
pub mod switches;
pub mod task;
mod text;
pub mod thread;
pub mod thread_reader;
#[cfg(feature = "programs")]
mod throttling;
#[cfg(target_arch = "x86_64")]
pub mod timekeeping;
mod users;
mod version;
#[cfg(feature = "events")]
pub mod wakes;
