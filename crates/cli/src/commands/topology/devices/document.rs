//! The JSON document.

use corewise_machine::device::{NearCpus, cpus_near};
use corewise_machine::facts::PciDevice;
use corewise_machine::interrupt::device::DeviceInterrupt;
use corewise_machine::{CpuSet, Machine};
use corewise_model::device_findings::interrupts_of;
use corewise_model::finding::Finding;
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `corewise topology --devices --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/devices/1")]
pub struct DevicesDocument<'a> {
    #[schemars(extend("const" = "corewise/devices/1"))]
    schema: &'static str,
    /// The name of the machine in the history.
    fingerprint: String,
    /// The cpus that this process may use.
    allowed: &'a CpuSet,
    /// The devices, in order of their places on the bus.
    devices: &'a [PlacedDevice<'a>],
    /// Suggested changes.
    findings: &'a [Finding],
}

impl<'a> DevicesDocument<'a> {
    /// Creates the document.
    pub fn new(machine: &'a Machine, devices: &'a [PlacedDevice<'a>], findings: &'a [Finding]) -> Self {
        let (fingerprint, allowed) = (machine.fingerprint(), &machine.allowed);
        Self { schema: "corewise/devices/1", fingerprint, allowed, devices, findings }
    }
}

/// A device, and the cpus near it.
#[derive(Serialize, JsonSchema)]
pub struct PlacedDevice<'a> {
    /// The device as the system reports it.
    pub device: &'a PciDevice,
    /// The cpus near it, the reason, and any doubt.
    pub near: NearCpus,
    /// Its interrupts; empty if none are known.
    pub interrupts: Vec<&'a DeviceInterrupt>,
}

impl<'a> PlacedDevice<'a> {
    /// Places a device of a machine with these interrupts.
    pub fn new(device: &'a PciDevice, machine: &Machine, interrupts: &'a [DeviceInterrupt]) -> Self {
        Self { device, near: cpus_near(device, machine), interrupts: interrupts_of(device, interrupts) }
    }
}
