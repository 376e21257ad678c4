//! Facts from Linux's /sys and /proc.

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::assemble::agreement::SharingReading;
use corewise_machine::facts::{CoreType, CpuFacts, MachineFacts, NamedKind, ProcessorFacts};
use corewise_machine::{CpuSet, Gap, GapSubject, Level};

use super::cpuinfo::CpuInfo;
use super::frequency::FrequencyPolicies;
use super::limits::CPUS;
use super::reader::ValueReader;
use super::sharing::{self, BOOKS, CLUSTERS, DIES, DRAWERS, NumberedCpu, PACKAGES, Sets, SharingFiles, THREADS};
use super::{allowed, caches, devices, frequency, memory, nodes, online, system};

/// Reads all facts of sysfs and procfs; no cpus if there is neither.
pub fn read_facts(reader: &ValueReader) -> MachineFacts {
    let info = CpuInfo::parse(&reader.read_text("proc/cpuinfo").unwrap_or_default());
    if info.has_larger_cpus {
        reader.saw_larger_cpus();
    }
    let allowed = allowed::read_allowed(reader);
    let online = online::read_online(reader, &info).or_else(|| allowed.cpus.clone()).unwrap_or_default();
    let mut nodes = nodes::read_nodes(reader, &online);
    memory::add_kinds(reader, &mut nodes);
    allowed::doubt_silence(reader, nodes.len());
    let frequencies = frequency::read_frequencies(reader, &online);
    let cpus = read_cpus(reader, &online, &info, &frequencies);
    if !cpus.is_empty() && cpus.iter().all(|cpu| cpu.package.is_none() && cpu.thread_siblings.is_none()) {
        let why = format!("neither {CPUS}/cpu*/topology nor proc/cpuinfo says them; each cpu is treated as a core");
        reader.add_gap(Gap::new("packages and cores", why).about(&[GapSubject::Packages, GapSubject::Cores]));
    }
    let mut named_kinds = named_kinds(reader, &online);
    if named_kinds.is_empty() && cpus.iter().all(|cpu| cpu.capacity.is_none()) {
        named_kinds = info.kinds_by_design(&online, reader);
    }
    let processor = info.read_processor(&cpus, reader);
    if processor == ProcessorFacts::default() && cpus.iter().any(has_siblings) {
        let why = "proc/cpuinfo does not name it; whether siblings are threads or the cores of a module follows from their core numbers";
        reader.add_gap(Gap::new("the processor", why).about(&[GapSubject::Cores, GapSubject::Caches]));
    }
    memory::add_on_package(&processor, &mut nodes);
    let file = |name: &str| reader.read_list(&format!("{CPUS}/{name}"));
    let present = file("present").or_else(|| plugged_in(reader));
    let possible = file("possible");
    MachineFacts {
        processor,
        system: system::read_system(reader, &info, frequencies.governors()),
        cpus,
        present: present_within(reader, present, possible.as_ref(), &online),
        possible,
        isolated: file("isolated"),
        nohz_full: file("nohz_full"),
        allowed: allowed.cpus,
        allowed_memory: allowed.memory,
        nodes,
        level_files: level_files(reader, &online),
        named_kinds,
        devices: if online.is_empty() { Vec::new() } else { devices::read_devices(reader) },
        online: Some(online),
        ..MachineFacts::default()
    }
}

/// Returns the paths of the files that list cores, packages, dies and clusters, as far as the first cpu has them.
fn level_files(reader: &ValueReader, online: &CpuSet) -> Vec<(Level, String)> {
    let Some(first) = online.lowest() else { return Vec::new() };
    let relations =
        [(Level::Core, THREADS), (Level::Cluster, CLUSTERS), (Level::Die, DIES), (Level::Package, PACKAGES)];
    let file = |cpu: &str, name: &str| format!("{CPUS}/cpu{cpu}/topology/{name}");
    let found = |(level, relation): (Level, SharingFiles<'_>)| {
        let name = relation.files.iter().find(|name| reader.has_file(&file(&first.to_string(), name)))?;
        Some((level, file("{cpu}", name)))
    };
    relations.into_iter().filter_map(found).collect()
}

/// Returns the present cpus within the possible ones, provided those include all online cpus.
fn present_within(
    reader: &ValueReader,
    present: Option<CpuSet>,
    possible: Option<&CpuSet>,
    online: &CpuSet,
) -> Option<CpuSet> {
    let Some(possible) = possible.filter(|possible| !possible.is_empty()) else { return present };
    let present = present?;
    if present.is_subset(possible) {
        return Some(present);
    }
    let why = format!("{CPUS}/present says {present}, but {CPUS}/possible says {possible}");
    reader.add_doubt(Gap::new("present cpus", why));
    Some(if online.is_subset(possible) { present.intersection(possible) } else { present })
}

fn has_siblings(cpu: &CpuFacts) -> bool {
    cpu.thread_siblings.as_ref().is_some_and(|set| set.len() > 1)
}

fn plugged_in(reader: &ValueReader) -> Option<CpuSet> {
    let numbers = reader.numbered_cpus(CPUS, "cpu");
    (!numbers.is_empty()).then_some(numbers)
}

/// Returns the online cpus, with the sets of cpus that share something.
fn read_cpus(reader: &ValueReader, online: &CpuSet, info: &CpuInfo, frequencies: &FrequencyPolicies) -> Vec<CpuFacts> {
    let file = |cpu: u32, name: &str| format!("{CPUS}/cpu{cpu}/{name}");
    let topology = |cpu: u32, name: &str| Some(file(cpu, &format!("topology/{name}")));
    let none = Sets::new();
    let die_numbers = read_numbers(reader, online, "die_id");
    let same = SameNumbers::read_numbers(reader, online, info, &die_numbers);
    let threads = sharing::agreed_sets(reader, &THREADS, online, topology, same.same_cores(), &none);
    let clusters = sharing::agreed_sets(reader, &CLUSTERS, online, topology, Vec::new(), &none);
    // A kernel without dies numbers them -1 and lists each cpu as a die of its own.
    let unknown = die_numbers.iter().filter(|die| die.number < 0).count();
    let has_dies = unknown * 2 <= die_numbers.len();
    let dies = if has_dies {
        sharing::agreed_sets(reader, &DIES, online, topology, same.same_dies(), &none)
    } else {
        Sets::new()
    };
    let packages = sharing::agreed_sets(reader, &PACKAGES, online, topology, same.same_packages(), &none);
    let books = sharing::agreed_sets(reader, &BOOKS, online, topology, Vec::new(), &none);
    let drawers = sharing::agreed_sets(reader, &DRAWERS, online, topology, Vec::new(), &none);
    let caches = caches::read_caches(reader, online, &threads, &same.same_cores());
    let firsts = threads.iter().filter(|(cpu, set)| set.lowest() == Some(**cpu));
    let by_numbers = || same.same_cores().into_iter().map(|reading| reading.cpus).collect::<BTreeSet<_>>();
    let cores: BTreeSet<CpuSet> =
        if threads.is_empty() { by_numbers() } else { firsts.map(|(_, set)| set.clone()).collect() };
    for name in ["acpi_cppc/highest_perf", "cpu_capacity"] {
        let number =
            |cpu| Some(NumberedCpu { cpu, number: reader.read_number(&file(cpu, name))?, file: file(cpu, name) });
        let given: Vec<NumberedCpu> = online.iter().filter_map(number).collect();
        sharing::doubt_unequal(reader, &given, &cores);
    }
    let nothing = |cpu: u32| CpuSet::from_cpu(cpu);
    let around = |cpu: u32| {
        let cache = caches.get(&cpu).into_iter().flatten().map(|cache| &cache.shared_with);
        let sets = threads.get(&cpu).into_iter().chain(cache);
        sets.max_by_key(|set| set.len()).cloned().unwrap_or_else(|| nothing(cpu))
    };
    let largest =
        |sets: &Sets, cpu: u32| sets.get(&cpu).filter(|set| set.len() > 1).cloned().unwrap_or_else(|| around(cpu));
    let package_numbers = sharing::agreed_numbers(reader, ("packages", GapSubject::Packages), &same.package, |cpu| {
        largest(&packages, cpu)
    });
    let die_numbers: Vec<NumberedCpu> = die_numbers.into_iter().filter(|die| has_dies && die.number >= 0).collect();
    let die_numbers =
        sharing::agreed_numbers(reader, ("dies", GapSubject::Dies), &die_numbers, |cpu| largest(&dies, cpu));
    let core_numbers = sharing::agreed_numbers(reader, ("cores", GapSubject::Cores), &same.core, |cpu| {
        threads.get(&cpu).cloned().unwrap_or_else(|| nothing(cpu))
    });
    let cpu = |number: u32| {
        let frequency = frequencies.policy_of_cpu(number);
        CpuFacts {
            number,
            package: package_numbers.get(&number).copied(),
            package_cpus: packages.get(&number).cloned(),
            book_cpus: books.get(&number).cloned(),
            drawer_cpus: drawers.get(&number).cloned(),
            die: die_numbers.get(&number).copied(),
            die_cpus: dies.get(&number).cloned(),
            cluster_cpus: clusters.get(&number).cloned(),
            core: core_numbers.get(&number).copied(),
            thread_siblings: threads.get(&number).cloned(),
            caches: caches.get(&number).cloned().unwrap_or_default(),
            capacity: reader.read_number(&file(number, "cpu_capacity")),
            highest_performance: reader.read_number(&file(number, "acpi_cppc/highest_perf")),
            preferred_rank: frequency.and_then(|policy| policy.preferred_rank),
            maximum_frequency_khz: frequency.and_then(|policy| policy.maximum_khz),
            base_frequency_khz: frequency.and_then(|policy| policy.base_khz),
        }
    };
    online.iter().map(cpu).collect()
}

/// Returns the numbers in a file of each cpu's topology, also negative ones.
fn read_numbers(reader: &ValueReader, online: &CpuSet, name: &str) -> Vec<NumberedCpu> {
    let of = |cpu: u32| {
        let file = format!("{CPUS}/cpu{cpu}/topology/{name}");
        Some(NumberedCpu { cpu, number: reader.read_number(&file)?, file })
    };
    online.iter().filter_map(of).collect()
}

/// The numbers of packages, dies and cores, from the files of the topology, then from /proc/cpuinfo.
struct SameNumbers {
    package: Vec<NumberedCpu>,
    die: Vec<NumberedCpu>,
    core: Vec<NumberedCpu>,
}

impl SameNumbers {
    fn read_numbers(reader: &ValueReader, online: &CpuSet, info: &CpuInfo, dies: &[NumberedCpu]) -> Self {
        let with = |name: &str, in_info: fn(&super::cpuinfo::CpuInfoEntry) -> Option<i64>| {
            let by_info = online.iter().filter_map(|cpu| {
                Some(NumberedCpu { cpu, number: in_info(info.entry_of(cpu)?)?, file: "proc/cpuinfo".to_owned() })
            });
            let known = read_numbers(reader, online, name).into_iter().filter(|numbered| numbered.number >= 0);
            known.chain(by_info).collect()
        };
        Self {
            package: with("physical_package_id", |entry| entry.package),
            die: dies.iter().filter(|die| die.number >= 0).cloned().collect(),
            core: with("core_id", |entry| entry.core),
        }
    }

    /// Returns the sets of cpus with equal package numbers.
    fn same_packages(&self) -> Vec<SharingReading> {
        sharing::group_by_numbers(&self.package, |_| ())
    }

    /// Returns the sets of cpus with equal package and die numbers.
    fn same_dies(&self) -> Vec<SharingReading> {
        let packages = first_of_each(&self.package);
        sharing::group_by_numbers(&self.die, |cpu| packages.get(&cpu).copied())
    }

    /// Returns the sets of cpus with equal package, die and core numbers.
    fn same_cores(&self) -> Vec<SharingReading> {
        let (packages, dies) = (first_of_each(&self.package), first_of_each(&self.die));
        sharing::group_by_numbers(&self.core, |cpu| (packages.get(&cpu).copied(), dies.get(&cpu).copied()))
    }
}

fn first_of_each(numbers: &[NumberedCpu]) -> BTreeMap<u32, i64> {
    let mut first = BTreeMap::new();
    numbers.iter().for_each(|number| _ = first.entry(number.cpu).or_insert(number.number));
    first
}

/// Returns the classes of core by the performance counters that the kernel registers for them. Every online cpu is in one, if there are
/// any.
fn named_kinds(reader: &ValueReader, online: &CpuSet) -> Vec<NamedKind> {
    let classes =
        [("cpu_core", CoreType::Performance), ("cpu_atom", CoreType::Efficiency), ("cpu_lowpower", CoreType::LowPower)];
    let kind = |(name, core_type): (&str, CoreType)| {
        let cpus = reader.read_list(&format!("sys/devices/{name}/cpus"))?;
        Some(NamedKind { core_type, cpus, source: name.to_owned() })
    };
    let kinds: Vec<NamedKind> = classes.into_iter().filter_map(kind).collect();
    let all = kinds.iter().fold(CpuSet::new(), |all, kind| all.union(&kind.cpus)).intersection(online);
    let count: usize = kinds.iter().map(|kind| kind.cpus.intersection(online).len()).sum();
    if !kinds.is_empty() && (all != *online || count != all.len()) {
        let said = |(name, _): &(&str, CoreType)| {
            let kind = kinds.iter().find(|kind| kind.source == *name);
            let cpus = kind.map_or_else(|| "nothing".to_owned(), |kind| kind.cpus.to_string());
            format!("sys/devices/{name}/cpus says {cpus}")
        };
        let said: Vec<String> = classes.iter().map(said).collect();
        let why = format!("a cpu of {online} is in none of these, or in two: {}", said.join("; "));
        reader.add_doubt(Gap::new("kinds of core", why).about(&[GapSubject::Kinds]));
    }
    kinds
}
