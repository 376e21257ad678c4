//! Evidence against moving an interrupt.

use corewise_machine::interrupt::device::Mobility;

/// Facts about an interrupt that decide if it can be moved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// Text of the kernel's debugging file, if it can be read (CONFIG_GENERIC_IRQ_DEBUGFS, root).
    pub flags: Option<&'a str>,
    /// Its controller.
    pub chip: Option<&'a str>,
    /// Its number at the controller.
    pub hardware_number: Option<u64>,
    /// No user may write the file of its cpus.
    pub is_read_only: bool,
    /// The cpus that may handle it can be read.
    pub has_affinity: bool,
}

impl Evidence<'_> {
    /// Concludes the mobility. The kernel's own flags decide. Without them, per-cpu interrupts are recognised by their controller. Of the
    /// others that cannot be written, messages (MSI) are taken to be managed: drivers request that in the call that gives them several
    /// messages (`pci_alloc_irq_vectors_affinity`).
    pub fn mobility(&self) -> Mobility {
        if let Some(mobility) = self.flagged() {
            return mobility;
        }
        match (self.is_of_each_cpu(), self.is_read_only, self.has_affinity) {
            (true, ..) => Mobility::PerCpu,
            (_, true, _) if self.is_message() => Mobility::Managed,
            (_, true, _) => Mobility::Fixed,
            (.., true) => Mobility::Movable,
            _ => Mobility::Unknown,
        }
    }

    /// Reads the flags. Names from Linux, `kernel/irq/debugfs.c`, `irqdata_states`.
    fn flagged(&self) -> Option<Mobility> {
        let has = |flag: &str| self.flags.is_some_and(|text| text.lines().any(|line| line.trim() == flag));
        let known = [
            ("IRQD_AFFINITY_MANAGED", Mobility::Managed),
            ("IRQD_PER_CPU", Mobility::PerCpu),
            ("IRQD_NO_BALANCING", Mobility::Fixed),
        ];
        known.into_iter().find(|(flag, _)| has(flag)).map(|(_, mobility)| mobility)
    }

    /// Returns true for per-cpu interrupts: 0 to 31 of Arm's GIC, 1056 to 1119 of version 3.1, and all of RISC-V's own controller.
    fn is_of_each_cpu(&self) -> bool {
        let chip = self.chip.unwrap_or_default();
        let is_private = self.hardware_number.is_some_and(|number| matches!(number, 0..=31 | 1056..=1119));
        (chip.starts_with("GIC") && is_private) || chip == "RISC-V INTC"
    }

    fn is_message(&self) -> bool {
        self.chip.is_some_and(|chip| chip.contains("PCI-MSI") || chip.starts_with("ITS-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITABLE: Evidence<'_> =
        Evidence { flags: None, chip: None, hardware_number: None, is_read_only: false, has_affinity: true };

    #[test]
    fn the_kernels_flags_decide() {
        let flagged =
            |flags| Evidence { flags: Some(flags), chip: Some("PCI-MSI-0000:01:00.0"), ..WRITABLE }.mobility();
        let managed = "handler:  handle_edge_irq\ndstate:   0x2d401600\n            IRQD_ACTIVATED\n            IRQD_AFFINITY_MANAGED\n";
        assert_eq!(flagged(managed), Mobility::Managed, "old kernels let one try to write");
        assert_eq!(flagged("status:   0x00000000\n            _IRQ_PER_CPU\n"), Mobility::Movable);
        assert_eq!(flagged("            IRQD_PER_CPU\n"), Mobility::PerCpu);
        assert_eq!(flagged("            IRQD_NO_BALANCING\n"), Mobility::Fixed);
    }

    #[test]
    fn without_flags_the_file_and_the_controller_tell() {
        let of = |chip, number, is_read_only| {
            Evidence { chip: Some(chip), hardware_number: Some(number), is_read_only, ..WRITABLE }.mobility()
        };
        assert_eq!(of("PCI-MSIX-0000:00:02.0", 1, true), Mobility::Managed);
        assert_eq!(of("ITS-PCI-MSIX-0000:01:00.0", 1, true), Mobility::Managed);
        assert_eq!(of("IO-APIC", 2, true), Mobility::Fixed);
        assert_eq!(of("IO-APIC", 4, false), Mobility::Movable);
        assert_eq!(of("GICv3", 27, false), Mobility::PerCpu);
        assert_eq!(of("GICv3", 1056, false), Mobility::PerCpu);
        assert_eq!(of("GICv3", 32, false), Mobility::Movable);
        assert_eq!(of("IO-APIC", 27, false), Mobility::Movable, "only the GIC counts so");
        assert_eq!(of("RISC-V INTC", 5, false), Mobility::PerCpu);
        assert_eq!(Evidence { has_affinity: false, ..WRITABLE }.mobility(), Mobility::Unknown);
    }
}
