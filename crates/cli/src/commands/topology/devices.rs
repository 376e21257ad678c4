//! The devices of a machine: the cpus near each, its interrupts, and suggested changes.

pub mod document;
mod screen;
#[cfg(test)]
mod tests;

use corewise_machine::Machine;
use corewise_machine::interrupt::device::DeviceInterrupt;
use corewise_machine::suggested_command;
use corewise_model::device_findings::findings;

use crate::app::failure::{Exit, Failure};
use crate::app::output::show;
use crate::app::settings::Settings;
use crate::draw::suggestion;
use document::{DevicesDocument, PlacedDevice};
use screen::screen;

/// Shows the devices of a machine with these interrupts.
pub fn list(machine: &Machine, interrupts: &[DeviceInterrupt], settings: &Settings) -> Result<Exit, Failure> {
    if machine.devices.is_empty() {
        let next = format!(
            "Devices are known on the machine itself if it has a PCI bus, in recordings by this version of {}, in XML that lstopo wrote with \
             I/O devices, and in machine files with `devices`.",
            suggestion::mention(&suggested_command::record())
        );
        return Err(Failure::unavailable("no devices of this machine are known").next(next));
    }
    let devices: Vec<PlacedDevice<'_>> =
        machine.devices.iter().map(|device| PlacedDevice::new(device, machine, interrupts)).collect();
    let findings = findings(machine, interrupts);
    show(
        settings,
        || DevicesDocument::new(machine, &devices, &findings),
        || screen(machine, &devices, &findings, settings.width),
    )?;
    Ok(Exit::Done)
}
