//! A device on the PCI bus that programs wait for: what a source says of it, and where that hangs.

use serde::{Deserialize, Serialize};

use crate::CpuSet;

/// A network card, a disk, a graphics card or another accelerator. What is not known is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Device {
    /// What it is.
    pub kind: DeviceKind,
    /// What the system calls it: "eth0", "mlx5_0", "nvme0", "nvme0n1", "card0"; empty where no driver has given it a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Where it is on the bus: "0000:41:00.0".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its driver: "ixgbe".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The number of its memory node, as the source says; absent where it says none (Linux: -1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// The cpus that the source calls local to it. They may contradict the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_cpus: Option<CpuSet>,
    /// How it is connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// How many queues its driver has: for a network card those that receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<u32>,
}

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A network card.
    Network,
    /// An InfiniBand adapter that is no network card too.
    #[serde(rename = "infiniband")]
    InfiniBand,
    /// A disk, or a controller of disks.
    Storage,
    /// A graphics card that computes.
    Gpu,
    /// Graphics that only show a console: those of a server's management controller, or of an emulator.
    Display,
    /// What computes and is no graphics card.
    Accelerator,
}

impl DeviceKind {
    /// The word for it in a table.
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

/// A device's connection: PCI Express. Idle devices may run it at less than it can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// Its speed when it was read, in GT/s a lane.
    pub speed_gt_s: Option<f64>,
    /// Its width when it was read, in lanes.
    pub lanes: Option<u32>,
    /// The highest speed of the device, in GT/s a lane.
    pub most_speed_gt_s: Option<f64>,
    /// The largest width of the device, in lanes.
    pub most_lanes: Option<u32>,
}

impl Device {
    /// What a user calls it: its first name, or where it is on the bus.
    pub fn title(&self) -> String {
        let address = || self.address.as_ref().map(|address| format!("pci:{address}"));
        self.names.first().cloned().or_else(address).unwrap_or_else(|| self.kind.word().to_owned())
    }

    /// Whether the system calls it so.
    pub fn is_named(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }
}
