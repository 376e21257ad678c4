//! The interrupt of a device: who raises it, on which cpus it is handled, and whether it can be moved.

use serde::{Deserialize, Serialize};

use crate::CpuSet;

/// An interrupt that a driver handles, as the kernel reports it. What is not reported is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceInterrupt {
    /// The kernel's number of it.
    pub number: u32,
    /// What its handlers are called, in most cases by device and queue: "nvme0q3", "eth0-TxRx-1".
    pub handlers: Vec<String>,
    /// The driver of the PCI device that raises it: "nvme".
    pub driver: Option<String>,
    /// The PCI device that raises it: "0000:01:00.0".
    pub device: Option<String>,
    /// What the kernel calls its controller: "IO-APIC", "PCI-MSIX-0000:01:00.0", "GICv3".
    pub chip: Option<String>,
    /// Its number at the controller.
    pub hardware_number: Option<u64>,
    /// How it is raised: "edge" or "level".
    pub trigger: Option<String>,
    /// The cpus that may handle it.
    pub allowed: Option<CpuSet>,
    /// The cpus that do handle it: those of the allowed ones that the kernel has chosen.
    pub effective: Option<CpuSet>,
    /// The cpus that its driver wishes for.
    pub hint: Option<CpuSet>,
    /// The memory node of its device.
    pub node: Option<u32>,
    /// Whether it wakes the machine from suspend.
    pub wakes: Option<bool>,
    /// Whether it can be moved to other cpus.
    pub mobility: Mobility,
    /// How often it struck, by cpu; cpus that it never struck are left out.
    pub counts: Vec<CpuCount>,
}

/// How often an interrupt struck a cpu.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuCount {
    /// The cpu.
    pub cpu: u32,
    /// How often since the machine was started.
    pub since_boot: u64,
    /// How often in a second, while it was counted; absent where it was not.
    pub per_second: Option<f64>,
}

/// Whether an interrupt can be moved to other cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mobility {
    /// Nothing known prevents a move; not every kernel reports which interrupts it refuses to move.
    Movable,
    /// The kernel has spread the queues of its device over the cpus, and places them alone (IRQD_AFFINITY_MANAGED).
    Managed,
    /// Each cpu has one of its own, such as Arm's timer.
    PerCpu,
    /// Its controller or its driver does not allow a move.
    Fixed,
    /// The kernel does not report its cpus, or not to this user.
    Unknown,
}

impl Mobility {
    /// The word for it in a table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Movable => "movable",
            Self::Managed => "managed",
            Self::PerCpu => "per cpu",
            Self::Fixed => "fixed",
            Self::Unknown => "unknown",
        }
    }

    /// What it means, in words that follow the word and a colon.
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
    /// Its handlers in one text: "eth0-TxRx-1", "i801_smbus, ehci_hcd:usb1".
    pub fn name(&self) -> String {
        self.handlers.join(", ")
    }

    /// The cpus that handle it now; those that may, where the kernel does not tell more.
    pub fn cpus(&self) -> Option<&CpuSet> {
        self.effective.as_ref().or(self.allowed.as_ref())
    }

    /// Whether it is handled on one of these cpus, or may be from now on.
    pub fn concerns(&self, cpus: &CpuSet) -> bool {
        let touches = |own: &Option<CpuSet>| own.as_ref().is_some_and(|own| !own.is_disjoint(cpus));
        match self.mobility {
            Mobility::Movable => touches(&self.effective) || touches(&self.allowed),
            // What is allowed does not matter where nobody can choose from it.
            _ => self.cpus().is_some_and(|own| !own.is_disjoint(cpus)),
        }
    }

    /// How often it struck since the machine was started, on all cpus.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|count| count.since_boot).sum()
    }

    /// How often it strikes in a second, on all cpus; absent where it was not counted, and zero where it never struck.
    pub fn per_second(&self) -> Option<f64> {
        self.counts.iter().map(|count| count.per_second).sum::<Option<f64>>()
    }

    /// Sets the rates from counts of some time later. A counter that ran backwards struck not at all.
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
    use crate::interrupt::away::sample::{interrupt, set};

    fn count(cpu: u32, since_boot: u64) -> CpuCount {
        CpuCount { cpu, since_boot, per_second: None }
    }

    #[test]
    fn rates_are_differences_by_cpu() {
        let mut device = interrupt(36, "virtio1-req.0", "0-3", "2");
        device.counts = vec![count(2, 100), count(3, 7)];
        assert_eq!((device.total(), device.per_second()), (107, None));
        device.counted_again(&[count(0, 4), count(2, 300), count(3, 5)], 2.0);
        let rates: Vec<_> = device.counts.iter().map(|count| (count.cpu, count.per_second.unwrap())).collect();
        assert_eq!(rates, [(0, 2.0), (2, 100.0), (3, 0.0)]);
        assert_eq!((device.total(), device.per_second()), (309, Some(102.0)));
        device.counted_again(&[], 2.0);
        assert_eq!(device.per_second(), Some(0.0), "an interrupt that was counted and never struck has a rate");
    }

    #[test]
    fn what_cannot_be_moved_concerns_the_cpus_that_handle_it_alone() {
        let movable = interrupt(4, "ttyS0", "0-3", "2");
        assert!(movable.concerns(&set("2")) && movable.concerns(&set("0")) && !movable.concerns(&set("4")));
        let managed = DeviceInterrupt { mobility: Mobility::Managed, ..movable };
        assert!(managed.concerns(&set("2")) && !managed.concerns(&set("0")));
        let untold = DeviceInterrupt { effective: None, ..managed };
        assert!(untold.concerns(&set("0")), "without more, it may be any of those that are allowed");
    }
}
