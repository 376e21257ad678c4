//! Evidence against moving an interrupt.

use corewise_machine::interrupt::device::InterruptMobility;

/// Facts about an interrupt that decide if it can be moved.
#[derive(Clone, Copy, Debug, Default)]
pub struct MobilityEvidence<'a> {
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

impl MobilityEvidence<'_> {
    /// Concludes the mobility. The kernel's own flags decide. Without them, per-cpu interrupts are recognised by their controller. Of the
    /// others that cannot be written, messages (MSI) are taken to be managed: drivers request that in the call that gives them several
    /// messages (`pci_alloc_irq_vectors_affinity`).
    pub fn conclude_mobility(&self) -> InterruptMobility {
        if let Some(mobility) = self.mobility_by_flags() {
            return mobility;
        }
        match (self.is_of_each_cpu(), self.is_read_only, self.has_affinity) {
            (true, ..) => InterruptMobility::PerCpu,
            (_, true, _) if self.is_message() => InterruptMobility::Managed,
            (_, true, _) => InterruptMobility::Fixed,
            (.., true) => InterruptMobility::Movable,
            _ => InterruptMobility::Unknown,
        }
    }

    /// Reads the flags. Names from Linux, `kernel/irq/debugfs.c`, `irqdata_states`.
    fn mobility_by_flags(&self) -> Option<InterruptMobility> {
        let has = |flag: &str| self.flags.is_some_and(|text| text.lines().any(|line| line.trim() == flag));
        let known = [
            ("IRQD_AFFINITY_MANAGED", InterruptMobility::Managed),
            ("IRQD_PER_CPU", InterruptMobility::PerCpu),
            ("IRQD_NO_BALANCING", InterruptMobility::Fixed),
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

    const WRITABLE: MobilityEvidence<'_> =
        MobilityEvidence { flags: None, chip: None, hardware_number: None, is_read_only: false, has_affinity: true };

    #[test]
    fn the_kernels_flags_decide() {
        let flagged = |flags| {
            MobilityEvidence { flags: Some(flags), chip: Some("PCI-MSI-0000:01:00.0"), ..WRITABLE }.conclude_mobility()
        };
        let managed = "handler:  handle_edge_irq\ndstate:   0x2d401600\n            IRQD_ACTIVATED\n            IRQD_AFFINITY_MANAGED\n";
        assert_eq!(flagged(managed), InterruptMobility::Managed, "old kernels let one try to write");
        assert_eq!(flagged("status:   0x00000000\n            _IRQ_PER_CPU\n"), InterruptMobility::Movable);
        assert_eq!(flagged("            IRQD_PER_CPU\n"), InterruptMobility::PerCpu);
        assert_eq!(flagged("            IRQD_NO_BALANCING\n"), InterruptMobility::Fixed);
    }

    #[test]
    fn without_flags_the_file_and_the_controller_tell() {
        let of = |chip, number, is_read_only| {
            MobilityEvidence { chip: Some(chip), hardware_number: Some(number), is_read_only, ..WRITABLE }
                .conclude_mobility()
        };
        assert_eq!(of("PCI-MSIX-0000:00:02.0", 1, true), InterruptMobility::Managed);
        assert_eq!(of("ITS-PCI-MSIX-0000:01:00.0", 1, true), InterruptMobility::Managed);
        assert_eq!(of("IO-APIC", 2, true), InterruptMobility::Fixed);
        assert_eq!(of("IO-APIC", 4, false), InterruptMobility::Movable);
        assert_eq!(of("GICv3", 27, false), InterruptMobility::PerCpu);
        assert_eq!(of("GICv3", 1056, false), InterruptMobility::PerCpu);
        assert_eq!(of("GICv3", 32, false), InterruptMobility::Movable);
        assert_eq!(of("IO-APIC", 27, false), InterruptMobility::Movable, "only the GIC counts so");
        assert_eq!(of("RISC-V INTC", 5, false), InterruptMobility::PerCpu);
        assert_eq!(
            MobilityEvidence { has_affinity: false, ..WRITABLE }.conclude_mobility(),
            InterruptMobility::Unknown
        );
    }
}
