//! Linux: parsers take text and can be tested anywhere; system calls are thin safe wrappers.

pub mod accounts;
pub mod affinity;
#[cfg(feature = "events")]
pub mod affinity_events;
#[cfg(feature = "programs")]
pub mod atomic_wait;
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
#[cfg(feature = "programs")]
pub mod ipc;
#[cfg(feature = "programs")]
pub mod limits;
#[cfg(feature = "events")]
mod lockdown;
pub mod memory;
pub mod memory_policy;
pub mod open_files;
pub mod own_files;
#[cfg_attr(not(feature = "programs"), allow(dead_code, reason = "readers of other programs use all of it"))]
mod proc_files;
pub mod process;
#[cfg(feature = "programs")]
pub mod process_events;
#[cfg(feature = "programs")]
pub mod processes;
pub mod processor_time;
#[cfg(feature = "programs")]
pub mod scheduling;
#[cfg(feature = "programs")]
pub mod service;
pub mod shared_words;
#[cfg(feature = "programs")]
pub mod signals;
#[cfg(feature = "programs")]
pub mod spawn;
#[cfg(feature = "programs")]
pub mod standard_files;
#[cfg(feature = "programs")]
mod stat;
#[cfg(feature = "events")]
pub mod switches;
pub mod task;
#[cfg_attr(not(feature = "programs"), allow(dead_code, reason = "who ends programs uses all of it"))]
mod task_handle;
pub mod thread;
pub mod thread_reader;
#[cfg(target_arch = "x86_64")]
pub mod timekeeping;
#[cfg(feature = "events")]
pub mod wakes;

// The unwinder is linked statically: loading it as a shared library takes a tenth of the start time of `corewise run`. Of functions that
// both libraries have, the linker takes the first that it meets.
#[cfg(target_env = "gnu")]
#[link(name = "gcc_eh", kind = "static", modifiers = "-bundle")]
unsafe extern "C" {}
