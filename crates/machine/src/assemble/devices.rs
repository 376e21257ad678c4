//! Devices: each once, in order of their bus addresses.

use crate::facts::PciDevice;

/// Sorts the devices by bus address, those without one last; of several at one address the first remains.
pub fn order_devices(mut devices: Vec<PciDevice>) -> Vec<PciDevice> {
    devices.sort_by_key(|device| (device.address.is_none(), device.address.clone()));
    devices.dedup_by(|later, earlier| later.address.is_some() && later.address == earlier.address);
    devices
}
