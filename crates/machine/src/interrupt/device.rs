//! Interrupts of devices: the source, the cpus that handle them, and whether they can be moved.

use serde::{Deserialize, Serialize};

use crate::CpuSet;

/// An interrupt that a driver handles, as the kernel reports it. Unreported facts are absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeviceInterrupt {
    /// The kernel's number.
    pub number: u32,
    /// Names of its handlers, mostly by device and queue: "nvme0q3", "eth0-TxRx-1".
    pub handlers: Vec<String>,
    /// Driver of the PCI device that raises it: "nvme".
    pub driver: Option<String>,
    /// PCI device that raises it: "0000:01:00.0".
    pub device: Option<String>,
    /// The kernel's name of its controller: "IO-APIC", "PCI-MSIX-0000:01:00.0", "GICv3".
    pub chip: Option<String>,
    /// Number at the controller.
    pub hardware_number: Option<u64>,
    /// Trigger: "edge" or "level".
    pub trigger: Option<String>,
    /// Cpus that may handle it.
    pub allowed: Option<CpuSet>,
    /// Cpus that the kernel has chosen from the allowed ones.
    pub effective: Option<CpuSet>,
    /// Cpus that its driver wishes for.
    pub hint: Option<CpuSet>,
    /// Memory node of its device.
    pub node: Option<u32>,
    /// True if it wakes the machine from suspend.
    pub wakes: Option<bool>,
    /// Mobility.
    pub mobility: InterruptMobility,
    /// Counts by cpu; cpus with a zero count are left out.
    pub counts: Vec<CpuCount>,
}

/// Interrupts counted on a cpu.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CpuCount {
    /// The cpu.
    pub cpu: u32,
    /// Count since boot.
    pub since_boot: u64,
    /// Rate per second; absent if it was not measured.
    pub per_second: Option<f64>,
}

/// Mobility of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptMobility {
    /// No known obstacle to a move; not every kernel reports which interrupts it refuses to move.
    Movable,
    /// The kernel alone places the queues of the device (IRQD_AFFINITY_MANAGED).
    Managed,
    /// Each cpu has its own, such as Arm's timer.
    PerCpu,
    /// Its controller or its driver does not allow a move.
    Fixed,
    /// The kernel does not report its cpus, or not to this user.
    Unknown,
}

impl InterruptMobility {
    /// Returns the word in a table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Movable => "movable",
            Self::Managed => "managed",
            Self::PerCpu => "per cpu",
            Self::Fixed => "fixed",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the meaning, in words that follow the word and a colon.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Movable => "it can be moved to other cpus",
            Self::Managed => "only the kernel places the queues of this device",
            Self::PerCpu => "each cpu has its own",
            Self::Fixed => "its controller or its driver does not allow a move",
            Self::Unknown => "its cpus cannot be read here",
        }
    }
}

impl DeviceInterrupt {
    /// Joins its handlers: "eth0-TxRx-1", "i801_smbus, ehci_hcd:usb1".
    pub fn joined_handlers(&self) -> String {
        self.handlers.join(", ")
    }

    /// Returns the cpus that handle it now, or the allowed ones if the kernel reports no more; `None` without either.
    pub fn handling_cpus(&self) -> Option<&CpuSet> {
        self.effective.as_ref().or(self.allowed.as_ref())
    }

    /// Returns the cpus that it struck: by its rates, or by the cpu that the kernel reports, or by its counts since boot. A count of less
    /// than 1 % does not matter. Without any, the cpus that the kernel reports; `None` if it reports none.
    pub fn struck_cpus(&self) -> Option<CpuSet> {
        let by_rate = self.largest_counts(|count| count.per_second.unwrap_or(0.0));
        let by_kernel = || self.effective.clone().filter(|cpus| cpus.len() == 1);
        let by_count = || self.largest_counts(|count| count.since_boot as f64);
        by_rate.or_else(by_kernel).or_else(by_count).or_else(|| self.effective.clone())
    }

    /// Returns the cpus with at least 1 % of what is counted; `None` if nothing was counted.
    fn largest_counts(&self, of: impl Fn(&CpuCount) -> f64) -> Option<CpuSet> {
        let total: f64 = self.counts.iter().map(&of).sum();
        let large = self.counts.iter().filter(|count| of(count) >= 0.01 * total);
        (total > 0.0).then(|| large.map(|count| count.cpu).collect())
    }

    /// Returns its rate on all cpus if it was measured, otherwise its count since boot.
    pub fn counted(&self) -> f64 {
        self.per_second().filter(|_| !self.counts.is_empty()).unwrap_or_else(|| self.total_count() as f64)
    }

    /// Returns true if it is or may be handled on one of these cpus.
    pub fn concerns_cpus(&self, cpus: &CpuSet) -> bool {
        let touches = |own: &Option<CpuSet>| own.as_ref().is_some_and(|own| !own.is_disjoint(cpus));
        match self.mobility {
            InterruptMobility::Movable => touches(&self.effective) || touches(&self.allowed),
            // The allowed cpus do not matter if the interrupt cannot be moved.
            _ => self.handling_cpus().is_some_and(|own| !own.is_disjoint(cpus)),
        }
    }

    /// Returns the count since boot, on all cpus.
    pub fn total_count(&self) -> u64 {
        self.counts.iter().map(|count| count.since_boot).sum()
    }

    /// Returns the rate per second on all cpus; `None` if it was not measured.
    pub fn per_second(&self) -> Option<f64> {
        self.counts.iter().map(|count| count.per_second).sum::<Option<f64>>()
    }

    /// Sets the rates from later counts. A counter that ran backwards gives zero.
    pub fn counted_again(&mut self, later: &[CpuCount], elapsed_s: f64) {
        let before = |cpu: u32| self.counts.iter().find(|count| count.cpu == cpu).map_or(0, |count| count.since_boot);
        let rate = |now: &CpuCount| now.since_boot.saturating_sub(before(now.cpu)) as f64 / elapsed_s;
        let counts = later.iter().map(|now| CpuCount { per_second: Some(rate(now)), ..now.clone() });
        self.counts = counts.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::plan::sample::{movable_interrupt, parse_set};

    fn count(cpu: u32, since_boot: u64) -> CpuCount {
        CpuCount { cpu, since_boot, per_second: None }
    }

    #[test]
    fn rates_are_differences_by_cpu() {
        let mut device = movable_interrupt(36, "virtio1-req.0", "0-3", "2");
        device.counts = vec![count(2, 100), count(3, 7)];
        assert_eq!((device.total_count(), device.per_second()), (107, None));
        device.counted_again(&[count(0, 4), count(2, 300), count(3, 5)], 2.0);
        let rates: Vec<_> = device.counts.iter().map(|count| (count.cpu, count.per_second.unwrap())).collect();
        assert_eq!(rates, [(0, 2.0), (2, 100.0), (3, 0.0)]);
        assert_eq!((device.total_count(), device.per_second()), (309, Some(102.0)));
        device.counted_again(&[], 2.0);
        assert_eq!(device.per_second(), Some(0.0), "an interrupt that was counted and never struck has a rate");
    }

    #[test]
    fn counts_speak_before_the_cpus_that_may_handle_it() {
        let with = |effective: &str, counts: Vec<CpuCount>| {
            let effective = Some(parse_set(effective)).filter(|cpus| !cpus.is_empty());
            let interrupt = DeviceInterrupt { effective, counts, ..movable_interrupt(56, "eth0-0", "0-45", "0") };
            interrupt.struck_cpus().map(|cpus| cpus.to_string()).unwrap_or_default()
        };
        let of_boot = || vec![count(0, 271_490_338), count(7, 12)];
        assert_eq!((with("0-45", of_boot()), with("", of_boot())), ("0".to_owned(), "0".to_owned()));
        assert_eq!(with("3", of_boot()), "3", "it was moved to one cpu since");
        let rate = |cpu, per_second| CpuCount { cpu, since_boot: 9, per_second: Some(per_second) };
        assert_eq!(with("3", vec![rate(0, 0.0), rate(4, 20.0), rate(5, 1.0)]), "4,5");
        assert_eq!((with("1-2", Vec::new()), with("", Vec::new())), ("1,2".to_owned(), String::new()));
    }

    #[test]
    fn what_cannot_be_moved_concerns_the_cpus_that_handle_it_alone() {
        let movable = movable_interrupt(4, "ttyS0", "0-3", "2");
        assert!(
            movable.concerns_cpus(&parse_set("2"))
                && movable.concerns_cpus(&parse_set("0"))
                && !movable.concerns_cpus(&parse_set("4"))
        );
        let managed = DeviceInterrupt { mobility: InterruptMobility::Managed, ..movable };
        assert!(managed.concerns_cpus(&parse_set("2")) && !managed.concerns_cpus(&parse_set("0")));
        let untold = DeviceInterrupt { effective: None, ..managed };
        assert!(untold.concerns_cpus(&parse_set("0")), "without more, it may be any of those that are allowed");
    }
}
