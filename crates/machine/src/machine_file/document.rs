//! Structure of a machine file: the keys of its TOML.

use serde::Deserialize;
use toml::Spanned;

use super::entries::{ByteSize, CacheName, NodeDistances};
use super::objects::ObjectList;
use crate::CpuSet;
use crate::facts::DeviceKind;

/// The whole file. Levels name offline cpus like all others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineDocument {
    /// Model name of the processor.
    pub name: String,
    /// Summary of the machine in one sentence.
    pub about: Option<String>,
    /// Numbering of the cpus, and the system that numbers them so.
    pub numbering: Option<String>,
    /// Source of each fact.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Facts that may differ on a real machine.
    #[serde(default)]
    pub uncertain: Vec<String>,

    /// Vendor: "AuthenticAMD", "GenuineIntel", "ARM".
    pub vendor: Option<String>,
    /// The x86 family including the extended family.
    pub family: Option<u32>,
    /// The x86 model including the extended model.
    pub model: Option<u32>,
    /// The x86 stepping.
    pub stepping: Option<u32>,
    /// Architecture: "x86_64", "aarch64".
    pub architecture: Option<String>,

    /// Cpus that are plugged in.
    pub cpus: Spanned<CpuSet>,
    /// Cpus that the kernel could ever have, if more.
    pub possible: Option<Spanned<CpuSet>>,
    /// Cpus that are switched off.
    pub offline: Option<Spanned<CpuSet>>,
    /// Cpus out of the scheduler's balancing.
    pub isolated: Option<Spanned<CpuSet>>,
    /// Cpus without a tick.
    pub nohz_full: Option<Spanned<CpuSet>>,
    /// Cpus that a process may use.
    pub allowed: Option<Spanned<CpuSet>>,

    /// Packages; by default one.
    pub packages: Option<Spanned<ObjectList>>,
    /// Dies; by default the packages.
    pub dies: Option<Spanned<ObjectList>>,
    /// Clusters; by default cores that share an L2.
    pub clusters: Option<Spanned<ObjectList>>,
    /// Cores; by default each cpu.
    pub cores: Option<Spanned<ObjectList>>,
    /// Caches.
    #[serde(default)]
    pub caches: Vec<Spanned<CacheEntry>>,
    /// NUMA nodes; by default one.
    #[serde(default)]
    pub nodes: Vec<Spanned<NodeEntry>>,
    /// Distances between nodes.
    pub distances: Option<Spanned<NodeDistances>>,
    /// Classes of core.
    pub kinds: Option<Spanned<KindsEntry>>,
    /// Frequencies.
    #[serde(default)]
    pub frequencies: Vec<Spanned<FrequencyEntry>>,
    /// Network cards, disks, graphics cards and other devices.
    #[serde(default)]
    pub devices: Vec<Spanned<DeviceEntry>>,
}

/// A device.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceEntry {
    /// Kind of device.
    pub kind: DeviceKind,
    /// The system's names.
    #[serde(default)]
    pub names: Vec<String>,
    /// Address on the bus.
    pub address: Option<String>,
    /// Driver.
    pub driver: Option<String>,
    /// Number of its node, as a system would report it; unknown if missing.
    pub node: Option<u32>,
    /// Cpus that a system would call local to it.
    pub local_cpus: Option<CpuSet>,
    /// Number of queues.
    pub queues: Option<u32>,
}

/// Caches of one name and size.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheEntry {
    /// Level and contents.
    pub cache: CacheName,
    /// Size of each.
    pub size: Option<ByteSize>,
    /// Level at which each object has one.
    pub per: Option<CacheSharing>,
    /// Alternatively, the sets of cpus with one each.
    pub cpus: Option<ObjectList>,
}

/// Level at which each object has a cache of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheSharing {
    /// Each core.
    Core,
    /// Each cluster that the file names.
    Cluster,
    /// Each die.
    Die,
    /// Each package.
    Package,
}

/// One node, or several alike.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeEntry {
    /// Number of the first; by default the number after the previous node's.
    pub number: Option<u32>,
    /// Cpus of each node; none for a node of memory only.
    pub cpus: Option<ObjectList>,
    /// Memory of each.
    pub memory: Option<ByteSize>,
}

/// Classes of core.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindsEntry {
    /// The larger, faster cores.
    pub performance: Option<CpuSet>,
    /// The smaller cores.
    pub efficiency: Option<CpuSet>,
    /// The smallest cores.
    #[serde(rename = "low-power")]
    pub low_power: Option<CpuSet>,
}

/// Frequencies of some cpus.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrequencyEntry {
    /// The cpus; by default all.
    pub cpus: Option<CpuSet>,
    /// Highest frequency, in megahertz.
    pub maximum_mhz: Option<u32>,
    /// Frequency without turbo, in megahertz.
    pub base_mhz: Option<u32>,
}
