//! Files of a recording that are kept in memory: only files that readers of this crate ask for.

use std::ops::Range;

use super::fixed_interrupts::FIXED_INTERRUPTS;
use super::hypervisor::HYPERVISOR;
use super::paths::{PCI_DEVICES, SCHEDULING, VULNERABILITIES};
use crate::values::own_files::{ABOUT_WINDOWS, CPU_SETS, LOGICAL_PROCESSORS};

/// Name of an hwloc XML export in a recording.
pub const HWLOC_XML: &str = "hwloc.xml";

/// Name of a recorded file that stands for a folder of which only the name is read. The machine has no such file.
pub const NAMED: &str = "corewise-named";

/// Files with a fixed path.
const SINGLE: [&str; 30] = [
    FIXED_INTERRUPTS,
    ABOUT_WINDOWS,
    CPU_SETS,
    LOGICAL_PROCESSORS,
    "proc/cpuinfo",
    "proc/hwloc-nofile-info",
    "proc/interrupts",
    "proc/meminfo",
    "proc/mounts",
    "proc/self/cgroup",
    "proc/self/cpuset",
    "proc/self/status",
    "proc/sys/kernel/arch",
    "proc/sys/kernel/osrelease",
    "proc/version",
    "sys/devices/cpu_atom/cpus",
    "sys/devices/cpu_core/cpus",
    "sys/devices/cpu_lowpower/cpus",
    "sys/devices/system/clocksource/clocksource0/available_clocksource",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/nohz_full",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/possible",
    "sys/devices/system/cpu/present",
    "sys/devices/system/node/online",
    "sys/devices/virtual/dmi/id/product_name",
    "sys/devices/virtual/dmi/id/sys_vendor",
    "sys/class/dmi/id/product_name",
    "sys/class/dmi/id/sys_vendor",
    "sys/hypervisor/type",
];

/// Files of a folder `sys/devices/system/cpu/cpuN`.
const OF_CPU: [&str; 24] = [
    "online",
    "cpu_capacity",
    "acpi_cppc/highest_perf",
    "topology/physical_package_id",
    "topology/die_id",
    "topology/core_id",
    "topology/die_cpus",
    "topology/die_cpus_list",
    "topology/cluster_cpus",
    "topology/cluster_cpus_list",
    "topology/core_cpus",
    "topology/core_cpus_list",
    "topology/thread_siblings",
    "topology/thread_siblings_list",
    "topology/package_cpus",
    "topology/package_cpus_list",
    "topology/core_siblings",
    "topology/core_siblings_list",
    "topology/book_siblings",
    "topology/book_siblings_list",
    "topology/drawer_siblings",
    "topology/drawer_siblings_list",
    "regs/identification/midr_el1",
    "microcode/version",
];

/// Files of a folder `cacheN` of a cpu.
const OF_CACHE: [&str; 6] = ["level", "type", "size", "shared_cpu_list", "shared_cpu_map", "id"];

/// Files of a cpufreq policy, or of `cpufreq` in a cpu's folder.
const OF_POLICY: [&str; 6] = [
    "affected_cpus",
    "related_cpus",
    "amd_pstate_prefcore_ranking",
    "cpuinfo_max_freq",
    "base_frequency",
    "scaling_governor",
];

/// Files of a folder `sys/devices/system/node/nodeN`.
const OF_NODE: [&str; 5] = ["cpulist", "cpumap", "distance", "meminfo", "access0/initiators/read_bandwidth"];

/// Prefix of links to the nodes with the best access to a node's memory; only their names are read.
const INITIATORS: &str = "access0/initiators/node";

/// Files of a folder `proc/irq/N`.
const OF_INTERRUPT: [&str; 4] = ["smp_affinity_list", "effective_affinity_list", "affinity_hint", "node"];

/// Files of a folder `sys/kernel/irq/N`.
const OF_INTERRUPT_IN_SYSFS: [&str; 7] = ["actions", "chip_name", "hwirq", "type", "name", "per_cpu_count", "wakeup"];

/// Names of a cpuset's list of cpus: version 2, version 1 effective and configured. Then the names of its list of nodes.
const OF_CPUSET: [&str; 8] = [
    "cpuset.cpus.effective",
    "cpuset.effective_cpus",
    "cpuset.cpus",
    "cpus",
    "cpuset.mems.effective",
    "cpuset.effective_mems",
    "cpuset.mems",
    "mems",
];

/// Files of a folder `sys/bus/pci/devices/ADDRESS`.
const OF_DEVICE: [&str; 11] = [
    "class",
    "vendor",
    "numa_node",
    "local_cpulist",
    "local_cpus",
    "current_link_speed",
    "current_link_width",
    "max_link_speed",
    "max_link_width",
    "power/runtime_status",
    "uevent",
];

/// Folders below a device's that contain its names as users know them, or its queues.
const NAMING: [&str; 8] = ["net", "infiniband", "nvme", "block", "drm", "accel", "queues", "mq"];

/// Maximum number of folders above such a name.
const DEEPEST_NAME: usize = 12;

/// Folders of devices with memory that may become a node's.
const MEMORY_DEVICES: [&str; 3] = ["sys/bus/dax/devices/", "sys/bus/nd/devices/", "sys/bus/cxl/devices/"];

/// Usual mount points of cpusets.
const CPUSET_MOUNTS: [&str; 4] = ["sys/fs/cgroup/", "cgroup/", "dev/cpuset/", "dev/cgroup/"];

/// Returns the part of an archive's path that is a wanted file's path, after at most four folders around the machine.
pub fn find_wanted(path: &str) -> Option<Range<usize>> {
    let begins = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1)).take(5);
    begins.map(|begin| begin..path.len()).find(|range| is_wanted(&path[range.clone()]))
}

/// Returns true if a reader may ask for this path.
pub fn is_wanted(path: &str) -> bool {
    if let Some(rest) = path.strip_prefix("sys/devices/system/cpu/") {
        return is_wanted_of_cpus(rest) || is_single(path) || is_vulnerability(path);
    }
    if let Some(rest) = path.strip_prefix("sys/devices/system/node/node") {
        let name = after_number(rest).unwrap_or_default();
        return OF_NODE.contains(&name) || is_initiator(name);
    }
    is_single(path)
        || is_of_interrupts(path)
        || is_of_device(path)
        || is_cpuset(path)
        || (path.ends_with("/target_node") && MEMORY_DEVICES.iter().any(|folder| path.starts_with(folder)))
        || is_dump(path)
        || [HWLOC_XML, HYPERVISOR].contains(&path)
}

fn is_single(path: &str) -> bool {
    SINGLE.contains(&path) || SCHEDULING.iter().any(|(_, file)| *file == path)
}

fn is_vulnerability(path: &str) -> bool {
    let name = path.strip_prefix(VULNERABILITIES).and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

/// Returns true for a link in an archive of which only the name is read.
pub fn is_named_only(path: &str) -> bool {
    path.strip_prefix("sys/devices/system/node/node").and_then(after_number).is_some_and(is_initiator)
}

fn is_initiator(name: &str) -> bool {
    let number = name.strip_prefix(INITIATORS).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true for a cpu's file in a cpuid dump: "pu0".
pub fn is_dump(path: &str) -> bool {
    let name = path.strip_prefix("cpuid/").unwrap_or(path);
    name.strip_prefix("pu").is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_wanted_of_cpus(path: &str) -> bool {
    if let Some(rest) = path.strip_prefix("cpufreq/policy") {
        return after_number(rest).is_some_and(|name| OF_POLICY.contains(&name));
    }
    let Some(of_cpu) = path.strip_prefix("cpu").and_then(after_number) else { return false };
    match (of_cpu.strip_prefix("cache/index"), of_cpu.strip_prefix("cpufreq/")) {
        (Some(rest), _) => after_number(rest).is_some_and(|name| OF_CACHE.contains(&name)),
        (_, Some(name)) => OF_POLICY.contains(&name),
        _ => OF_CPU.contains(&of_cpu),
    }
}

/// Returns true for the kernel's files about interrupts, and the drivers of PCI devices, which raise most of them.
fn is_of_interrupts(path: &str) -> bool {
    let is_of = |folder: &str, names: &[&str]| {
        path.strip_prefix(folder).and_then(after_number).is_some_and(|name| names.contains(&name))
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_of("proc/irq/", &OF_INTERRUPT)
        || is_of("sys/kernel/irq/", &OF_INTERRUPT_IN_SYSFS)
        || path.strip_prefix("sys/kernel/debug/irq/irqs/").is_some_and(is_number)
}

fn is_of_device(path: &str) -> bool {
    let name = path.strip_suffix(NAMED).and_then(|folder| folder.strip_suffix('/'));
    let file = behind_address(path).is_some_and(|file| OF_DEVICE.contains(&file));
    file || name.is_some_and(is_device_name)
}

/// Returns the part of a path after a device's folder.
fn behind_address(path: &str) -> Option<&str> {
    let (address, rest) = path.strip_prefix(PCI_DEVICES)?.strip_prefix('/')?.split_once('/')?;
    (!address.is_empty()).then_some(rest)
}

/// Returns true if a folder's name is a device's name as users know it, or one of its queues.
pub fn is_device_name(path: &str) -> bool {
    let Some(rest) = behind_address(path) else { return false };
    let parts: Vec<&str> = rest.split('/').collect();
    if parts.len() > DEEPEST_NAME || parts.contains(&"") {
        return false;
    }
    match parts.as_slice() {
        [.., "nvme", _, disk] => disk.starts_with("nvme"),
        [.., folder, _] => NAMING.contains(folder),
        [engine] => engine.starts_with("dsa") || engine.starts_with("iax"),
        [] => false,
    }
}

fn is_cpuset(path: &str) -> bool {
    CPUSET_MOUNTS.iter().any(|mount| path.starts_with(mount))
        && path.rsplit('/').next().is_some_and(|name| OF_CPUSET.contains(&name))
}

/// Returns "rest" of "123/rest".
fn after_number(path: &str) -> Option<&str> {
    let (number, rest) = path.split_once('/')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_may_be_inside_of_other_folders() {
        let found = |path: &'static str| find_wanted(path).map(|range| &path[range]);
        assert_eq!(found("proc/cpuinfo"), Some("proc/cpuinfo"));
        assert_eq!(found("a/b/c/proc/cpuinfo"), Some("proc/cpuinfo"));
        assert_eq!(found("a/b/c/d/e/proc/cpuinfo"), None);
        assert_eq!(found("name/cgroup/x/cpuset.cpus"), Some("cgroup/x/cpuset.cpus"));
        assert!(found("name/fsroot/sys/devices/system/cpu/cpu12/cpufreq/related_cpus").is_some());
        assert_eq!(found("name/cpuid/pu3"), Some("cpuid/pu3"));
    }

    #[test]
    fn only_what_readers_ask_for_is_kept() {
        let wanted = [
            "sys/devices/system/cpu/cpu0/topology/core_id",
            "sys/devices/system/cpu/cpu0/cache/index3/size",
            "sys/devices/system/cpu/cpufreq/policy10/cpuinfo_max_freq",
            "sys/devices/system/cpu/online",
            "sys/devices/system/node/node10/cpulist",
            "sys/fs/cgroup/a/b/cpuset.cpus.effective",
            "proc/irq/36/effective_affinity_list",
            "sys/kernel/irq/36/chip_name",
            "sys/kernel/debug/irq/irqs/36",
            "sys/bus/pci/devices/0000:00:02.0/uevent",
            "sys/bus/pci/devices/0000:00:02.0/numa_node",
            "sys/bus/pci/devices/0000:00:02.0/virtio1/block/vda/corewise-named",
            "sys/bus/pci/devices/0000:00:02.0/nvme/nvme0/nvme0n1/mq/0/corewise-named",
            "sys/bus/pci/devices/0000:00:02.0/dsa0/corewise-named",
            "sys/devices/system/node/node10/access0/initiators/node2",
            "sys/bus/cxl/devices/region0/dax_region0/dax0.0/target_node",
            "sys/fs/cgroup/a/b/cpuset.mems.effective",
            "windows/logical-processors",
        ];
        for path in wanted {
            assert!(is_wanted(path), "{path}");
        }
        let unwanted = [
            "sys/devices/system/cpu/cpu0/cpuidle/state0/usage",
            "sys/devices/system/cpu/cpux/topology/core_id",
            "sys/devices/system/cpu/cpu0/cache/index3/ways_of_associativity",
            "sys/devices/system/node/node/cpulist",
            "sys/devices/virtual/dmi/id/product_serial",
            "proc/irq/default_smp_affinity",
            "proc/irq/36/spurious",
            "sys/kernel/debug/irq/domains/default",
            "sys/bus/pci/devices/0000:00:02.0/virtio1/uevent",
            "sys/bus/pci/devices/0000:00:02.0/net/eth0/address",
            "sys/bus/pci/devices/0000:00:02.0/nvme/nvme0/serial/corewise-named",
            "sys/bus/pci/devices/0000:00:02.0/power/corewise-named",
            "sys/bus/pci/devices/corewise-named",
            "puz",
            "",
        ];
        for path in unwanted {
            assert!(!is_wanted(path), "{path}");
        }
    }
}
