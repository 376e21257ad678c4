//! Finds a device by its name, its bus address, or its number among the GPUs.

use crate::Machine;
use crate::facts::{DeviceKind, PciDevice};
use crate::suggested_command;

/// Prefix of a bus address.
const BUS: &str = "pci:";
/// Prefix of a GPU's number.
const GPU: &str = "gpu:";
/// Maximum devices named in a hint.
const MOST_NAMED: usize = 24;

/// Reason why no device was found, with the existing ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDevice {
    /// The problem, in words that follow the name and a colon.
    pub what: String,
    /// The next step.
    pub hint: String,
}

/// Finds a device of a machine by the user's text: "eth0", "nvme0n1", "pci:0000:41:00.0", "gpu:0". GPUs count in the order of their bus
/// addresses; a management controller's graphics do not count.
///
/// # Errors
/// [`UnknownDevice`] if no device or several have this name, or the machine has none.
pub fn find_device<'a>(machine: &'a Machine, name: &str) -> Result<&'a PciDevice, UnknownDevice> {
    if machine.devices.is_empty() {
        return Err(UnknownDevice {
            what: "no devices of this machine are known".to_owned(),
            hint: "devices are known on the machine itself, in recordings of this version, in lstopo's XML with I/O \
                   devices, and in machine files that list them"
                .to_owned(),
        });
    }
    let mut found = machine.devices.iter().filter(|device| device.is_named(name));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(one), Some(another)) => Err(UnknownDevice {
            what: "several devices have this name".to_owned(),
            hint: format!("name one of them: {} or {}, …", by_place(one), by_place(another)),
        }),
        (None, _) => by_number(machine, name).ok_or_else(|| unknown_device(machine)),
    }
}

fn by_number<'a>(machine: &'a Machine, name: &str) -> Option<&'a PciDevice> {
    if let Some(address) = name.strip_prefix(BUS) {
        let long = format!("0000:{address}");
        let is_at = |own: &String| own.eq_ignore_ascii_case(address) || own.eq_ignore_ascii_case(&long);
        return machine.devices.iter().find(|device| device.address.as_ref().is_some_and(is_at));
    }
    let number: usize = name.strip_prefix(GPU)?.parse().ok()?;
    machine.devices.iter().filter(|device| device.kind == DeviceKind::Gpu).nth(number)
}

fn by_place(device: &PciDevice) -> String {
    device.address.as_ref().map_or_else(|| device.title(), |address| format!("{BUS}{address}"))
}

fn unknown_device(machine: &Machine) -> UnknownDevice {
    let named = machine.devices.iter().flat_map(|device| match device.names.is_empty() {
        true => vec![device.title()],
        false => device.names.clone(),
    });
    let mut names: Vec<String> = named.collect();
    let more = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    names.extend((more > 0).then(|| format!("{more} more ({})", suggested_command::topology_devices().quoted_line())));
    UnknownDevice {
        what: "this machine has no such device".to_owned(),
        hint: format!("the devices here are {}", names.join(", ")),
    }
}
