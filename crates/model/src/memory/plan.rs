//! Plan of the visits: representative cpus, nodes with memory, sizes, and the size of the buffer.

use std::collections::BTreeMap;

use corewise_machine::random::RandomGenerator;
use corewise_machine::{CpuSet, Level, Machine};

use super::{PageKind, StreamOperation};

/// Size of the buffer in sizes of all last-level caches: at most a quarter of it can lie in them.
pub const BUFFER_TO_CACHES: u64 = 4;
/// Size of the buffer if no cache is reported, and its minimum.
const LEAST_BUFFER_BYTES: u64 = 64 << 20;
/// The smallest working set of a staircase.
const SMALLEST_BYTES: u64 = 4 << 10;
/// Maximum number of cells that are all measured; with more, some are predicted from others of the same distance.
pub const MOST_CELLS: usize = 160;
/// Number of measured cells of each distance in that case.
const CELLS_OF_A_DISTANCE: usize = 24;
/// Pauses of a loader after each block, in nanoseconds, by rising load; the first means no loader.
pub const PAUSES_NS: [Option<u64>; 9] =
    [None, Some(200_000), Some(80_000), Some(40_000), Some(20_000), Some(10_000), Some(5_000), Some(2_000), Some(0)];

/// A measurement to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryVisit {
    /// Loads of one cpu within a working set, on the memory nearest to it.
    Step {
        /// The cpu.
        cpu: u32,
        /// The working set.
        bytes: u64,
    },
    /// Loads of one cpu from a whole node.
    Latency {
        /// The cpu.
        cpu: u32,
        /// The node.
        node: u32,
        /// The pages.
        pages: PageKind,
    },
    /// Streams of some cpus through a node's memory.
    Bandwidth {
        /// The cpus, one thread on each.
        cpus: CpuSet,
        /// The node.
        node: u32,
        /// The operation.
        operation: StreamOperation,
    },
    /// Loads of one cpu while others read streams.
    Loaded {
        /// The cpu.
        cpu: u32,
        /// The node.
        node: u32,
        /// The cpus that read.
        loaders: CpuSet,
        /// Pause of each after a block; absent without load.
        pause_ns: Option<u64>,
    },
}

impl MemoryVisit {
    /// Returns the node of the buffers that it needs; working sets have a buffer of their own.
    pub const fn needed_node(&self) -> Option<u32> {
        match self {
            Self::Step { .. } => None,
            Self::Latency { node, .. } | Self::Bandwidth { node, .. } | Self::Loaded { node, .. } => Some(*node),
        }
    }
}

/// Result of a visit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryReading {
    /// The time of a load in nanoseconds, or gigabytes per second.
    pub value: f64,
    /// Bandwidth of the loaders meanwhile, in gigabytes per second.
    pub load_gb_s: f64,
    /// The clock rate of the cpu, if it was measured.
    pub gigahertz: Option<f64>,
}

/// Cpus with equal costs of memory, by the topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryInitiator {
    /// The cpus of a last-level cache on one node, as far as they were requested.
    pub cpus: CpuSet,
    /// The cpu that measures alone.
    pub cpu: u32,
    /// The node that they are on; absent if the system does not report it.
    pub node: Option<u32>,
}

/// All visits of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPlan {
    /// The cpus with staircases.
    pub staircases: Vec<u32>,
    /// The working sets, rising.
    pub sizes_bytes: Vec<u64>,
    /// Groups of cpus with costs to measure.
    pub initiators: Vec<MemoryInitiator>,
    /// The nodes with memory that may be used.
    pub nodes: Vec<u32>,
    /// Measured initiators and nodes, as places in the two lists.
    pub cells: Vec<(usize, usize)>,
    /// Size of the buffer on each node.
    pub buffer_bytes: u64,
}

impl MemoryPlan {
    /// Plans the visits on these cpus of a machine, with a buffer of this size on each node; `seed` chooses the cells
    /// of a machine that has too many.
    pub fn new(machine: &Machine, cpus: &CpuSet, buffer_bytes: u64, seed: u64) -> Self {
        let initiators = list_initiators(machine, cpus);
        let nodes: Vec<u32> =
            machine.nodes.iter().filter(|node| machine.has_memory(node)).map(|node| node.number).collect();
        // A machine that reports no node still has one.
        let nodes = if nodes.is_empty() { vec![0] } else { nodes };
        Self {
            staircases: staircase_cpus(machine, &initiators),
            sizes_bytes: working_set_sizes(buffer_bytes),
            cells: choose_cells(machine, &initiators, &nodes, seed),
            initiators,
            nodes,
            buffer_bytes,
        }
    }

    /// Returns the node with the nearest memory to an initiator by the system's distances: its own if that has memory.
    pub fn nearest_node(&self, machine: &Machine, initiator: &MemoryInitiator) -> u32 {
        let distance = |node: &u32| node_distance(machine, initiator.node, *node);
        self.nodes.iter().copied().min_by_key(distance).unwrap_or(0)
    }

    /// Returns the streams of an initiator through a node: all of them if the memory is its nearest, otherwise only
    /// reads.
    pub fn planned_streams(
        &self,
        machine: &Machine,
        initiator: &MemoryInitiator,
        node: u32,
    ) -> Vec<(StreamOperation, CpuSet)> {
        let (one, cores) = (CpuSet::from_cpu(initiator.cpu), one_of_each_core(machine, &initiator.cpus));
        let is_nearest = self.nearest_node(machine, initiator) == node;
        let operations = if is_nearest { &StreamOperation::ALL[..] } else { &StreamOperation::ALL[..1] };
        let mut streams: Vec<(StreamOperation, CpuSet)> = Vec::new();
        for cpus in [&one, &cores] {
            streams.extend(operations.iter().map(|operation| (*operation, cpus.clone())));
        }
        if is_nearest {
            let of_core = |cpus: &CpuSet| cpus.intersection(&initiator.cpus);
            let siblings =
                machine.objects_of(Level::Core).iter().find(|core| core.contains(initiator.cpu)).map(of_core);
            let node = machine.nodes.iter().find(|own| Some(own.number) == initiator.node);
            let reach = self.initiators.iter().filter(|other| other.node == initiator.node);
            let all = reach.fold(CpuSet::new(), |all, other| all.union(&other.cpus));
            streams.extend(siblings.map(|cpus| (StreamOperation::Read, cpus)));
            streams.extend(node.map(|_| (StreamOperation::Read, one_of_each_core(machine, &all))));
        }
        let mut seen: Vec<(StreamOperation, CpuSet)> = Vec::new();
        streams.into_iter().for_each(|stream| {
            if !seen.contains(&stream) {
                seen.push(stream);
            }
        });
        seen
    }

    /// Returns the timed cpu, the node, and the loaders of each curve: one for each node with memory and two cores.
    pub fn planned_curves(&self, machine: &Machine) -> Vec<(u32, u32, CpuSet)> {
        let of_node = |node: u32| {
            let near: Vec<&MemoryInitiator> =
                self.initiators.iter().filter(|initiator| self.nearest_node(machine, initiator) == node).collect();
            let timed = near.first()?.cpu;
            let all = near.iter().fold(CpuSet::new(), |all, initiator| all.union(&initiator.cpus));
            let core =
                machine.objects_of(Level::Core).into_iter().find(|core| core.contains(timed)).unwrap_or_default();
            let loaders = one_of_each_core(machine, &all.difference(&core).difference(&CpuSet::from_cpu(timed)));
            (!loaders.is_empty()).then_some((timed, node, loaders))
        };
        self.nodes.iter().filter_map(|node| of_node(*node)).collect()
    }
}

/// Returns the total size of a machine's last-level caches as reported; 0 if none is.
pub fn caches_bytes(machine: &Machine) -> u64 {
    machine.llcs.iter().filter_map(|llc| llc.size_bytes).fold(0, u64::saturating_add)
}

/// Returns the size of a buffer that exceeds the caches.
pub fn buffer_bytes(machine: &Machine) -> u64 {
    BUFFER_TO_CACHES.saturating_mul(caches_bytes(machine)).max(LEAST_BUFFER_BYTES)
}

/// Returns the distance from a node to another as the system reports it: 10 to itself. Unknown is far.
pub fn node_distance(machine: &Machine, from: Option<u32>, to: u32) -> u32 {
    const FAR: u32 = 255;
    let place = |number: u32| machine.nodes.iter().position(|node| node.number == number);
    let known = from.and_then(|from| {
        let distances = &machine.nodes[place(from)?].distances;
        distances.get(place(to)?).copied()
    });
    known.unwrap_or(if from == Some(to) { 10 } else { FAR })
}

/// Returns one cpu of each core of a set: the lowest.
pub fn one_of_each_core(machine: &Machine, cpus: &CpuSet) -> CpuSet {
    machine.objects_of(Level::Core).iter().filter_map(|core| core.intersection(cpus).lowest()).collect()
}

/// Returns the cpus of each last-level cache, divided by nodes if a cache spans several. The second core measures if
/// there is one: the first cpu of a machine takes most interrupts.
fn list_initiators(machine: &Machine, cpus: &CpuSet) -> Vec<MemoryInitiator> {
    let mut initiators = Vec::new();
    for llc in &machine.llcs {
        let mut rest = llc.cpus.intersection(cpus);
        for node in &machine.nodes {
            let own = rest.intersection(&node.cpus);
            rest = rest.difference(&own);
            initiators.extend(build_initiator(machine, own, Some(node.number)));
        }
        initiators.extend(build_initiator(machine, rest, None));
    }
    initiators
}

fn build_initiator(machine: &Machine, cpus: CpuSet, node: Option<u32>) -> Option<MemoryInitiator> {
    let cores = one_of_each_core(machine, &cpus);
    let cpu = cores.iter().nth(1).or_else(|| cpus.lowest())?;
    Some(MemoryInitiator { cpus, cpu, node })
}

/// Returns a cpu for each kind of core and each size of last-level cache.
fn staircase_cpus(machine: &Machine, initiators: &[MemoryInitiator]) -> Vec<u32> {
    let mut alike: BTreeMap<(Option<u64>, Option<usize>), u32> = BTreeMap::new();
    for initiator in initiators {
        let size = machine.index_of(Level::Llc, initiator.cpu).and_then(|index| machine.llcs[index].size_bytes);
        let kinds: Vec<&CpuSet> = machine.kinds.iter().map(|kind| &kind.cpus).collect();
        if kinds.is_empty() {
            alike.entry((size, None)).or_insert(initiator.cpu);
        }
        for (index, kind) in kinds.into_iter().enumerate() {
            let own = initiator.cpus.intersection(kind);
            let cpu = if own.contains(initiator.cpu) { Some(initiator.cpu) } else { own.lowest() };
            if let Some(cpu) = cpu {
                alike.entry((size, Some(index))).or_insert(cpu);
            }
        }
    }
    let cpus: CpuSet = alike.into_values().collect();
    cpus.iter().collect()
}

/// Returns two working sets for each doubling, up to the buffer.
fn working_set_sizes(buffer_bytes: u64) -> Vec<u64> {
    let doublings = std::iter::successors(Some(SMALLEST_BYTES), |bytes| bytes.checked_mul(2));
    let both = doublings.flat_map(|bytes| [bytes, bytes.saturating_add(bytes / 2)]);
    both.take_while(|bytes| *bytes <= buffer_bytes).collect()
}

/// Returns all cells, or if they are too many some of each distance.
fn choose_cells(machine: &Machine, initiators: &[MemoryInitiator], nodes: &[u32], seed: u64) -> Vec<(usize, usize)> {
    let all: Vec<(usize, usize)> =
        (0..initiators.len()).flat_map(|initiator| (0..nodes.len()).map(move |node| (initiator, node))).collect();
    if all.len() <= MOST_CELLS {
        return all;
    }
    let mut by_distance: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    for cell in all {
        by_distance.entry(node_distance(machine, initiators[cell.0].node, nodes[cell.1])).or_default().push(cell);
    }
    let mut random = RandomGenerator::new(seed);
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    for cells in by_distance.values_mut() {
        random.shuffle(cells);
        chosen.extend(cells.iter().take(CELLS_OF_A_DISTANCE));
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewise_machine::machine_file;

    fn machine(name: &str) -> Machine {
        let found = machine_file::BUILT_IN.iter().find(|machine| machine.name == name).unwrap();
        machine_file::parse(found.text).unwrap().machine
    }

    fn whole(machine: &Machine) -> MemoryPlan {
        MemoryPlan::new(machine, &machine.allowed, buffer_bytes(machine), 1)
    }

    #[test]
    fn a_2990wx_has_eight_initiators_and_two_memories() {
        let machine = machine("threadripper-2990wx");
        let plan = whole(&machine);
        assert_eq!((plan.initiators.len(), plan.nodes.as_slice(), plan.cells.len()), (8, &[0, 2][..], 16));
        assert_eq!((plan.staircases.len(), plan.buffer_bytes), (1, 256 << 20));
        // The dies without memory have no own node: the nearest with a node serves.
        for initiator in &plan.initiators {
            assert!([0, 2].contains(&plan.nearest_node(&machine, initiator)), "{initiator:?}");
        }
        let curves = plan.planned_curves(&machine);
        assert_eq!(curves.iter().map(|curve| curve.1).collect::<Vec<_>>(), [0, 2]);
        assert!(curves.iter().all(|(cpu, _, loaders)| !loaders.contains(*cpu) && loaders.len() >= 7));
    }

    #[test]
    fn a_cache_that_is_larger_has_a_staircase_of_its_own() {
        let machine = machine("ryzen-9-9950x3d");
        let plan = whole(&machine);
        assert_eq!((plan.staircases.len(), plan.initiators.len(), plan.cells.len()), (2, 2, 2));
        assert_eq!(plan.sizes_bytes[..4], [4096, 6144, 8192, 12288]);
        assert!(*plan.sizes_bytes.last().unwrap() <= plan.buffer_bytes);
        let streams = plan.planned_streams(&machine, &plan.initiators[0], 0);
        assert!(streams.contains(&(StreamOperation::Read, CpuSet::parse_list("1,17").unwrap())), "{streams:?}");
        assert_eq!(streams.iter().map(|(_, cpus)| cpus.len()).max(), Some(16), "all cores of the node");
    }

    #[test]
    fn a_buffer_of_any_size_has_few_working_sets() {
        assert!(working_set_sizes(0).is_empty());
        assert_eq!(working_set_sizes(10_000), [4096, 6144, 8192]);
        assert_eq!(working_set_sizes(u64::MAX).len(), 104);
    }

    #[test]
    fn a_cpu_that_is_alone_is_a_machine() {
        let machine = machine("fx-8150");
        let plan = MemoryPlan::new(&machine, &CpuSet::from_cpu(3), 1 << 20, 1);
        assert_eq!((plan.initiators.len(), plan.sizes_bytes.last()), (1, Some(&(1 << 20))));
        assert_eq!(plan.initiators[0].cpu, 3);
        assert!(plan.planned_curves(&machine).is_empty());
        assert_eq!(plan.planned_streams(&machine, &plan.initiators[0], 0).len(), 4);
    }
}
