//! A machine: its cpus, the objects of each level, caches, nodes and kinds of core.

mod check;
mod crossings;

use std::collections::BTreeMap;

use crate::facts::{CacheKind, CoreType, MemoryKind, PciDevice};
pub use crate::facts::{ProcessorFacts, ProcessorGroup, SystemFacts};
use crate::identity::hash_texts;
use crate::vocabulary::vocabulary;
use crate::{CpuSet, Gap, Level};
pub use crossings::LevelCrossing;

/// A machine, built by [`crate::assemble::assemble_machine`].
///
/// Every online cpu is in exactly one package, die, llc, cluster and core. If a source does not report a level, it takes the objects of the
/// next known level, so every level exists on every machine. Only books and drawers are not listed then.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Machine {
    /// The processor's names and numbers.
    pub processor: ProcessorFacts,
    /// Kernel, architecture, hypervisor.
    pub system: SystemFacts,
    /// Cpus that the kernel could ever have.
    pub possible: CpuSet,
    /// Cpus that are plugged in. Those of them neither online nor in `unlisted` are "offline".
    pub present: CpuSet,
    /// Cpus that are switched on.
    pub online: CpuSet,
    /// Online cpus that this process may use (its cpuset and affinity mask).
    pub allowed: CpuSet,
    /// Numbers of the nodes with memory that this process may use; absent if the source does not say.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub allowed_memory: Option<CpuSet>,
    /// Cpus that are plugged in but offline or not allowed: the source does not say which (hwloc exports).
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "CpuSet::is_empty"))]
    pub unlisted: CpuSet,
    /// Cpus taken out of the scheduler's balancing.
    pub isolated: CpuSet,
    /// Cpus without a scheduler tick when they run one task.
    pub nohz_full: CpuSet,
    /// Drawers, in order of their lowest cpu; empty if the system reports none.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub drawers: Vec<MachineObject>,
    /// Books, in order of their lowest cpu; empty if the system reports none.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub books: Vec<MachineObject>,
    /// Processor groups, by number; empty except on Windows.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub processor_groups: Vec<ProcessorGroup>,
    /// Sockets, in order of their lowest cpu.
    pub packages: Vec<MachineObject>,
    /// NUMA nodes, in order of their numbers.
    pub nodes: Vec<NumaNode>,
    /// Dies, in order of their lowest cpu.
    pub dies: Vec<MachineObject>,
    /// Last-level cache domains, in order of their lowest cpu.
    pub llcs: Vec<Llc>,
    /// Clusters (cores that share an L2), in order of their lowest cpu.
    pub clusters: Vec<MachineObject>,
    /// Physical cores, in order of their lowest cpu.
    pub cores: Vec<MachineObject>,
    /// Groups proven by a map of links, in order of their lowest cpu; empty without a map. No system reports them.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub groups: Vec<CpuSet>,
    /// Memory costs by the latest map of memory; empty without a map. No system reports this for all nodes.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub memory_costs: Vec<MemoryCost>,
    /// Every cache once, by level, then kind, then lowest cpu.
    pub caches: Vec<Cache>,
    /// Kinds of core, best first; empty if all cores are alike.
    pub kinds: Vec<CoreKind>,
    /// The hardware's own ranking of the online cpus; absent if it has none, or ranks all alike.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub ranking: Option<HardwareRanking>,
    /// Network cards, disks, graphics cards and other devices, in order of their places on the bus; empty if none are known.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub devices: Vec<PciDevice>,
    /// Unknown facts about this machine.
    pub gaps: Vec<Gap>,
}

/// A package, die, cluster or core.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct MachineObject {
    /// The operating system's own number, if it has one (not always unique, not always dense).
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub os_number: Option<i64>,
    /// Online cpus; never empty.
    pub cpus: CpuSet,
}

/// A NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct NumaNode {
    /// The operating system's number; may be sparse.
    pub number: u32,
    /// Online cpus; empty for a node of memory only.
    pub cpus: CpuSet,
    /// Memory in bytes; zero for a node of cpus only, absent if unknown.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub memory_bytes: Option<u64>,
    /// Distances to all nodes in order of their numbers (10 to itself); empty if the kernel gives none.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub distances: Vec<u32>,
    /// Kind of its memory, if known and not plain DRAM.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub memory_kind: Option<MemoryKind>,
    /// Numbers of the nodes with cpus (or devices) that access its memory best, if the source says so.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "CpuSet::is_empty"))]
    pub initiators: CpuSet,
}

/// Measured cost of one node's memory for some cpus.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct MemoryCost {
    /// The cpus.
    pub cpus: CpuSet,
    /// Number of the memory node.
    pub node: u32,
    /// Time of a dependent load, in nanoseconds.
    pub ns: u64,
}

/// The cpus that share a last-level cache.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Llc {
    /// Cache level: 3 on most machines, 2 without an L3; absent if no cache is known.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub level: Option<u8>,
    /// Size in bytes, if known.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub size_bytes: Option<u64>,
    /// True if it is larger than its siblings because of stacked cache.
    pub vcache: bool,
    /// Online cpus; never empty.
    pub cpus: CpuSet,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Cache {
    /// Level: 1, 2, 3 or 4.
    pub level: u8,
    /// Contents.
    pub kind: CacheKind,
    /// Size in bytes, if known.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub size_bytes: Option<u64>,
    /// Online cpus that share it.
    pub cpus: CpuSet,
}

/// A class of cores that differ from the machine's other cores.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct CoreKind {
    /// The class.
    pub core_type: CoreType,
    /// Online cpus.
    pub cpus: CpuSet,
    /// Source of the class: "cpu_core", "cpu_capacity 1024", "acpi_cppc 64".
    pub reason: String,
}

/// The hardware's own ranking of cpus.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct HardwareRanking {
    /// Source of the numbers.
    pub source: RankingSource,
    /// The ranks, best first; together they have every online cpu.
    pub ranks: Vec<HardwareRank>,
}

/// Cpus with the same rank.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct HardwareRank {
    /// The number in the unit of its source; larger for faster cpus.
    pub value: u64,
    /// The cpus.
    pub cpus: CpuSet,
}

vocabulary! {
    /// Source of a ranking, in the order in which they are believed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema), serde(rename_all = "kebab-case"))]
    pub enum RankingSource {
        CpuCapacity "cpu_capacity": "The kernel's relative capacity, 1024 for the fastest cpu.";
        PreferredCore "amd_pstate_prefcore_ranking": "AMD's ranking of preferred cores.";
        AcpiCppc "acpi_cppc": "The firmware's highest performance (ACPI CPPC).";
        MaximumFrequency "cpuinfo_max_freq": "The highest clock rate, in kilohertz.";
    }
}

impl HardwareRanking {
    /// Returns the speed of a cpu relative to the best one; `None` if it is not ranked.
    pub fn relative_speed(&self, cpu: u32) -> Option<f32> {
        let best = self.ranks.first().map(|rank| rank.value).filter(|best| *best > 0)?;
        let own = self.ranks.iter().find(|rank| rank.cpus.contains(cpu))?.value;
        Some(own as f32 / best as f32)
    }
}

/// Factor over the cheapest memory up to which memory counts as about as cheap: the margin of findings on memory.
pub const ABOUT_AS_MUCH: f64 = 1.1;
impl Machine {
    /// Returns the cpu sets of a level's objects in machine order; memory-only nodes give empty sets.
    pub fn objects_of(&self, level: Level) -> Vec<CpuSet> {
        let of = |objects: &[MachineObject]| objects.iter().map(|object| object.cpus.clone()).collect();
        match level {
            Level::Drawer | Level::Book => of(self.around_packages(level)),
            Level::Package => of(&self.packages),
            Level::Node => self.nodes.iter().map(|node| node.cpus.clone()).collect(),
            Level::Die => of(&self.dies),
            Level::Group if !self.groups.is_empty() => self.groups.clone(),
            Level::Llc | Level::Group => self.llcs.iter().map(|llc| llc.cpus.clone()).collect(),
            Level::Cluster => of(&self.clusters),
            Level::Core => of(&self.cores),
            Level::Cpu => self.online.iter().map(CpuSet::from_cpu).collect(),
        }
    }

    /// Returns the index of the object of a level that holds a cpu, or `None` if the cpu is not online.
    ///
    /// # Examples
    /// ```
    /// use corewise_machine::{CpuSet, Level, generate::one_package_machine};
    ///
    /// // 8 cores, siblings n and n + 8, two last-level caches of 32 MiB.
    /// let llcs = [(CpuSet::parse_list("0-3,8-11")?, 32), (CpuSet::parse_list("4-7,12-15")?, 32)];
    /// let machine = one_package_machine(16, true, &llcs);
    /// let llc = machine.index_of(Level::Llc, 13).map(|index| &machine.llcs[index]);
    /// assert_eq!(llc.and_then(|llc| llc.size_bytes), Some(32 << 20));
    /// assert_eq!(machine.objects_of(Level::Core)[5].to_string(), "5,13");
    /// # Ok::<(), corewise_machine::cpu_set::CpuSetError>(())
    /// ```
    pub fn index_of(&self, level: Level, cpu: u32) -> Option<usize> {
        match level {
            Level::Drawer | Level::Book => {
                self.around_packages(level).iter().position(|object| object.cpus.contains(cpu))
            }
            Level::Package => self.packages.iter().position(|object| object.cpus.contains(cpu)),
            Level::Node => self.nodes.iter().position(|node| node.cpus.contains(cpu)),
            Level::Die => self.dies.iter().position(|object| object.cpus.contains(cpu)),
            Level::Group if !self.groups.is_empty() => self.groups.iter().position(|cpus| cpus.contains(cpu)),
            Level::Llc | Level::Group => self.llcs.iter().position(|llc| llc.cpus.contains(cpu)),
            Level::Cluster => self.clusters.iter().position(|object| object.cpus.contains(cpu)),
            Level::Core => self.cores.iter().position(|object| object.cpus.contains(cpu)),
            Level::Cpu => self.online.iter().position(|online| online == cpu),
        }
    }

    fn around_packages(&self, level: Level) -> &[MachineObject] {
        match level {
            Level::Drawer if !self.drawers.is_empty() => &self.drawers,
            _ if !self.books.is_empty() => &self.books,
            _ => &self.packages,
        }
    }

    /// Returns the machine's levels, outermost first, without groups. Books and drawers are included only if its system reports them.
    pub fn levels_present(&self) -> impl Iterator<Item = Level> {
        let drawers = (!self.drawers.is_empty()).then_some(Level::Drawer);
        let books = (!self.books.is_empty()).then_some(Level::Book);
        drawers.into_iter().chain(books).chain(Level::EVERYWHERE)
    }

    /// Returns the cpus that are plugged in but switched off.
    pub fn offline_cpus(&self) -> CpuSet {
        self.present.difference(&self.online).difference(&self.unlisted)
    }

    /// Returns true if this process may use memory of a node, as far as is known.
    pub fn has_memory(&self, node: &NumaNode) -> bool {
        node.memory_bytes != Some(0) && self.allowed_memory.as_ref().is_none_or(|allowed| allowed.contains(node.number))
    }

    /// Returns the cpus with a cheapest nearest memory, within [`ABOUT_AS_MUCH`], by the latest map of memory; `None` without a map.
    pub fn cheap_memory(&self) -> Option<CpuSet> {
        let nearest = |cpu: u32| {
            let own = self.memory_costs.iter().filter(|cost| cost.cpus.contains(cpu));
            own.map(|cost| cost.ns).min().map(|ns| (cpu, ns))
        };
        let costs: Vec<(u32, u64)> = self.online.iter().filter_map(nearest).collect();
        let least = costs.iter().map(|(_, ns)| *ns).min()?;
        let is_cheap = |ns: u64| ns as f64 <= ABOUT_AS_MUCH * least as f64;
        Some(costs.into_iter().filter(|(_, ns)| is_cheap(*ns)).map(|(cpu, _)| cpu).collect())
    }

    /// Returns the caches of a level that hold data (unified or data caches).
    pub fn data_caches(&self, level: u8) -> impl Iterator<Item = &Cache> {
        self.caches.iter().filter(move |cache| cache.level == level && cache.kind != CacheKind::Instruction)
    }

    /// Returns the kind of a cpu, or `None` if the machine has no kinds.
    pub fn kind_of(&self, cpu: u32) -> Option<&CoreKind> {
        self.kinds.iter().find(|kind| kind.cpus.contains(cpu))
    }

    /// Returns the scheduling environment by names: what decides where the kernel runs a program and how fast, besides the hardware. A
    /// result of one environment may not hold in another.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let mut environment = self.system.scheduling.clone();
        environment.extend(self.system.kernel.clone().map(|kernel| ("kernel".to_owned(), kernel)));
        environment.extend(self.processor.microcode.clone().map(|microcode| ("microcode".to_owned(), microcode)));
        if !self.system.governors.is_empty() {
            environment.insert("governor".to_owned(), self.system.governors.join(", "));
        }
        environment
    }

    /// Returns a short name for a model of machine: equal for equal processors with equal topology, without the kernel and the system's own
    /// numbers. [`Machine::identity`] names the single machine.
    ///
    /// It is a 64-bit FNV-1a hash in hexadecimal. It covers the processor's identity, the present cpus, the cpu sets of all levels (which
    /// hold the online cpus), the sizes of the last-level caches, and emulation. The cpus that this process may use are not part of it, nor
    /// are microcode, kernel and governor, so that history can compare across them.
    pub fn fingerprint(&self) -> String {
        let processor = &self.processor;
        let mut texts = vec![
            processor.model_name.clone().unwrap_or_default(),
            format!("{:?} {:?} {:?}", processor.family, processor.model, processor.stepping),
            self.present.to_string(),
        ];
        for level in self.levels_present() {
            texts.extend(self.objects_of(level).iter().map(|cpus| format!("{level}:{cpus}")));
        }
        texts.extend(self.llcs.iter().map(|llc| format!("{:?}", llc.size_bytes)));
        texts.extend(self.system.emulated.then(|| "emulated".to_owned()));
        format!("{:016x}", hash_texts(texts))
    }

    /// Returns a short name for this very machine: its fingerprint, and behind a hyphen [`SystemFacts::host`], if that is known. Compare
    /// with [`is_same_machine`](crate::identity::is_same_machine).
    pub fn identity(&self) -> String {
        let fingerprint = self.fingerprint();
        match &self.system.host {
            Some(host) => format!("{fingerprint}-{host}"),
            None => fingerprint,
        }
    }
}
