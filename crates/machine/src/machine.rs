//! A machine: its cpus, the objects of each level, caches, nodes and kinds of core.

mod check;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::facts::{CacheKind, CoreType, Device, MemoryKind};
pub use crate::facts::{Processor, ProcessorGroup, System};
use crate::{CpuSet, Gap, Level};

/// A machine as corewise understands it; made by [`crate::assemble::assemble`].
///
/// Every online cpu is in exactly one object of each of: packages, dies, llcs, clusters, cores. Where a source does not
/// know a level, its objects are those of the next level that it does know, so every level exists on every machine; books and drawers
/// are not even listed there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// The processor's names and numbers.
    pub processor: Processor,
    /// Kernel, architecture, hypervisor.
    pub system: System,
    /// Cpus the kernel could ever have.
    pub possible: CpuSet,
    /// Cpus that are plugged in; those of them that are neither online nor in `unlisted` are "offline".
    pub present: CpuSet,
    /// Cpus that are switched on.
    pub online: CpuSet,
    /// Online cpus this process may use (its cpuset and affinity mask).
    pub allowed: CpuSet,
    /// The numbers of the nodes whose memory this process may use; absent where the source does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_memory: Option<CpuSet>,
    /// Cpus that are plugged in, and of which the source does not say whether they are offline or not allowed (hwloc exports).
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub unlisted: CpuSet,
    /// Cpus taken out of the scheduler's balancing.
    pub isolated: CpuSet,
    /// Cpus without a scheduler tick when they run one task.
    pub nohz_full: CpuSet,
    /// Drawers, in order of their lowest cpu; empty where the system reports none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawers: Vec<Object>,
    /// Books, in order of their lowest cpu; empty where the system reports none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub books: Vec<Object>,
    /// Processor groups, by number; empty where the system has none (all but Windows).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processor_groups: Vec<ProcessorGroup>,
    /// Sockets, in order of their lowest cpu.
    pub packages: Vec<Object>,
    /// NUMA nodes, in order of their numbers.
    pub nodes: Vec<Node>,
    /// Dies, in order of their lowest cpu.
    pub dies: Vec<Object>,
    /// Last-level cache domains, in order of their lowest cpu.
    pub llcs: Vec<Llc>,
    /// Clusters (cores that share an L2), in order of their lowest cpu.
    pub clusters: Vec<Object>,
    /// Physical cores, in order of their lowest cpu.
    pub cores: Vec<Object>,
    /// Groups proven by a map of links, in order of their lowest cpu; empty without a map. No system reports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<CpuSet>,
    /// What memory costs, by the latest map of memory; empty without a map. No system reports this for all nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_costs: Vec<MemoryCost>,
    /// Every cache once, by level, then kind, then lowest cpu.
    pub caches: Vec<Cache>,
    /// Kinds of core, best first; empty where all cores are alike.
    pub kinds: Vec<Kind>,
    /// Network cards, disks, graphics cards and the like, in order of their places on the bus; empty where none are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
    /// What is unknown about this machine.
    pub gaps: Vec<Gap>,
}

/// A package, die, cluster or core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Object {
    /// The operating system's own number for it, where it has one (not always unique, not always dense).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_number: Option<i64>,
    /// Its online cpus; never empty.
    pub cpus: CpuSet,
}

/// A NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Node {
    /// The operating system's number; numbers may be sparse.
    pub number: u32,
    /// Its online cpus; empty for a node of memory only.
    pub cpus: CpuSet,
    /// Its memory in bytes; zero for a node of cpus only, absent where unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The distances to all nodes in order of their numbers (10 to itself); empty where the kernel gives none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<u32>,
    /// What its memory is, where it is known to be no plain DRAM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_kind: Option<MemoryKind>,
    /// The numbers of the nodes whose cpus (or devices) have the best access to its memory, where the source says so.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub initiators: CpuSet,
}

/// What the memory of one node costs some cpus, as it was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryCost {
    /// The cpus.
    pub cpus: CpuSet,
    /// The number of the memory node.
    pub node: u32,
    /// The time of a dependent load, in nanoseconds.
    pub ns: u64,
}

/// The cpus that share a last-level cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Llc {
    /// Which cache level it is: 3 on most machines; 2 where there is no L3; absent where no cache is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// Its size in bytes, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Whether it is larger than its siblings because of stacked cache.
    pub vcache: bool,
    /// Its online cpus; never empty.
    pub cpus: CpuSet,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// 1, 2, 3 or 4.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Its size in bytes, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// The online cpus that share it.
    pub cpus: CpuSet,
}

/// A class of cores that differ from the others of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kind {
    /// Which class.
    pub core_type: CoreType,
    /// Its online cpus.
    pub cpus: CpuSet,
    /// Where the class comes from: "cpu_core", "cpu_capacity 1024", "acpi_cppc 64".
    pub reason: String,
}

/// Memory that costs no more than this many times the cheapest costs about as much: the margin of findings on memory.
pub const ABOUT_AS_MUCH: f64 = 1.1;
impl Machine {
    /// The cpu sets of a level's objects in machine order; memory-only nodes give empty sets.
    pub fn objects(&self, level: Level) -> Vec<CpuSet> {
        let of = |objects: &[Object]| objects.iter().map(|object| object.cpus.clone()).collect();
        match level {
            Level::Drawer | Level::Book => of(self.around_packages(level)),
            Level::Package => of(&self.packages),
            Level::Node => self.nodes.iter().map(|node| node.cpus.clone()).collect(),
            Level::Die => of(&self.dies),
            Level::Group if !self.groups.is_empty() => self.groups.clone(),
            Level::Llc | Level::Group => self.llcs.iter().map(|llc| llc.cpus.clone()).collect(),
            Level::Cluster => of(&self.clusters),
            Level::Core => of(&self.cores),
            Level::Cpu => self.online.iter().map(CpuSet::of).collect(),
        }
    }

    /// The index of the object of a level that holds a cpu.
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

    fn around_packages(&self, level: Level) -> &[Object] {
        match level {
            Level::Drawer if !self.drawers.is_empty() => &self.drawers,
            _ if !self.books.is_empty() => &self.books,
            _ => &self.packages,
        }
    }

    /// The levels that the machine has, outermost first, but for groups: books and drawers only where its system reports them.
    pub fn levels(&self) -> impl Iterator<Item = Level> {
        let drawers = (!self.drawers.is_empty()).then_some(Level::Drawer);
        let books = (!self.books.is_empty()).then_some(Level::Book);
        drawers.into_iter().chain(books).chain(Level::EVERYWHERE)
    }

    /// Cpus that are plugged in and switched off.
    pub fn offline(&self) -> CpuSet {
        self.present.difference(&self.online).difference(&self.unlisted)
    }

    /// Whether this process may use memory of a node, as far as is known.
    pub fn has_memory(&self, node: &Node) -> bool {
        node.memory_bytes != Some(0) && self.allowed_memory.as_ref().is_none_or(|allowed| allowed.contains(node.number))
    }

    /// The cpus for which the memory nearest to them costs about as little as any cpu's does, by the latest map of memory; absent without a map.
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

    /// How many caches of a level hold data (unified or data caches).
    pub fn data_caches(&self, level: u8) -> impl Iterator<Item = &Cache> {
        self.caches.iter().filter(move |cache| cache.level == level && cache.kind != CacheKind::Instruction)
    }

    /// The kind of a cpu, where the machine has kinds.
    pub fn kind_of(&self, cpu: u32) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.cpus.contains(cpu))
    }

    /// The scheduling environment, by names: what decides where the kernel runs a program and how fast that is, besides the machine itself.
    /// What was proven in one environment may not hold in another.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let mut environment = self.system.scheduling.clone();
        environment.extend(self.system.kernel.clone().map(|kernel| ("kernel".to_owned(), kernel)));
        environment.extend(self.processor.microcode.clone().map(|microcode| ("microcode".to_owned(), microcode)));
        if !self.system.governors.is_empty() {
            environment.insert("governor".to_owned(), self.system.governors.join(", "));
        }
        environment
    }

    /// A short name for "the same machine": equal for equal processors with equal topology, kernel and numbers left out.
    ///
    /// It is the 64-bit FNV-1a hash, in hexadecimal, of the processor's identity, the present cpus, the cpu sets of all levels
    /// (which hold the online cpus), the sizes of the last-level caches, and whether the machine is emulated. Which cpus this
    /// process may use is not part of it, nor are microcode, kernel and governor, so that history can compare across them.
    pub fn fingerprint(&self) -> String {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut feed = |text: &str| {
            for byte in text.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        };
        feed(self.processor.model_name.as_deref().unwrap_or(""));
        feed(&format!("{:?} {:?} {:?}", self.processor.family, self.processor.model, self.processor.stepping));
        feed(&self.present.to_string());
        for level in self.levels() {
            for cpus in self.objects(level) {
                feed(&format!("{level}:{cpus}"));
            }
        }
        for llc in &self.llcs {
            feed(&format!("{:?}", llc.size_bytes));
        }
        if self.system.emulated {
            feed("emulated");
        }
        format!("{hash:016x}")
    }
}
