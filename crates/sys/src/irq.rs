//! The interrupts of devices as the kernel reports them: /proc/irq, /sys/kernel/irq, /proc/interrupts.

mod counts;
mod evidence;
#[cfg(feature = "changes")]
mod mover;
mod pci;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};

use corewise_machine::CpuSet;
use corewise_machine::interrupt::device::{CpuCount, DeviceInterrupt};

use crate::interrupts::InterruptTable;
use crate::root::{FIXED_INTERRUPTS, FileSource, Root};
pub use counts::{Counts, read_counts, read_table};
use evidence::MobilityEvidence;
#[cfg(feature = "changes")]
pub use mover::{InterruptArrival, MoveRefusal, check_arrival, may_move, move_away};

/// Reads the interrupts of devices, in order of their numbers. Leaves out interrupts without a handler; facts that the kernel does not
/// report are `None`.
///
/// Interfaces: Documentation/core-api/irq/irq-affinity.rst for /proc/irq, Documentation/ABI/testing/sysfs-kernel-irq. Mobility comes from
/// the flags in /sys/kernel/debug/irq/irqs if readable, else as [`corewise_machine::read_interrupt::device::InterruptMobility`] says.
pub fn read_interrupts(root: &Root) -> Vec<DeviceInterrupt> {
    read_from(root)
}

/// Returns the process number of irqbalance, which moves interrupts by itself; `None` if it does not run.
pub fn find_irqbalance(root: &Root) -> Option<u32> {
    let numbers = root.list_folder("proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    let mut named = numbers.filter(|number| {
        root.read_text(&format!("proc/{number}/comm")).is_some_and(|name| name.trim_end() == "irqbalance")
    });
    named.next()
}

pub(crate) fn read_from(source: &dyn FileSource) -> Vec<DeviceInterrupt> {
    let reader = IrqReader::new(source);
    reader.interrupt_numbers().into_iter().filter_map(|number| reader.read_interrupt(number)).collect()
}

/// Reads single interrupts, with the facts that the kernel reports for all at once.
struct IrqReader<'a> {
    source: &'a dyn FileSource,
    table: InterruptTable,
    counts: Counts,
    fixed: HashSet<u32>,
    drivers: pci::PciDrivers<'a>,
}

impl<'a> IrqReader<'a> {
    fn new(source: &'a dyn FileSource) -> Self {
        let table = counts::table_of(source);
        let fixed = source.file_text(FIXED_INTERRUPTS).unwrap_or_default();
        Self {
            source,
            counts: counts::counts_of_table(&table),
            table,
            fixed: fixed.lines().filter_map(|line| line.parse().ok()).collect(),
            drivers: pci::PciDrivers::new(source),
        }
    }

    fn interrupt_numbers(&self) -> BTreeSet<u32> {
        let folders =
            ["sys/kernel/irq", "proc/irq"].map(|folder| self.source.folder_names(folder)).into_iter().flatten();
        let listed = self.table.sources.iter().map(|source| source.name.clone());
        folders.chain(listed).filter_map(|name| name.parse().ok()).collect()
    }

    fn read_interrupt(&self, number: u32) -> Option<DeviceInterrupt> {
        let handlers = self.handler_names(number);
        if handlers.is_empty() {
            return None;
        }
        let chip = self.read_word(number, "chip_name");
        let hardware_number = self.read_word(number, "hwirq").and_then(|word| word.parse().ok());
        let device = chip.as_deref().and_then(|chip| pci::device_address(chip, hardware_number));
        let allowed = self.read_list(number, "smp_affinity_list");
        let flags = self.source.file_text(&format!("sys/kernel/debug/irq/irqs/{number}"));
        let evidence = MobilityEvidence {
            flags: flags.as_deref(),
            chip: chip.as_deref(),
            hardware_number,
            is_read_only: self.fixed.contains(&number),
            has_affinity: allowed.is_some(),
        };
        Some(DeviceInterrupt {
            number,
            handlers,
            driver: device.as_deref().and_then(|address| self.drivers.driver_at(address)),
            mobility: evidence.conclude_mobility(),
            device,
            chip,
            hardware_number,
            trigger: self.read_word(number, "type"),
            allowed,
            effective: self.read_list(number, "effective_affinity_list"),
            hint: self.in_proc(number, "affinity_hint", |text| non_empty(CpuSet::parse_mask(text).ok()?)),
            // The kernel says -1 if it knows none.
            node: self.in_proc(number, "node", |text| text.parse().ok()),
            wakes: self.read_word(number, "wakeup").map(|word| word == "enabled"),
            counts: self.counts.get(&number).cloned().or_else(|| self.counts_in_sysfs(number)).unwrap_or_default(),
        })
    }

    /// Returns the handlers' names: from sysfs, from /proc/interrupts, or from their folders.
    fn handler_names(&self, number: u32) -> Vec<String> {
        let split = |text: &str, by: &str| {
            text.split(by).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect::<Vec<_>>()
        };
        if let Some(actions) = self.source.file_text(&format!("sys/kernel/irq/{number}/actions")) {
            return split(&actions, ",");
        }
        let name = number.to_string();
        match self.table.sources.iter().find(|source| source.name == name) {
            Some(source) => split(&source.device, ", "),
            None => self
                .source
                .folder_names(&format!("proc/irq/{number}"))
                .into_iter()
                .filter(|name| !is_file(name))
                .collect(),
        }
    }

    fn read_word(&self, number: u32, name: &str) -> Option<String> {
        let text = self.source.file_text(&format!("sys/kernel/irq/{number}/{name}"))?;
        Some(text.trim().to_owned()).filter(|word| !word.is_empty())
    }

    /// Reads a value from /proc/irq; `None` if it cannot be read.
    fn in_proc<T>(&self, number: u32, name: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        parse(self.source.file_text(&format!("proc/irq/{number}/{name}"))?.trim())
    }

    fn read_list(&self, number: u32, name: &str) -> Option<CpuSet> {
        self.in_proc(number, name, |text| non_empty(CpuSet::parse_list(text).ok()?))
    }

    /// Reads the counts in sysfs, one for each cpu that the machine could have.
    fn counts_in_sysfs(&self, number: u32) -> Option<Vec<CpuCount>> {
        let text = self.read_word(number, "per_cpu_count")?;
        let possible = CpuSet::parse_list(self.source.file_text("sys/devices/system/cpu/possible")?.trim()).ok()?;
        Some(counts::above_zero(possible.iter().zip(text.split(',').map_while(|count| count.parse().ok()))))
    }
}

/// Returns `None` for an empty list: the kernel has chosen no cpu, as for interrupts that each cpu has its own of.
fn non_empty(cpus: CpuSet) -> Option<CpuSet> {
    (!cpus.is_empty()).then_some(cpus)
}

/// Returns true for the files of a folder in /proc/irq; its folders are named after handlers.
fn is_file(name: &str) -> bool {
    const FILES: [&str; 7] = [
        "affinity_hint",
        "effective_affinity",
        "effective_affinity_list",
        "node",
        "smp_affinity",
        "smp_affinity_list",
        "spurious",
    ];
    FILES.contains(&name)
}
