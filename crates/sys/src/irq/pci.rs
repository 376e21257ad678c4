//! The PCI device that raises an interrupt, and its driver.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::root::{FileSource, PCI_DEVICES};

/// Returns the device's address, from the end of newer controllers' names ("PCI-MSIX-0000:00:02.0"), or from the hardware number of older
/// controllers, which serve all devices.
///
/// Linux, `drivers/pci/msi/irqdomain.c`, `pci_msi_domain_calc_hwirq`: index, device << 11, domain << 27.
pub fn device_address(chip: &str, hardware_number: Option<u64>) -> Option<String> {
    if let Some(address) = chip.rsplit('-').next().filter(|text| is_address(text)) {
        return Some(address.to_owned());
    }
    let number =
        hardware_number.filter(|_| chip.ends_with("PCI-MSI") || chip.ends_with("PCI-MSIX") || chip == "ITS-MSI")?;
    let (domain, device) = (number >> 27, (number >> 11) & 0xffff);
    Some(format!("{domain:04x}:{:02x}:{:02x}.{}", device >> 8, (device >> 3) & 0x1f, device & 7))
}

/// Returns true for an address like "0000:00:02.0".
fn is_address(text: &str) -> bool {
    let is_hexadecimal = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<&str> = text.split([':', '.']).collect();
    parts.len() == 4 && text.matches(':').count() == 2 && parts.iter().all(|part| is_hexadecimal(part))
}

/// The drivers of PCI devices; each is read once, for all interrupts of the device.
pub struct PciDrivers<'a> {
    source: &'a dyn FileSource,
    known: RefCell<HashMap<String, Option<String>>>,
}

impl<'a> PciDrivers<'a> {
    pub fn new(source: &'a dyn FileSource) -> Self {
        Self { source, known: RefCell::default() }
    }

    /// Returns the driver of the device at an address.
    pub fn driver_at(&self, address: &str) -> Option<String> {
        let read = || {
            let text = self.source.file_text(&format!("{PCI_DEVICES}/{address}/uevent"))?;
            text.lines().find_map(|line| line.strip_prefix("DRIVER=")).map(str::to_owned)
        };
        self.known.borrow_mut().entry(address.to_owned()).or_insert_with(read).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named_by_the_chip_or_by_the_hardware_number() {
        let found = |chip, number| device_address(chip, Some(number));
        let at = |text: &str| Some(text.to_owned());
        assert_eq!(found("PCI-MSIX-0000:00:02.0", 1), at("0000:00:02.0"));
        assert_eq!(found("IR-PCI-MSI-10000:3b:1f.7", 1), at("10000:3b:1f.7"));
        assert_eq!(found("PCI-MSI", 524_289), at("0000:01:00.0"));
        assert_eq!(found("IR-PCI-MSI", 29_884_416), at("0000:39:00.0"));
        assert_eq!(found("ITS-MSI", 134_750_209), at("0001:01:00.4"));
        assert_eq!(found("IO-APIC", 5), None);
        assert_eq!(found("IR-HPET-MSI", 5), None);
        assert_eq!(device_address("PCI-MSI", None), None);
    }
}
