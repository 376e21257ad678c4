//! State of a machine before measuring: facts that affect times and the visibility of events, as its kernel reports them.

use crate::root::Root;

/// The facts that were read; `None` if the kernel does not report them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemCondition {
    /// Restriction on counting events: kernel.perf_event_paranoid.
    pub paranoid: Option<String>,
    /// The clock source that the kernel itself uses: "tsc", "kvm-clock".
    pub clock_source: Option<String>,
    /// SMT state, threads per core: "on", "off", "notsupported".
    pub siblings: Option<String>,
    /// The load average of the last minute.
    pub load: Option<f64>,
    /// Time that a hypervisor took from all cpus since the start, in kernel ticks.
    pub stolen_ticks: Option<u64>,
}

impl SystemCondition {
    /// Reads the facts.
    pub fn read_condition(root: &Root) -> Self {
        let line = |path: &str| root.read_text(path).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        // "cpu  user nice system idle iowait irq softirq steal": proc_stat(5).
        let times = line("proc/stat");
        let stolen = times.as_ref().and_then(|text| text.lines().next()?.split_whitespace().nth(8)?.parse().ok());
        Self {
            paranoid: line("proc/sys/kernel/perf_event_paranoid"),
            clock_source: line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            siblings: line("sys/devices/system/cpu/smt/control"),
            load: line("proc/loadavg").and_then(|text| text.split_whitespace().next()?.parse().ok()),
            stolen_ticks: stolen,
        }
    }
}
