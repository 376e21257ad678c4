//! Conclusions from the summary of lscpu, which has counts in place of places.

use corewise_machine::CpuSet;
use corewise_machine::facts::{CacheKind, CpuFacts, NamedKind, NodeFacts, ProcessorFacts, SystemFacts};

use super::{PastedCpu, PastedCpus};
use crate::topology::cpuinfo::arm;
use crate::topology::limits::LARGEST_CPU;

/// A cache by its size; `instances` is absent in old versions.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryCache {
    pub level: u8,
    pub kind: CacheKind,
    /// Size of each.
    pub bytes: u64,
    pub instances: Option<usize>,
}

/// Sizes of caches are multiples of this, in bytes: a sum that does not divide into such is one of unequal sizes.
const SIZE_STEP: u64 = 4 << 10;

/// Sharers of each cache of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CacheSharing {
    /// Each cpu has its own, as the cores of a module have.
    Cpu,
    Core,
    Socket,
    Node,
    /// So many cores with adjacent numbers.
    Neighbours(i64),
    Unknown,
}

/// One of several kinds of core.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryModel {
    pub name: String,
    /// Threads per core, cores per socket, sockets.
    pub counts: [Option<usize>; 3],
}

impl SummaryModel {
    fn cpu_count(&self) -> Option<usize> {
        self.counts.iter().try_fold(1_usize, |product, count| product.checked_mul((*count)?))
    }
}

/// The fields of the summary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SummaryFacts {
    pub online: CpuSet,
    pub offline: CpuSet,
    /// Threads per core.
    pub threads: Option<usize>,
    /// Cores per socket.
    pub cores: Option<usize>,
    pub sockets: Option<usize>,
    pub nodes: Vec<NodeFacts>,
    pub caches: Vec<SummaryCache>,
    pub model_name: Option<String>,
    /// The kinds of core in the summary's order; one if all are alike.
    pub models: Vec<SummaryModel>,
    pub vendor: Option<String>,
    pub family: Option<u32>,
    pub model: Option<u32>,
    pub stepping: Option<u32>,
    pub architecture: Option<String>,
    pub hypervisor: Option<String>,
}

impl SummaryFacts {
    /// Returns the size of each cache of a level, if all can be equal: only the sum is there. Of processors with stacked cache on one die they
    /// are not.
    pub fn cache_bytes(&self, level: u8, kind: CacheKind) -> Option<u64> {
        let cache = self.caches.iter().find(|cache| (cache.level, cache.kind) == (level, kind))?;
        let is_stacked = level == 3 && self.model_name.as_ref().is_some_and(|name| name.contains("X3D"));
        let is_one = cache.instances.is_none_or(|count| count == 1);
        (is_one || cache.bytes.is_multiple_of(SIZE_STEP) && !is_stacked).then_some(cache.bytes)
    }

    /// Returns the online cpus with the places that the counts imply, under the numbering of [`Self::has_adjacent_threads`]. If the counts do not multiply to the number of cpus, as on hybrid processors, none is implied.
    pub fn assumed_cpus(&self, of_numactl: &[NodeFacts]) -> PastedCpus {
        let cpus: Vec<u32> = self.online.iter().take_while(|cpu| *cpu <= LARGEST_CPU).collect();
        let (threads, cores, sockets) = (self.threads.unwrap_or(1), self.cores.unwrap_or(0), self.sockets.unwrap_or(0));
        let product = threads.checked_mul(cores).and_then(|count| count.checked_mul(sockets));
        if threads == 0 || product != Some(cpus.len()) {
            return cpus.into_iter().map(|cpu| (cpu, PastedCpu::default())).collect();
        }
        let nodes = if self.nodes.is_empty() { of_numactl } else { &self.nodes };
        let is_adjacent = self.has_adjacent_threads(of_numactl);
        let place = |(index, cpu): (usize, &u32)| {
            let core = if is_adjacent { index / threads } else { index % (cpus.len() / threads) };
            let package = package_of(*cpu, core, cores, sockets, nodes);
            (*cpu, PastedCpu { package, core: package.map(|_| core as i64), ..PastedCpu::default() })
        };
        let mut places: PastedCpus = cpus.iter().enumerate().map(place).collect();
        self.add_caches(&mut places, nodes);
        places
    }

    /// Returns true if the threads of a core have adjacent numbers, as on POWER, on mainframes and in the modules of Bulldozer, or because cores
    /// would be in several nodes otherwise. Linux on x86 usually numbers the first threads of all cores before the second ones.
    pub fn has_adjacent_threads(&self, of_numactl: &[NodeFacts]) -> bool {
        let is_adjacent =
            self.architecture.as_deref().is_some_and(|name| name.starts_with("ppc") || name.starts_with("s390"))
                || self.has_modules();
        let nodes = if self.nodes.is_empty() { of_numactl } else { &self.nodes };
        let cpus: Vec<u32> = self.online.iter().take_while(|cpu| *cpu <= LARGEST_CPU).collect();
        let node = |cpu: u32| nodes.iter().position(|node| node.cpus.contains(cpu));
        let cores = cpus.len() / self.threads.unwrap_or(1).max(1);
        let is_split = (cores..cpus.len()).any(|index| node(cpus[index]) != node(cpus[index - cores]));
        let is_whole = cpus
            .chunks(self.threads.unwrap_or(1).max(1))
            .all(|core| core.iter().all(|cpu| node(*cpu) == node(core[0])));
        is_adjacent || is_split && is_whole
    }

    /// Returns the kinds of core of which the summary has names and counts, if these add up to the cpus, smaller cores come first and there is
    /// at most one last-level cache. Such processors number the smaller cores first; with several caches, kinds may take turns.
    pub fn assumed_kinds(&self) -> Vec<NamedKind> {
        let cpus: Vec<u32> = self.online.iter().take_while(|cpu| *cpu <= LARGEST_CPU).collect();
        let counts: Option<Vec<usize>> = self.models.iter().map(SummaryModel::cpu_count).collect();
        let names = || self.models.iter().map(|model| model.name.as_str());
        let counts = counts.filter(|counts| {
            counts.iter().try_fold(0, |sum: usize, count| sum.checked_add(*count)) == Some(cpus.len())
        });
        let has_several_caches =
            self.caches.iter().any(|cache| cache.level == 3 && cache.instances.is_some_and(|count| count > 1));
        let Some(counts) = counts.filter(|_| !has_several_caches && arm::are_smallest_first(names())) else {
            return Vec::new();
        };
        let of_cpus = names().zip(counts).flat_map(|(name, count)| std::iter::repeat_n(name, count));
        arm::kinds_of_names(cpus.into_iter().zip(of_cpus))
    }

    /// Adds the caches: one for each core, socket or node, or for as many neighbouring cores as there are for each.
    fn add_caches(&self, places: &mut PastedCpus, nodes: &[NodeFacts]) {
        for cache in &self.caches {
            let sharing = self.cache_sharing(cache, nodes);
            for (number, cpu) in places.iter_mut() {
                let node = || nodes.iter().position(|node| node.cpus.contains(*number)).map(|place| place as i64);
                let id = match sharing {
                    CacheSharing::Cpu => Some(i64::from(*number)),
                    CacheSharing::Core => cpu.core,
                    CacheSharing::Socket => cpu.package,
                    CacheSharing::Node => node(),
                    CacheSharing::Neighbours(cores) => cpu.core.map(|core| core / cores),
                    CacheSharing::Unknown => None,
                };
                if let Some(id) = id {
                    cpu.caches
                        .insert((cache.level, cache.kind), (id as u64, self.cache_bytes(cache.level, cache.kind)));
                }
            }
        }
    }

    fn cache_sharing(&self, cache: &SummaryCache, nodes: &[NodeFacts]) -> CacheSharing {
        let (sockets, cores) = (self.sockets.unwrap_or(1), self.cores.unwrap_or(1));
        match cache.instances {
            Some(count) if count == self.online.len() => CacheSharing::Cpu,
            // Of different kinds of core, some have a cache of their own and others share one, and low-power ones are outside the last-level cache.
            Some(count)
                if count < sockets * cores && (count > sockets || cache.level == 3) && self.has_unequal_cores() =>
            {
                CacheSharing::Unknown
            }
            Some(count) if count == sockets * cores => CacheSharing::Core,
            Some(count) if count == sockets => CacheSharing::Socket,
            Some(count) if count == nodes.len() => CacheSharing::Node,
            // Within sockets, and within nodes or around them.
            Some(count)
                if cache.level > 1
                    && count > 0
                    && (sockets * cores).is_multiple_of(count)
                    && count.is_multiple_of(sockets)
                    && (count.is_multiple_of(nodes.len().max(1)) || nodes.len().is_multiple_of(count)) =>
            {
                CacheSharing::Neighbours((sockets * cores / count) as i64)
            }
            _ => CacheSharing::Unknown,
        }
    }

    /// Returns true if there are several kinds of core: by their names, or because the first or second-level caches cannot be of one size.
    fn has_unequal_cores(&self) -> bool {
        let is_unequal = |cache: &SummaryCache| {
            cache.instances.is_some_and(|count| count > 1) && !cache.bytes.is_multiple_of(SIZE_STEP)
        };
        self.models.len() > 1 || self.caches.iter().filter(|cache| cache.level < 3).any(is_unequal)
    }

    /// Returns true if the places of cpus follow from the counts alone: no cache or core has another source.
    pub fn is_only_source(&self, cpus: &[CpuFacts]) -> bool {
        let assumed = self.assumed_cpus(&[]);
        let same = |cpu: &CpuFacts| {
            let place = assumed.get(&cpu.number);
            place.is_some_and(|place| place.core == cpu.core && place.caches.len() >= cpu.caches.len())
        };
        self.threads.is_some() && cpus.iter().all(same)
    }

    /// Returns true if neighbouring cores are assumed to share a cache.
    pub fn has_neighbours(&self) -> bool {
        self.caches.iter().any(|cache| matches!(self.cache_sharing(cache, &self.nodes), CacheSharing::Neighbours(_)))
    }

    /// Returns the caches with unknown sharers: "12 of L2"; "L2" if an old version does not count them.
    pub fn unplaced_caches(&self) -> Vec<String> {
        let unplaced =
            self.caches.iter().filter(|cache| self.cache_sharing(cache, &self.nodes) == CacheSharing::Unknown);
        let describe = |cache: &SummaryCache| {
            let kind = match cache.kind {
                CacheKind::Data => "d",
                CacheKind::Instruction => "i",
                CacheKind::Unified => "",
            };
            let name = format!("L{}{kind}", cache.level);
            cache.instances.map_or_else(|| name.clone(), |count| format!("{count} of {name}"))
        };
        unplaced.map(describe).collect()
    }

    /// Returns true if the "threads" of a core are two cores of a module.
    fn has_modules(&self) -> bool {
        let mut processor = ProcessorFacts::default();
        self.complete_processor(&mut processor);
        corewise_machine::assemble::has_modules(&processor)
    }

    /// Fills in names and numbers that no other output has.
    pub fn complete_processor(&self, processor: &mut ProcessorFacts) {
        let tidy = |name: &String| name.split_whitespace().collect::<Vec<_>>().join(" ");
        processor.model_name = processor.model_name.take().or_else(|| self.model_name.as_ref().map(tidy));
        processor.vendor = processor.vendor.take().or_else(|| self.vendor.clone());
        processor.family = processor.family.or(self.family);
        processor.model = processor.model.or(self.model);
        processor.stepping = processor.stepping.or(self.stepping);
    }

    pub fn complete_system(&self, system: &mut SystemFacts) {
        system.architecture = system.architecture.take().or_else(|| self.architecture.clone());
        system.hypervisor = system.hypervisor.take().or_else(|| self.hypervisor.clone());
    }
}

/// Returns the socket of a cpu: by its node if nodes divide evenly among sockets, else by the number of its core if there are no nodes.
fn package_of(cpu: u32, core: usize, cores: usize, sockets: usize, nodes: &[NodeFacts]) -> Option<i64> {
    if sockets == 1 {
        return Some(0);
    }
    // Nodes may have memory alone.
    let count = nodes.iter().filter(|node| !node.cpus.is_empty()).count();
    let node = nodes.iter().filter(|node| !node.cpus.is_empty()).position(|node| node.cpus.contains(cpu));
    match node {
        Some(place) if count >= sockets && count.is_multiple_of(sockets) => Some((place / (count / sockets)) as i64),
        Some(_) => None,
        None => Some((core / cores) as i64),
    }
}
