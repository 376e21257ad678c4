//! Readings at one moment.

use corewise_machine::thread::ThreadSnapshot;
use corewise_machine::worth::CpuTicks;

use super::{CpuNow, RuleHolds, SourceNow, TaskSwitches};

/// Readings at one moment: counters since boot, and rates for values that are read less often.
#[derive(Clone, Debug, Default)]
pub struct WatchReading {
    /// Time, in nanoseconds of a monotonic clock.
    pub at_ns: u64,
    /// Time, in milliseconds since 1970-01-01 UTC.
    pub at_unix_ms: i64,
    /// Time of each cpu by use, by number; `None` if it is offline.
    pub ticks: Vec<Option<CpuTicks>>,
    /// Readings of each cpu that need no earlier look, by number; the other fields are not filled in yet.
    pub cpus: Vec<CpuNow>,
    /// Rates of interrupts, over an interval of their own; `None` if not known yet.
    pub interrupts: Option<InterruptLook>,
    /// The threads of the program.
    pub threads: Vec<ThreadSnapshot>,
    /// Activity from the kernel's events since the look before; `None` if these are not available.
    pub tasks: Option<TaskSwitches>,
    /// Reason why they are not available.
    pub why_no_events: String,
    /// Threads and cpus held by rules.
    pub holds: RuleHolds,
    /// The numbers of the watcher's own threads.
    pub own: Vec<u32>,
    /// The end of the program; `None` while it runs.
    pub end: Option<String>,
}

/// Rates of interrupts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterruptLook {
    /// Rate of each cpu per second, by number; cpus beyond the last had none.
    pub cpus: Vec<f32>,
    /// The sources, most first.
    pub sources: Vec<SourceNow>,
}
