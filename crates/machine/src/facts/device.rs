//! A PCI device that programs wait for, and its place in the machine.

use crate::CpuSet;

/// A network card, a disk, a graphics card or another accelerator. Unknown facts are absent.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct PciDevice {
    /// Kind of device.
    pub kind: DeviceKind,
    /// The system's names: "eth0", "mlx5_0", "nvme0", "nvme0n1", "card0"; empty if no driver has named it.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub names: Vec<String>,
    /// Address on the bus: "0000:41:00.0".
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub address: Option<String>,
    /// Driver: "ixgbe".
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub driver: Option<String>,
    /// Number of its memory node; absent if the source reports none (Linux: -1).
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub node: Option<u32>,
    /// Cpus that the source calls local to it. They may contradict the node.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub local_cpus: Option<CpuSet>,
    /// PCI Express connection.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub link: Option<PcieLink>,
    /// Number of its driver's queues; for a network card, of its receive queues.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub queues: Option<u32>,
}

/// Kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "json",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum DeviceKind {
    /// A network card.
    Network,
    /// An InfiniBand adapter that is not also a network card.
    #[cfg_attr(feature = "json", serde(rename = "infiniband"))]
    InfiniBand,
    /// A disk, or a controller of disks.
    Storage,
    /// A graphics card that can compute.
    Gpu,
    /// Graphics that only show a console: a server's management controller, or an emulator.
    Display,
    /// A compute device other than a graphics card.
    Accelerator,
}

impl DeviceKind {
    /// Returns the word in a table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::InfiniBand => "InfiniBand",
            Self::Storage => "storage",
            Self::Gpu => "GPU",
            Self::Display => "display",
            Self::Accelerator => "accelerator",
        }
    }
}

/// PCI Express connection of a device. Idle devices may run it below its maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct PcieLink {
    /// Speed when it was read, in GT/s per lane.
    pub speed_gt_s: Option<f64>,
    /// Width when it was read, in lanes.
    pub lanes: Option<u32>,
    /// Highest speed of the device, in GT/s per lane.
    pub most_speed_gt_s: Option<f64>,
    /// Largest width of the device, in lanes.
    pub most_lanes: Option<u32>,
}

impl PciDevice {
    /// Returns the first name, or the address on the bus.
    pub fn title(&self) -> String {
        let address = || self.address.as_ref().map(|address| format!("pci:{address}"));
        self.names.first().cloned().or_else(address).unwrap_or_else(|| self.kind.word().to_owned())
    }

    /// Returns true if `name` is one of its names.
    pub fn is_named(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }
}
