//! Windows: nothing of what talks to the kernel is available yet. Each module can be filled on its own.
#![allow(missing_docs, reason = "they are documented where they do something, in `linux`")]

pub mod accounts;
pub mod affinity;
pub mod affinity_events;
pub mod atomic_wait;
pub mod counters;
pub mod counts;
pub mod cpuset;
pub mod entrance;
pub mod events;
pub mod execution;
pub mod files;
pub mod folder_handle;
pub mod ipc;
pub mod memory;
pub mod memory_policy;
mod missing;
pub mod open_files;
pub mod process;
pub mod process_events;
pub mod processes;
pub mod processor_time;
pub mod scheduling;
pub mod service;
pub mod shared_words;
pub mod signals;
pub mod spawn;
pub mod standard_files;
pub mod task;
pub mod thread;
#[cfg(target_arch = "x86_64")]
pub mod timekeeping;
