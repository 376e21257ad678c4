//! Kernel counters of a command and all its descendants: perf_event_open(2).

use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Counter};

/// Counters of the process that the calling thread starts next.
///
/// They are opened on the calling thread, but stay off there, and are inherited by its child, in which execve(2) switches them on. Counts
/// of the child and its descendants are added when those end.
pub struct CommandCounters {
    cycles: Option<Counter>,
    computing_ns: Option<Counter>,
    migrations: Option<Counter>,
}

impl CommandCounters {
    /// Opens the counters that the kernel allows.
    pub fn open_counters() -> Self {
        let cycles = open(Hardware::CPU_CYCLES);
        // Needed only beside cycles.
        let computing_ns = cycles.as_ref().and_then(|_| open(Software::TASK_CLOCK));
        Self { cycles, computing_ns, migrations: open(Software::CPU_MIGRATIONS) }
    }

    /// Returns true if cycles are counted, so that the clock rate will be known.
    pub fn count_cycles(&self) -> bool {
        self.cycles.is_some() && self.computing_ns.is_some()
    }

    /// Returns the mean clock rate in GHz, and the number of migrations to another cpu.
    pub fn read_counters(&mut self) -> (Option<f64>, Option<u64>) {
        let scaled = |counter: &mut Option<Counter>| {
            let data = counter.as_mut()?.read_full().ok()?;
            let share = data.time_running()?.as_secs_f64() / data.time_enabled()?.as_secs_f64();
            (share > 0.0).then(|| data.count() as f64 / share)
        };
        let (cycles, computing_ns) = (scaled(&mut self.cycles), scaled(&mut self.computing_ns));
        let gigahertz = cycles.zip(computing_ns).map(|(cycles, nanoseconds)| cycles / nanoseconds);
        (
            gigahertz.filter(|rate| rate.is_finite() && *rate > 0.0),
            self.migrations.as_mut().and_then(|counter| counter.read().ok()),
        )
    }
}

/// Opens a counter that includes the kernel's share, which only some users may have.
fn open(event: impl Event) -> Option<Counter> {
    let mut builder = Builder::new(event);
    builder.inherit(true).enable_on_exec(true).exclude_kernel(false).exclude_hv(false).build().ok()
}
