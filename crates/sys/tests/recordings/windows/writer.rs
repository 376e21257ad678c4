//! Writes a machine into the buffers that Windows would give of it, in Windows' numbering.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use corewise_machine::facts::CacheKind;
use corewise_machine::machine::Cache;
use corewise_machine::{CpuSet, Level, Machine};

/// The most cpus of a group.
const GROUP_CPUS: usize = 64;

/// How cpus are put into groups. In both the threads of a core stay together, side by side.
#[derive(Clone, Copy, Debug)]
pub enum WriterGroups {
    /// A group holds whole nodes, where these are small enough.
    ByNode,
    /// A group is filled before the next one begins, whatever the nodes are.
    Filled,
}

/// What Windows would give.
pub struct WrittenBuffers {
    /// The files of a recording.
    pub files: Vec<(&'static str, String)>,
    /// The first cpu of each group.
    pub first_cpus: Vec<u32>,
    places: BTreeMap<u32, WriterPlace>,
}

/// Where a cpu of the machine is on Windows.
#[derive(Clone, Copy)]
struct WriterPlace {
    group: u16,
    index: u8,
    number: u32,
}

impl WrittenBuffers {
    /// The cpus in Windows' numbering, those that are online.
    pub fn there(&self, cpus: &CpuSet) -> CpuSet {
        cpus.iter().filter_map(|cpu| Some(self.places.get(&cpu)?.number)).collect()
    }
}

/// A size as it fits into a cache relation.
pub fn size(bytes: u64) -> u64 {
    bytes.min(u64::from(u32::MAX))
}

/// Everything that Windows would give of a machine.
pub fn write(machine: &Machine, how: WriterGroups) -> WrittenBuffers {
    let groups = groups(machine, how);
    let mut places = BTreeMap::new();
    let mut first_cpus = Vec::new();
    for (group, cpus) in groups.iter().enumerate() {
        first_cpus.push(places.len() as u32);
        for (index, cpu) in cpus.iter().enumerate() {
            let number = places.len() as u32;
            places.insert(*cpu, WriterPlace { group: group as u16, index: index as u8, number });
        }
    }
    let writer = BufferWriter { machine, places: &places, counts: groups.iter().map(Vec::len).collect() };
    let files = vec![
        ("windows/about", writer.about()),
        ("windows/cpu-sets", hexadecimal(&writer.cpu_sets())),
        ("windows/logical-processors", hexadecimal(&writer.relations())),
    ];
    WrittenBuffers { files, first_cpus, places }
}

/// What Windows calls cores: on Bulldozer, modules.
fn cores(machine: &Machine) -> Vec<CpuSet> {
    let processor = &machine.processor;
    let has_modules = processor.vendor.as_deref() == Some("AuthenticAMD") && processor.family == Some(0x15);
    machine.objects_of(if has_modules { Level::Cluster } else { Level::Core })
}

/// The cpus of each group in the order of its bits.
fn groups(machine: &Machine, how: WriterGroups) -> Vec<Vec<u32>> {
    let place = |level: Level, cpu: u32| machine.index_of(level, cpu).unwrap_or(usize::MAX);
    let mut cores = cores(machine);
    cores.sort_by_cached_key(|core| {
        let cpu = core.lowest().expect("cores have cpus");
        let levels = [Level::Package, Level::Node, Level::Llc, Level::Cluster];
        (levels.map(|level| place(level, cpu)), cpu)
    });
    let mut groups: Vec<Vec<u32>> = Vec::new();
    let mut last_node = None;
    for core in cores {
        let node = core.lowest().and_then(|cpu| machine.nodes.iter().find(|node| node.cpus.contains(cpu)));
        let begins_node = last_node.replace(node.map(|node| node.number)) != Some(node.map(|node| node.number));
        let needed = match (how, node) {
            (WriterGroups::ByNode, Some(node)) if begins_node && node.cpus.len() <= GROUP_CPUS => node.cpus.len(),
            _ => core.len(),
        };
        if groups.last().is_none_or(|group| group.len() + needed > GROUP_CPUS) {
            groups.push(Vec::new());
        }
        groups.last_mut().expect("just pushed").extend(core.iter());
    }
    groups
}

struct BufferWriter<'a> {
    machine: &'a Machine,
    places: &'a BTreeMap<u32, WriterPlace>,
    counts: Vec<usize>,
}

impl BufferWriter<'_> {
    fn about(&self) -> String {
        let processor = &self.machine.processor;
        let mut text = String::from("version: 10.0.26100\n");
        let mut line = |key: &str, value: &Option<String>| {
            if let Some(value) = value {
                let _ = writeln!(text, "{key}: {value}");
            }
        };
        line("processor", &processor.model_name);
        line("vendor", &processor.vendor);
        line("architecture", &self.machine.system.architecture);
        let numbers = processor.family.zip(processor.model).zip(processor.stepping);
        let identifier =
            |((family, model), stepping)| format!("AMD64 Family {family} Model {model} Stepping {stepping}");
        line("identifier", &numbers.map(identifier));
        for node in &self.machine.nodes {
            let _ = writeln!(text, "free node {}: {}", node.number, node.memory_bytes.unwrap_or(1 << 30));
        }
        if let [node] = self.machine.nodes.as_slice() {
            node.memory_bytes.into_iter().for_each(|bytes| _ = writeln!(text, "memory: {bytes}"));
        }
        for (group, bits) in self.masks(&self.machine.allowed) {
            let _ = writeln!(text, "affinity group {group}: {bits:x}");
        }
        text
    }

    /// The bits of a set by group.
    fn masks(&self, cpus: &CpuSet) -> BTreeMap<u16, u64> {
        let mut masks: BTreeMap<u16, u64> = BTreeMap::new();
        for place in cpus.iter().filter_map(|cpu| self.places.get(&cpu)) {
            *masks.entry(place.group).or_default() |= 1 << place.index;
        }
        masks
    }

    fn relations(&self) -> Vec<u8> {
        let mut buffer = Vec::new();
        let has_dies = self.machine.dies.len() > self.machine.packages.len();
        for core in cores(self.machine) {
            buffer.extend(self.processors(0, self.efficiency_class(&core), &core));
        }
        for cluster in self.machine.objects_of(Level::Cluster) {
            buffer.extend(self.processors(7, 0, &cluster));
        }
        for node in &self.machine.nodes {
            // First as all versions do, with one group; then as newer ones do where they are asked for all groups.
            let first: Vec<(u16, u64)> = self.masks(&node.cpus).into_iter().take(1).collect();
            buffer.extend(node_relation(1, node.number, 0, &first));
            let all: Vec<(u16, u64)> = self.masks(&node.cpus).into_iter().collect();
            buffer.extend(node_relation(6, node.number, all.len() as u16, &all));
        }
        self.machine.caches.iter().for_each(|cache| buffer.extend(self.cache(cache)));
        for package in self.machine.objects_of(Level::Package) {
            buffer.extend(self.processors(3, 0, &package));
        }
        for die in self.machine.objects_of(Level::Die).iter().filter(|_| has_dies) {
            buffer.extend(self.processors(5, 0, die));
        }
        buffer.extend(self.groups());
        buffer
    }

    /// PROCESSOR_RELATIONSHIP.
    fn processors(&self, relation: u32, efficiency_class: u8, cpus: &CpuSet) -> Vec<u8> {
        let masks: Vec<(u16, u64)> = self.masks(cpus).into_iter().collect();
        let mut body = vec![0; 24];
        body[0] = u8::from(relation == 0 && cpus.len() > 1);
        body[1] = efficiency_class;
        body[22..24].copy_from_slice(&(masks.len() as u16).to_le_bytes());
        record(relation, body, &masks)
    }

    fn efficiency_class(&self, cpus: &CpuSet) -> u8 {
        let kinds = &self.machine.kinds;
        let place = kinds.iter().position(|kind| !kind.cpus.is_disjoint(cpus));
        place.map_or(0, |place| (kinds.len() - 1 - place) as u8)
    }

    /// CACHE_RELATIONSHIP.
    fn cache(&self, cache: &Cache) -> Vec<u8> {
        let masks: Vec<(u16, u64)> = self.masks(&cache.cpus).into_iter().collect();
        let mut body = vec![0; 32];
        body[0] = cache.level;
        body[2] = 64;
        body[4..8].copy_from_slice(&(size(cache.size_bytes.unwrap_or(0)) as u32).to_le_bytes());
        body[8] = match cache.kind {
            CacheKind::Unified => 0,
            CacheKind::Instruction => 1,
            CacheKind::Data => 2,
        };
        body[30..32].copy_from_slice(&(masks.len() as u16).to_le_bytes());
        record(2, body, &masks)
    }

    /// GROUP_RELATIONSHIP.
    fn groups(&self) -> Vec<u8> {
        let count = self.counts.len() as u16;
        let mut body = vec![0; 24];
        body[0..2].copy_from_slice(&count.to_le_bytes());
        body[2..4].copy_from_slice(&count.to_le_bytes());
        for cpus in &self.counts {
            let mut group = vec![0; 48];
            (group[0], group[1]) = (GROUP_CPUS as u8, *cpus as u8);
            group[40..].copy_from_slice(&(u64::MAX >> (GROUP_CPUS - cpus)).to_le_bytes());
            body.extend(group);
        }
        record(4, body, &[])
    }

    /// SYSTEM_CPU_SET_INFORMATION of each cpu.
    fn cpu_sets(&self) -> Vec<u8> {
        let cores = cores(self.machine);
        let mut places: Vec<(&u32, &WriterPlace)> = self.places.iter().collect();
        places.sort_by_key(|(_, place)| place.number);
        let mut buffer = Vec::new();
        for (cpu, place) in places {
            let first_of = |cpus: &CpuSet| {
                let places = cpus.iter().filter_map(|cpu| self.places.get(&cpu));
                places.filter(|other| other.group == place.group).map(|other| other.index).min().unwrap_or(0)
            };
            let core = cores.iter().find(|core| core.contains(*cpu)).expect("each cpu is in a core");
            let last = self.machine.llcs.iter().find(|llc| llc.cpus.contains(*cpu)).expect("each cpu is in one");
            let node = self.machine.nodes.iter().find(|node| node.cpus.contains(*cpu));
            let mut record = [0; 32];
            record[0] = 32;
            record[8..12].copy_from_slice(&(0x100 + place.number).to_le_bytes());
            record[12..14].copy_from_slice(&place.group.to_le_bytes());
            record[14] = place.index;
            record[15] = first_of(core);
            record[16] = first_of(&last.cpus);
            record[17] = node.map_or(0, |node| node.number as u8);
            record[18] = self.efficiency_class(core);
            buffer.extend(record);
        }
        buffer
    }
}

/// NUMA_NODE_RELATIONSHIP; a node without cpus has a mask of zeros.
fn node_relation(relation: u32, number: u32, count: u16, masks: &[(u16, u64)]) -> Vec<u8> {
    let mut body = vec![0; 24];
    body[..4].copy_from_slice(&number.to_le_bytes());
    body[22..24].copy_from_slice(&count.to_le_bytes());
    record(relation, body, if masks.is_empty() { &[(0, 0)] } else { masks })
}

fn record(relation: u32, body: Vec<u8>, masks: &[(u16, u64)]) -> Vec<u8> {
    let mask = |(group, bits): &(u16, u64)| [bits.to_le_bytes(), u64::from(*group).to_le_bytes()].concat();
    let body = [body, masks.iter().flat_map(mask).collect()].concat();
    let size = (8 + body.len()) as u32;
    [relation.to_le_bytes().as_slice(), &size.to_le_bytes(), &body].concat()
}

/// Two digits a byte, a line for every 32 bytes.
fn hexadecimal(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    bytes.chunks(32).map(line).collect()
}
