//! The operating system under neutral names: topology, recordings, clock, affinity, memory, processes, kernel events, interrupts, changes
//! that can be undone. The only crate with `unsafe`, and the only crate that depends on the operating system.
//!
//! Code that only reads files goes through a [`Root`] and is the same everywhere: a recorded machine of one system can be read on another.
//! Code that talks to the kernel lies in a private module for each system, `linux` and `windows`. Both offer the same names, listed below,
//! so the compiler proves that this crate's interface is one. Plain values of both lie in `values`.
//!
//! Without features it pulls in few packages: a program that places its own threads needs no more. `programs` adds other programs and the
//! machine's own work, `changes` changes that can be undone and their journal, `events` kernel events, performance counters and the execution
//! of commands, `recordings` archives, XML, dumps and pasted text.

#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(not(feature = "programs"), allow(dead_code, reason = "readers of other programs use all of it"))]
mod access_list;
pub mod cgroup;
#[cfg(feature = "programs")]
pub mod chain;
#[cfg(feature = "changes")]
pub mod change;
pub mod clock;
#[cfg(feature = "programs")]
pub mod condition;
#[cfg(feature = "programs")]
pub mod energy;
pub mod error;
pub mod file_place;
pub mod input;
pub mod installed;
#[cfg(feature = "programs")]
pub mod interrupts;
#[cfg(feature = "programs")]
pub mod irq;
#[cfg(feature = "programs")]
pub mod isolation;
#[cfg(feature = "programs")]
pub mod lock;
#[cfg(any(not(target_os = "linux"), feature = "recordings"))]
mod logical_processors;
pub mod output;
#[cfg(feature = "recordings")]
pub mod record;
#[cfg(feature = "programs")]
pub mod ring;
pub mod root;
#[cfg(feature = "programs")]
pub mod stream;
pub mod topology;
pub mod user_folders;
mod values;
#[cfg(feature = "programs")]
pub mod work;
pub mod worth;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as os;
#[cfg(not(target_os = "linux"))]
mod windows;
#[cfg(not(target_os = "linux"))]
use windows as os;

pub use error::SysError;
pub use os::{
    accounts, affinity, cpuset, files, memory, memory_policy, open_files, process, task, thread, thread_reader,
};
#[cfg(feature = "events")]
pub use os::{affinity_events, counters, events, execution, switches, wakes};
#[cfg(feature = "programs")]
pub use os::{
    atomic_wait, clock_rates, counts, ipc, limits, process_events, processes, scheduling, service, signals, spawn,
    standard_files,
};
pub use root::Root;
