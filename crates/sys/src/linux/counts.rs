//! What the kernel has counted for every cpu, read at one moment.

use std::collections::BTreeMap;

use super::interrupts::Interrupts;
use super::stat::{self, CpuTime};

/// Interrupts, soft interrupts and times of all cpus at one moment; what could not be read is empty.
#[derive(Clone, Debug, Default)]
pub struct KernelCounts {
    /// /proc/interrupts.
    pub interrupts: Interrupts,
    /// /proc/softirqs.
    pub softirqs: Interrupts,
    /// /proc/stat.
    pub times: BTreeMap<u32, CpuTime>,
}

impl KernelCounts {
    /// The running kernel's counts now.
    pub fn now() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        Self {
            interrupts: Interrupts::parse(&read("/proc/interrupts")),
            softirqs: Interrupts::parse(&read("/proc/softirqs")),
            times: stat::parse(&read("/proc/stat")),
        }
    }

    /// Seconds that a hypervisor stole from a cpu since an earlier moment, where the kernel tells.
    pub fn stolen_since(&self, earlier: &Self, cpu: u32) -> Option<f64> {
        Some((self.times.get(&cpu)?.stolen_s - earlier.times.get(&cpu)?.stolen_s).max(0.0))
    }

    /// Seconds that all cpus were busy since an earlier moment, stolen time among them.
    pub fn busy_since(&self, earlier: &Self) -> f64 {
        let busy = |counts: &Self| counts.times.values().map(|time| time.busy_s).sum::<f64>();
        (busy(self) - busy(earlier)).max(0.0)
    }
}
