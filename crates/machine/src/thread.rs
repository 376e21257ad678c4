//! A thread as the operating system accounts for it.

use serde::{Deserialize, Serialize};

use crate::CpuSet;

/// What the operating system says of the probe's thread during a visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadUse {
    /// Seconds in user mode.
    pub user_s: f64,
    /// Seconds in the kernel.
    pub system_s: f64,
    /// Seconds in which the thread was not on a cpu (preempted, or the virtual cpu was not running).
    pub off_cpu_s: f64,
    /// Times it gave the cpu up.
    pub voluntary_switches: u64,
    /// Times the cpu was taken from it.
    pub involuntary_switches: u64,
}

/// A thread at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadLook {
    /// Its process.
    pub process: u32,
    /// Its number.
    pub thread: u32,
    /// When it started, in the system's ticks since boot: with its number it is one thread of this boot.
    pub start_ticks: u64,
    /// Its name.
    pub name: String,
    /// Where it ran last.
    pub cpu: u32,
    /// Whether it runs or waits for a cpu.
    pub is_runnable: bool,
    /// Its time on cpus since it began, in nanoseconds; nothing where the system does not account for it.
    pub on_cpu_ns: Option<u64>,
    /// The time for which it could have run and did not, in nanoseconds, up to when it ran last; nothing likewise.
    pub waited_ns: Option<u64>,
    /// The cpus that it may use; nothing where that is not known.
    pub allowed: Option<CpuSet>,
}
