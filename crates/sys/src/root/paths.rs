//! Paths that several readers share.

/// The folder of a cpuid dump's files, one a cpu: "cpuid/pu0".
pub const CPUID: &str = "cpuid";

/// The folder of the devices on the PCI bus.
pub const PCI_DEVICES: &str = "sys/bus/pci/devices";

/// The folder of the kernel's files about vulnerabilities of processors, one each.
pub const VULNERABILITIES: &str = "sys/devices/system/cpu/vulnerabilities";

/// Settings besides the machine that affect placement by the kernel, and speed: a file each, of which most exist on few machines.
pub const SCHEDULING: [(&str, &str); 7] = [
    // In debugfs, which only root may read.
    ("cache_aware", "sys/kernel/debug/sched/llc_balancing/enabled"),
    ("numa_balancing", "proc/sys/kernel/numa_balancing"),
    ("sched_ext", "sys/kernel/sched_ext/state"),
    ("sched_ext_ops", "sys/kernel/sched_ext/root/ops"),
    ("prefcore", "sys/devices/system/cpu/amd_pstate/prefcore"),
    ("x3d_mode", "sys/bus/platform/drivers/amd_x3d_vcache/AMDI0101:00/amd_x3d_mode"),
    ("smt", "sys/devices/system/cpu/smt/control"),
];
