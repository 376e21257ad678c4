//! Accounting of a thread by the operating system.

use crate::CpuSet;

/// Use of resources by the probe's thread during a visit, as the operating system reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ThreadUse {
    /// Seconds in user mode.
    pub user_s: f64,
    /// Seconds in the kernel.
    pub system_s: f64,
    /// Seconds in which the thread was not on a cpu (preempted, or the virtual cpu was not running).
    pub off_cpu_s: f64,
    /// Number of times the thread gave the cpu up.
    pub voluntary_switches: u64,
    /// Number of times the thread was preempted.
    pub involuntary_switches: u64,
}

/// State of a thread at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadSnapshot {
    /// Number of the process.
    pub process: u32,
    /// Number of the thread.
    pub thread: u32,
    /// Start time, in the system's ticks since boot: with its number it is one thread of this boot.
    pub start_ticks: u64,
    /// Name.
    pub name: String,
    /// The cpu it last ran on.
    pub cpu: u32,
    /// True if it runs or waits for a cpu.
    pub is_runnable: bool,
    /// Time on cpus since its start, in nanoseconds; `None` if the system does not account for it.
    pub on_cpu_ns: Option<u64>,
    /// Time for which it was runnable without running, up to its last run, in nanoseconds; `None` if the system does not account for it.
    pub waited_ns: Option<u64>,
    /// Its affinity mask; `None` if unknown.
    pub allowed: Option<CpuSet>,
}
