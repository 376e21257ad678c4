//! The device that a user means by a name, by its place on the bus, or by its number among the GPUs.

use crate::Machine;
use crate::facts::{Device, DeviceKind};
use crate::suggested_command;

/// Before the place on the bus.
const BUS: &str = "pci:";
/// Before the number of a GPU.
const GPU: &str = "gpu:";
/// So many devices are named.
const MOST_NAMED: usize = 24;

/// Why there is no such device, and what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfound {
    /// What is wrong, in words that follow the name and a colon.
    pub what: String,
    /// What to do next.
    pub hint: String,
}

/// The device of a machine by what a user writes: "eth0", "nvme0n1", "pci:0000:41:00.0", "gpu:0". GPUs count in the order of their
/// places on the bus; a management controller's graphics are none.
///
/// # Errors
/// [`Unfound`] where no device is called so, or several are, and where the machine has none.
pub fn find<'a>(machine: &'a Machine, name: &str) -> Result<&'a Device, Unfound> {
    if machine.devices.is_empty() {
        return Err(Unfound {
            what: "no devices of this machine are known".to_owned(),
            hint: "devices are known on the machine itself, in recordings of this version, in lstopo's XML with I/O \
                   devices, and in machine files that list them"
                .to_owned(),
        });
    }
    let mut found = machine.devices.iter().filter(|device| device.is_named(name));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(one), Some(another)) => Err(Unfound {
            what: "several devices have this name".to_owned(),
            hint: format!("name one of them: {} or {}, …", by_place(one), by_place(another)),
        }),
        (None, _) => by_number(machine, name).ok_or_else(|| unknown(machine)),
    }
}

fn by_number<'a>(machine: &'a Machine, name: &str) -> Option<&'a Device> {
    if let Some(address) = name.strip_prefix(BUS) {
        let long = format!("0000:{address}");
        let is_at = |own: &String| own.eq_ignore_ascii_case(address) || own.eq_ignore_ascii_case(&long);
        return machine.devices.iter().find(|device| device.address.as_ref().is_some_and(is_at));
    }
    let number: usize = name.strip_prefix(GPU)?.parse().ok()?;
    machine.devices.iter().filter(|device| device.kind == DeviceKind::Gpu).nth(number)
}

fn by_place(device: &Device) -> String {
    device.address.as_ref().map_or_else(|| device.title(), |address| format!("{BUS}{address}"))
}

fn unknown(machine: &Machine) -> Unfound {
    let named = machine.devices.iter().flat_map(|device| match device.names.is_empty() {
        true => vec![device.title()],
        false => device.names.clone(),
    });
    let mut names: Vec<String> = named.collect();
    let more = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    names.extend((more > 0).then(|| format!("{more} more ({})", suggested_command::topology_devices().mention())));
    Unfound {
        what: "this machine has no such device".to_owned(),
        hint: format!("the devices here are {}", names.join(", ")),
    }
}
