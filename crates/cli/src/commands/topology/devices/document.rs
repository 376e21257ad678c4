//! The JSON document.

use corewise_machine::device::{Near, near};
use corewise_machine::facts::Device;
use corewise_machine::interrupt::device::DeviceInterrupt;
use corewise_machine::{CpuSet, Machine};
use corewise_model::device_findings::interrupts_of;
use corewise_model::finding::Finding;
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise topology --devices --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/devices/1")]
pub struct DevicesDocument<'a> {
    #[schemars(extend("const" = "corewise/devices/1"))]
    schema: &'static str,
    /// The name under which the history knows the machine.
    fingerprint: String,
    /// The cpus that this process may use.
    allowed: &'a CpuSet,
    /// The devices, in order of their places on the bus.
    devices: &'a [PlacedDevice<'a>],
    /// What is worth changing.
    findings: &'a [Finding],
}

impl<'a> DevicesDocument<'a> {
    /// The document of a machine's devices.
    pub fn new(machine: &'a Machine, devices: &'a [PlacedDevice<'a>], findings: &'a [Finding]) -> Self {
        let (fingerprint, allowed) = (machine.fingerprint(), &machine.allowed);
        Self { schema: "corewise/devices/1", fingerprint, allowed, devices, findings }
    }
}

/// A device, and what it is near to.
#[derive(Serialize, JsonSchema)]
pub struct PlacedDevice<'a> {
    /// The device as the system reports it.
    pub device: &'a Device,
    /// The cpus near it, why these, and what speaks against it.
    pub near: Near,
    /// Its interrupts; empty where none are known.
    pub interrupts: Vec<&'a DeviceInterrupt>,
}

impl<'a> PlacedDevice<'a> {
    /// A device of a machine with these interrupts.
    pub fn new(device: &'a Device, machine: &Machine, interrupts: &'a [DeviceInterrupt]) -> Self {
        Self { device, near: near(device, machine), interrupts: interrupts_of(device, interrupts) }
    }
}
