//! Facts that a reader found about a machine, before conclusions are drawn.
//!
//! Each source (sysfs, a cpuid dump, an hwloc export) fills the same plain facts. [`crate::assemble::assemble`] makes a [`crate::Machine`]
//! of them, so that rules such as "a Bulldozer module is a cluster of two cores" are written once.

mod device;

use std::collections::BTreeMap;

use crate::{CpuSet, Gap, Level};
pub use device::{DeviceKind, PciDevice, PcieLink};

/// All facts that a reader found about one machine. A field is `None` if the source does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineFacts {
    /// The processor's names and numbers.
    pub processor: ProcessorFacts,
    /// Kernel, architecture, hypervisor.
    pub system: SystemFacts,
    /// Online cpus, in any order.
    pub cpus: Vec<CpuFacts>,
    /// Cpus that the kernel could ever have.
    pub possible: Option<CpuSet>,
    /// Cpus that are plugged in.
    pub present: Option<CpuSet>,
    /// Cpus that are switched on; if absent, the ones in `cpus`.
    pub online: Option<CpuSet>,
    /// Cpus taken out of the scheduler's balancing (`isolcpus=`, isolated partitions).
    pub isolated: Option<CpuSet>,
    /// Cpus without a scheduler tick when they run one task (`nohz_full=`).
    pub nohz_full: Option<CpuSet>,
    /// Cpus that this process may use (cpuset and affinity); if absent, all online ones.
    pub allowed: Option<CpuSet>,
    /// Numbers of the nodes with memory that this process may use; absent if the source does not say.
    pub allowed_memory: Option<CpuSet>,
    /// Present cpus that the source omits without a reason: offline or not allowed (hwloc exports).
    pub unlisted: Option<CpuSet>,
    /// Windows' processor groups, by number.
    pub processor_groups: Vec<ProcessorGroup>,
    /// NUMA nodes, by number.
    pub nodes: Vec<NodeFacts>,
    /// Network cards, disks, graphics cards and the like.
    pub devices: Vec<PciDevice>,
    /// Paths of the files that list a cpu's object of a level, with `{cpu}` for its number, to name them if levels contradict each other.
    pub level_files: Vec<(Level, String)>,
    /// Classes of core that the source names itself (`/sys/devices/cpu_core/cpus`, cpuid leaf 0x1a).
    pub named_kinds: Vec<NamedKind>,
    /// Facts that could not be read.
    pub gaps: Vec<Gap>,
}

/// A processor group of Windows: at most 64 cpus. Its masks and indices count from its first cpu.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ProcessorGroup {
    /// The cpu with index 0 in the group; cpus are counted through all groups.
    pub first_cpu: u32,
    /// Online cpus of the group.
    pub cpus: CpuSet,
}

impl ProcessorGroup {
    /// Returns the group's mask of a set: bit n is the cpu with index n. Offline cpus and cpus of other groups have no bit.
    pub fn mask(&self, cpus: &CpuSet) -> u64 {
        let own = cpus.intersection(&self.cpus);
        let bit = |cpu: u32| cpu.checked_sub(self.first_cpu).and_then(|index| 1_u64.checked_shl(index)).unwrap_or(0);
        own.iter().fold(0, |mask, cpu| mask | bit(cpu))
    }
}

/// Facts about one online cpu. A field is `None` if the source does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuFacts {
    /// The operating system's number.
    pub number: u32,
    /// Package (socket) number as the kernel or cpuid gives it. Old kernels give several packages the same number.
    pub package: Option<i64>,
    /// Cpus of the same package, if the kernel lists them. Some kernels list the core.
    pub package_cpus: Option<CpuSet>,
    /// Cpus of the same book, if the kernel lists them.
    pub book_cpus: Option<CpuSet>,
    /// Cpus of the same drawer, if the kernel lists them.
    pub drawer_cpus: Option<CpuSet>,
    /// Die number, unique only within its package.
    pub die: Option<i64>,
    /// Cpus of the same die, if the kernel lists them.
    pub die_cpus: Option<CpuSet>,
    /// Cpus of the same kernel cluster, if the kernel lists them.
    pub cluster_cpus: Option<CpuSet>,
    /// Core number, unique only within its die or package.
    pub core: Option<i64>,
    /// SMT siblings as the source lists them, including this cpu.
    pub thread_siblings: Option<CpuSet>,
    /// Caches of this cpu.
    pub caches: Vec<CacheFacts>,
    /// `cpu_capacity`: the kernel's relative capacity, 1024 for the fastest cpu (arm64, riscv, newer x86).
    pub capacity: Option<u32>,
    /// ACPI CPPC `highest_perf`, in abstract units.
    pub highest_performance: Option<u32>,
    /// `amd_pstate_prefcore_ranking`: AMD's rank among the preferred cores, in abstract units, larger for faster ones.
    pub preferred_rank: Option<u32>,
    /// Highest frequency that cpufreq may choose, in kilohertz.
    pub maximum_frequency_khz: Option<u64>,
    /// Frequency without turbo, in kilohertz.
    pub base_frequency_khz: Option<u64>,
}

/// One cache, as one cpu sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFacts {
    /// Level: 1, 2, 3 or 4.
    pub level: u8,
    /// Contents.
    pub kind: CacheKind,
    /// Size in bytes, if known.
    pub size_bytes: Option<u64>,
    /// Online cpus that share it, including this cpu.
    pub shared_with: CpuSet,
}

/// The processor's names and numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ProcessorFacts {
    /// Model name with white space tidied: "AMD Ryzen 9 9950X3D 16-Core Processor".
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub model_name: Option<String>,
    /// Vendor: "AuthenticAMD", "GenuineIntel", "ARM".
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub vendor: Option<String>,
    /// The x86 family including the extended family; 0x15 for Bulldozer.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub family: Option<u32>,
    /// The x86 model including the extended model.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub model: Option<u32>,
    /// The x86 stepping.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub stepping: Option<u32>,
    /// The microcode revision as the kernel prints it: "0xa101148".
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub microcode: Option<String>,
}

/// Kernel, architecture, hypervisor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct SystemFacts {
    /// Architecture, if known: "x86_64", "aarch64".
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub architecture: Option<String>,
    /// The kernel's release: "6.18.2-arch1". Systems other than Linux begin with their name: "Windows 10.0.26100".
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub kernel: Option<String>,
    /// Hypervisor that runs this machine as a guest ("KVM"); absent on bare metal or if unknown.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub hypervisor: Option<String>,
    /// Hash that distinguishes the machine from others of its model ([`hash_host`](crate::identity::hash_host)); absent of recordings and
    /// without an id.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub host: Option<String>,
    /// True if instructions are emulated one by one, so that times measured on it mean nothing.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    pub emulated: bool,
    /// The cpufreq governors in use, most common first; empty without cpufreq.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub governors: Vec<String>,
    /// Other settings that decide where the kernel runs a program, by name, as far as they can be read: `cache_aware`, `numa_balancing`,
    /// `sched_ext`, `sched_ext_ops`, `prefcore`, `x3d_mode`, `smt`.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "BTreeMap::is_empty"))]
    pub scheduling: BTreeMap<String, String>,
    /// The kernel's word on each vulnerability of processors, by name, without details: "spectre_v2" is "Mitigation: Retpolines".
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "BTreeMap::is_empty"))]
    pub vulnerabilities: BTreeMap<String, String>,
}

impl SystemFacts {
    /// Returns the system and its version: "Linux 6.18.2-arch1", "Windows 10.0.26100"; `None` if the kernel is unknown.
    pub fn title(&self) -> Option<String> {
        let kernel = self.kernel.as_ref()?;
        // Readers of other systems include the system's name.
        let is_named = kernel.starts_with(|first: char| first.is_ascii_uppercase());
        Some(if is_named { kernel.clone() } else { format!("Linux {kernel}") })
    }
}

/// Contents of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "json",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

/// Facts about one NUMA node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFacts {
    /// The operating system's number; may be sparse.
    pub number: u32,
    /// Online cpus; may be empty.
    pub cpus: CpuSet,
    /// Memory in bytes: zero if the kernel says zero, absent if it does not say.
    pub memory_bytes: Option<u64>,
    /// Distances to the online nodes in ascending order of their numbers, 10 to itself.
    pub distances: Vec<u32>,
    /// The file that lists the node's cpus.
    pub file: Option<String>,
    /// Kind of its memory, if the source says so.
    pub memory_kind: Option<MemoryKind>,
    /// Numbers of the nodes with cpus (or devices) that access its memory best, if the source says so.
    pub initiators: CpuSet,
}

/// Kind of a node's memory, if it is not plain DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "json",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum MemoryKind {
    /// High-bandwidth memory on the package (HBM, MCDRAM).
    HighBandwidth,
    /// Memory behind CXL.
    Cxl,
    /// Persistent memory (NVDIMM).
    Persistent,
    /// The memory of a GPU.
    Gpu,
    /// Memory that firmware sets apart for special purposes, used through a dax device.
    SpecialPurpose,
}

impl MemoryKind {
    /// Returns the usual name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::HighBandwidth => "HBM",
            Self::Cxl => "CXL",
            Self::Persistent => "NVM",
            Self::Gpu => "GPU memory",
            Self::SpecialPurpose => "special-purpose memory",
        }
    }
}

/// A class of core that the source names itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedKind {
    /// The class.
    pub core_type: CoreType,
    /// Cpus of the class, perhaps offline ones too.
    pub cpus: CpuSet,
    /// Source of the class, as a user would look it up: "cpu_core", "cpuid leaf 0x1a".
    pub source: String,
}

/// A class of core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "json",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum CoreType {
    /// The larger, faster cores (`cpu_core`).
    Performance,
    /// The smaller cores (`cpu_atom`).
    Efficiency,
    /// The smallest cores, outside the last-level cache (`cpu_lowpower`).
    LowPower,
}

impl CoreType {
    /// Returns the word of the placement language.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Performance => "performance",
            Self::Efficiency => "efficiency",
            Self::LowPower => "low-power",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_counts_from_the_first_cpu_of_its_group() {
        let set = |list: &str| CpuSet::parse_list(list).unwrap();
        let group = ProcessorGroup { first_cpu: 8, cpus: set("8,9,11") };
        assert_eq!(group.mask(&set("0,9-12")), 0b1010, "10 is not active");
        let wrong = ProcessorGroup { first_cpu: 8, cpus: set("0,9,100") };
        assert_eq!(wrong.mask(&set("0-200")), 0b10, "no bit of a mask stands for the others");
    }

    #[test]
    fn a_system_is_linux_unless_it_says_otherwise() {
        let title =
            |kernel: &str| SystemFacts { kernel: Some(kernel.to_owned()), ..SystemFacts::default() }.title().unwrap();
        assert_eq!((title("6.18.2-arch1").as_str(), title("Wine 8.0").as_str()), ("Linux 6.18.2-arch1", "Wine 8.0"));
    }
}
