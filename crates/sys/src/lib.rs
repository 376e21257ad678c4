//! The operating system under neutral names: topology, recordings, clock, affinity, memory, processes, kernel events, interrupts, changes
//! that can be undone. The only crate with `unsafe`, and the only crate that depends on the operating system.
//!
//! Code that only reads files goes through a [`Root`] and is the same everywhere: a recorded machine of one system can be read on another.
//! Code that talks to the kernel lies in a private module for each system, `linux` and `windows`. Both offer the same names, listed below,
//! so the compiler proves that this crate's interface is one. Plain values of both lie in `values`.
//!
//! Without features it pulls in few packages: a program that places its own threads needs no more. `changes` adds changes that can be
//! undone and their journal, `events` adds kernel events, performance counters and the execution of commands, `recordings` adds archives
//! and XML.

#[cfg(any(test, not(target_os = "linux")))]
mod access_list;
#[cfg(feature = "changes")]
pub mod cgroup;
pub mod chain;
#[cfg(feature = "changes")]
pub mod change;
pub mod clock;
pub mod condition;
pub mod energy;
pub mod error;
pub mod file_place;
pub mod input;
pub mod installed;
pub mod interrupts;
pub mod irq;
pub mod isolation;
pub mod lock;
mod logical_processors;
pub mod output;
#[cfg(feature = "recordings")]
pub mod record;
pub mod ring;
pub mod root;
pub mod stream;
pub mod topology;
mod values;
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
    accounts, affinity, atomic_wait, clock_rates, counts, cpuset, files, ipc, limits, memory, memory_policy,
    open_files, process, process_events, processes, scheduling, service, signals, spawn, standard_files, task, thread,
    thread_reader,
};
#[cfg(feature = "events")]
pub use os::{affinity_events, counters, events, execution, switches, wakes};
pub use root::Root;
