//! The devices of a machine: the cpus near each, its interrupts, and suggested changes.

pub mod document;
mod screen;
#[cfg(test)]
mod tests;

use corewise_machine::Machine;
use corewise_machine::interrupt::device::DeviceInterrupt;
use corewise_machine::suggested_command;
use corewise_model::device_findings::list_device_findings;
use corewise_model::interrupt_findings::list_interrupt_findings;

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::show_result;
use crate::app::settings::ProgramSettings;
use crate::draw::suggestion;
use document::{DevicesDocument, PlacedDevice};
use screen::draw_screen;

/// Shows the devices of a machine with these interrupts.
pub fn list_devices(
    machine: &Machine,
    interrupts: &[DeviceInterrupt],
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    if machine.devices.is_empty() {
        let next = format!(
            "Devices are known on the machine itself if it has a PCI bus, in recordings by this version of {}, in XML that lstopo wrote with \
             I/O devices, and in machine files with `devices`.",
            suggestion::format_mention(&suggested_command::record())
        );
        return Err(CommandFailure::unavailable_error("no devices of this machine are known").with_hint(next));
    }
    let devices: Vec<PlacedDevice<'_>> =
        machine.devices.iter().map(|device| PlacedDevice::new(device, machine, interrupts)).collect();
    let mut findings = list_device_findings(machine, interrupts);
    findings.extend(list_interrupt_findings(machine, interrupts));
    show_result(
        settings,
        || DevicesDocument::new(machine, &devices, &findings),
        || draw_screen(machine, &devices, &findings, settings.width),
    )?;
    Ok(CommandExit::Done)
}
