//! What readers found at one moment.

use corewise_machine::thread::ThreadLook;
use corewise_machine::worth::Ticks;

use super::{CpuNow, Holds, SourceNow, Tasks};

/// What was found at one moment: counters since boot, and what is a rate already because it is read less often.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// When, in nanoseconds of a clock that nobody sets.
    pub at_ns: u64,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub at_unix_ms: i64,
    /// What each cpu has spent its time on, by number; nothing for those that are offline.
    pub ticks: Vec<Option<Ticks>>,
    /// What was read of each cpu, by number, and needs no look before; the rest of it is not filled in yet.
    pub cpus: Vec<CpuNow>,
    /// How often sources of interrupts struck, over a stretch of their own; nothing where that is not known yet.
    pub interrupts: Option<InterruptLook>,
    /// The threads of the program.
    pub threads: Vec<ThreadLook>,
    /// What the kernel's events showed since the look before; nothing where they are not to be had.
    pub tasks: Option<Tasks>,
    /// Why there are none of them.
    pub why_no_events: String,
    /// What rules hold.
    pub holds: Holds,
    /// The numbers of the threads of whoever looks.
    pub own: Vec<u32>,
    /// What became of the program; nothing while it runs.
    pub end: Option<String>,
}

/// How often interrupts struck.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterruptLook {
    /// Each cpu a second, by number; cpus behind the last were not struck.
    pub cpus: Vec<f32>,
    /// The sources, most first.
    pub sources: Vec<SourceNow>,
}
