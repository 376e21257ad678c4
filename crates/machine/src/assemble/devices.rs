//! The devices: each once, in order of their places on the bus.

use crate::facts::Device;

/// The devices in order of their places on the bus, those without a place last; of several at one place the first.
pub fn devices(mut devices: Vec<Device>) -> Vec<Device> {
    devices.sort_by_key(|device| (device.address.is_none(), device.address.clone()));
    devices.dedup_by(|later, earlier| later.address.is_some() && later.address == earlier.address);
    devices
}
