//! The facts that Linux gives under /sys and /proc.

use corewise_model::facts::{CoreType, CpuFacts, MachineFacts, NamedKind};
use corewise_model::{CpuSet, Gap};

use super::cpuinfo::CpuInfo;
use super::frequency::Frequencies;
use super::limits::CPUS;
use super::reader::Reader;
use super::{allowed, caches, frequency, nodes, system};

/// Everything that sysfs and procfs tell; no cpus where there is neither.
pub fn facts(reader: &Reader) -> MachineFacts {
    let info = CpuInfo::parse(&reader.text("proc/cpuinfo").unwrap_or_default());
    if info.has_larger_cpus {
        reader.saw_larger_cpus();
    }
    let allowed = allowed::allowed(reader);
    let online = online(reader, &info).or_else(|| allowed.clone()).unwrap_or_default();
    let nodes = nodes::nodes(reader, &online);
    let frequencies = frequency::frequencies(reader, &online);
    let cpus: Vec<CpuFacts> = online.iter().map(|number| cpu(reader, number, &info, &frequencies)).collect();
    if !cpus.is_empty() && cpus.iter().all(|cpu| cpu.package.is_none() && cpu.thread_siblings.is_none()) {
        reader.add_gap(Gap::new("packages and cores", format!("{CPUS} does not exist; each cpu is treated as a core")));
    }
    let file = |name: &str| reader.list(&format!("{CPUS}/{name}"));
    MachineFacts {
        processor: info.processor(&cpus, reader),
        system: system::system(reader, &info, frequencies.governors()),
        cpus,
        possible: file("possible"),
        present: file("present").or_else(|| plugged_in(reader)),
        online: Some(online),
        isolated: file("isolated"),
        nohz_full: file("nohz_full"),
        allowed,
        nodes,
        named_kinds: named_kinds(reader),
        gaps: Vec::new(),
    }
}

/// The online cpus: as listed; on kernels without the list, those with a folder that are not switched off and have a
/// topology where any has one; without sysfs those of /proc/cpuinfo.
fn online(reader: &Reader, info: &CpuInfo) -> Option<CpuSet> {
    if let Some(listed) = reader.list(&format!("{CPUS}/online")).filter(|set| !set.is_empty()) {
        return Some(listed);
    }
    let numbers = reader.numbered_cpus(CPUS, "cpu");
    let has_topology = |cpu: &u32| reader.text(&format!("{CPUS}/cpu{cpu}/topology/core_id")).is_some();
    let any = numbers.iter().any(|cpu| has_topology(&cpu));
    let is_on = |cpu: &u32| reader.number::<u32>(&format!("{CPUS}/cpu{cpu}/online")) != Some(0);
    let found: CpuSet = numbers.iter().filter(|cpu| is_on(cpu) && (!any || has_topology(cpu))).collect();
    [found, info.numbers()].into_iter().find(|set| !set.is_empty())
}

fn plugged_in(reader: &Reader) -> Option<CpuSet> {
    let numbers = reader.numbered_cpus(CPUS, "cpu");
    (!numbers.is_empty()).then_some(numbers)
}

fn cpu(reader: &Reader, number: u32, info: &CpuInfo, frequencies: &Frequencies) -> CpuFacts {
    let folder = format!("{CPUS}/cpu{number}");
    let file = |name: &str| format!("{folder}/{name}");
    let topology = |name: &str| reader.known_number(&file(&format!("topology/{name}")));
    let set = |list: &str, mask: &str| {
        reader.list_or_mask(&file(&format!("topology/{list}")), &file(&format!("topology/{mask}")))
    };
    let entry = info.of(number);
    let frequency = frequencies.of(number);
    CpuFacts {
        number,
        package: topology("physical_package_id").or_else(|| entry?.package),
        die: topology("die_id"),
        die_cpus: set("die_cpus_list", "die_cpus").filter(|_| !has_no_die(reader, &folder)),
        cluster_cpus: set("cluster_cpus_list", "cluster_cpus"),
        core: topology("core_id").or_else(|| entry?.core),
        thread_siblings: set("core_cpus_list", "core_cpus").or_else(|| set("thread_siblings_list", "thread_siblings")),
        caches: caches::caches(reader, &folder, number),
        capacity: reader.number(&file("cpu_capacity")),
        highest_performance: reader.number(&file("acpi_cppc/highest_perf")),
        maximum_frequency_khz: frequency.and_then(|policy| policy.maximum_khz),
        base_frequency_khz: frequency.and_then(|policy| policy.base_khz),
    }
}

/// Whether the kernel says that it knows no dies: it then lists each cpu as a die of its own.
fn has_no_die(reader: &Reader, cpu_folder: &str) -> bool {
    reader.number::<i64>(&format!("{cpu_folder}/topology/die_id")).is_some_and(|number| number < 0)
}

/// Classes of core by the performance counters that the kernel registers for them.
fn named_kinds(reader: &Reader) -> Vec<NamedKind> {
    let classes =
        [("cpu_core", CoreType::Performance), ("cpu_atom", CoreType::Efficiency), ("cpu_lowpower", CoreType::LowPower)];
    let kind = |(name, core_type): (&str, CoreType)| {
        let cpus = reader.list(&format!("sys/devices/{name}/cpus"))?;
        Some(NamedKind { core_type, cpus, source: name.to_owned() })
    };
    classes.into_iter().filter_map(kind).collect()
}
