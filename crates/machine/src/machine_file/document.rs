//! A machine file as it is written: the keys that TOML may hold.

use serde::Deserialize;
use toml::Spanned;

use super::entries::{CacheName, Distances, Size};
use super::objects::Objects;
use crate::CpuSet;
use crate::facts::DeviceKind;

/// The whole file. Cpus that are offline are named in the levels like all others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The name that the processor gives itself.
    pub name: String,
    /// What the machine is known for, in one sentence.
    pub about: Option<String>,
    /// How cpus are numbered, and by which system.
    pub numbering: Option<String>,
    /// Where each fact is from.
    #[serde(default)]
    pub sources: Vec<String>,
    /// What may be different on a real one.
    #[serde(default)]
    pub uncertain: Vec<String>,

    /// "AuthenticAMD", "GenuineIntel", "ARM".
    pub vendor: Option<String>,
    /// The x86 family, extended family added.
    pub family: Option<u32>,
    /// The x86 model, extended model added.
    pub model: Option<u32>,
    /// The x86 stepping.
    pub stepping: Option<u32>,
    /// "x86_64", "aarch64".
    pub architecture: Option<String>,

    /// Cpus that are plugged in.
    pub cpus: Spanned<CpuSet>,
    /// Cpus the kernel could ever have, where that is more.
    pub possible: Option<Spanned<CpuSet>>,
    /// Those of the cpus that are switched off.
    pub offline: Option<Spanned<CpuSet>>,
    /// Those out of the scheduler's balancing.
    pub isolated: Option<Spanned<CpuSet>>,
    /// Those without a tick.
    pub nohz_full: Option<Spanned<CpuSet>>,
    /// Those a process may use.
    pub allowed: Option<Spanned<CpuSet>>,

    /// One package where it is missing.
    pub packages: Option<Spanned<Objects>>,
    /// The packages where it is missing.
    pub dies: Option<Spanned<Objects>>,
    /// Cores that share an L2 where it is missing.
    pub clusters: Option<Spanned<Objects>>,
    /// Each cpu a core where it is missing.
    pub cores: Option<Spanned<Objects>>,
    /// Caches.
    #[serde(default)]
    pub caches: Vec<Spanned<CacheEntry>>,
    /// One node where there is none.
    #[serde(default)]
    pub nodes: Vec<Spanned<NodeEntry>>,
    /// Distances between nodes.
    pub distances: Option<Spanned<Distances>>,
    /// Classes of core.
    pub kinds: Option<Spanned<Kinds>>,
    /// Frequencies.
    #[serde(default)]
    pub frequencies: Vec<Spanned<FrequencyEntry>>,
    /// Network cards, disks, graphics cards and the like.
    #[serde(default)]
    pub devices: Vec<Spanned<DeviceEntry>>,
}

/// A device.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceEntry {
    /// What it is.
    pub kind: DeviceKind,
    /// What the system calls it.
    #[serde(default)]
    pub names: Vec<String>,
    /// Where it is on the bus.
    pub address: Option<String>,
    /// Its driver.
    pub driver: Option<String>,
    /// The number of its node, as a system would report it; unknown where it is missing.
    pub node: Option<u32>,
    /// The cpus that a system would call local to it.
    pub local_cpus: Option<CpuSet>,
    /// How many queues it has.
    pub queues: Option<u32>,
}

/// Caches of one name and size.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheEntry {
    /// Which cache.
    pub cache: CacheName,
    /// The size of each.
    pub size: Option<Size>,
    /// One for each object of this level.
    pub per: Option<Sharing>,
    /// Or one for each of these sets of cpus.
    pub cpus: Option<Objects>,
}

/// Of which level each object has a cache of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
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
    /// The number of the first; the next after the node before where it is missing.
    pub number: Option<u32>,
    /// The cpus of each node; none for a node of memory only.
    pub cpus: Option<Objects>,
    /// The memory of each.
    pub memory: Option<Size>,
}

/// Classes of core.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kinds {
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
    /// Which cpus; all where it is missing.
    pub cpus: Option<CpuSet>,
    /// The highest frequency, in megahertz.
    pub maximum_mhz: Option<u32>,
    /// The frequency without turbo, in megahertz.
    pub base_mhz: Option<u32>,
}
