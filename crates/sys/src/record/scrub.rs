//! Removes identifying data from the files of a recording.

use std::collections::BTreeMap;

use corewise_machine::{CpuSet, Machine};

use crate::root::{HYPERVISOR, PCI_DEVICES, usual_name};

/// The fields of /proc/cpuinfo that are kept; "Serial" of Arm boards is dropped.
const CPUINFO_FIELDS: [&str; 19] = [
    "processor",
    "vendor_id",
    "vendor",
    "arch",
    "cpu",
    "cpu family",
    "family",
    "model",
    "model name",
    "stepping",
    "microcode",
    "physical id",
    "core id",
    "flags",
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "CPU revision",
];

/// The leaves of a cpuid dump that are kept; leaf 3 is the serial number of a Pentium III.
const CPUID_LEAVES: [u32; 16] = [
    0,
    1,
    4,
    0xb,
    0x1a,
    0x1f,
    0x8000_0001,
    0x8000_0002,
    0x8000_0003,
    0x8000_0004,
    0x8000_0005,
    0x8000_0006,
    0x8000_0008,
    0x8000_001d,
    0x8000_001e,
    0x8000_0026,
];

/// The file of the allowed cpus and memory in every recording, whatever their source on the machine.
const STATUS: &str = "proc/self/status";

/// The list of cpus that are plugged in; recorded even for kernels that have none, because a cpu that is switched off may have no other
/// file.
const PRESENT: &str = "sys/devices/system/cpu/present";

/// Returns the files to record, by path.
pub fn scrub_files(
    read: BTreeMap<String, String>,
    machine: &Machine,
    (cpus, memory): (Option<CpuSet>, Option<CpuSet>),
) -> BTreeMap<String, String> {
    let kept = |(path, text): (String, String)| kept_text(&path, &text).map(|text| (without_addresses(&path), text));
    let mut files: BTreeMap<String, String> = read.into_iter().filter_map(kept).collect();
    let line = |name: &str, set: Option<CpuSet>| set.map(|set| format!("{name}:\t{set}\n"));
    let status =
        line("Cpus_allowed_list", cpus).into_iter().chain(line("Mems_allowed_list", memory)).collect::<String>();
    if !status.is_empty() {
        files.insert(STATUS.into(), status);
    }
    if files.keys().any(|path| path.starts_with("sys/devices/system/cpu/")) && !files.contains_key(PRESENT) {
        files.insert(PRESENT.into(), format!("{}\n", machine.present));
    }
    files
}

/// Returns the part of a file to keep; `None` for files that describe the process or its user.
fn kept_text(path: &str, text: &str) -> Option<String> {
    let group = path.contains("cgroup") || path.starts_with("dev/") || path.contains("cpuset");
    if group || path == "proc/mounts" || path == STATUS {
        return None;
    }
    Some(match path {
        "proc/cpuinfo" => keep_lines(text, |line| line.trim().is_empty() || CPUINFO_FIELDS.contains(&field_name(line))),
        "proc/version" => text.split_whitespace().take(3).collect::<Vec<_>>().join(" ") + "\n",
        "proc/hwloc-nofile-info" => keep_lines(text, |line| ["OSRelease", "Architecture"].contains(&field_name(line))),
        "proc/interrupts" => without_addresses(text),
        _ if path.starts_with("sys/kernel/irq/") => without_addresses(text),
        _ if path.starts_with("sys/kernel/debug/irq/") => keep_lines(text, |line| line.trim().starts_with("IRQD_")),
        _ if path.starts_with(PCI_DEVICES) && path.ends_with("/uevent") => {
            keep_lines(text, |line| line.starts_with("DRIVER="))
        }
        _ if path.ends_with("meminfo") => keep_lines(text, |line| line.contains("MemTotal:")),
        HYPERVISOR => keep_lines(text, |line| usual_name(line.trim()).is_some()),
        _ if path.starts_with("cpuid/") => {
            keep_lines(text, |line| cpuid_leaf(line).is_some_and(|leaf| CPUID_LEAVES.contains(&leaf)))
        }
        _ => text.to_owned(),
    })
}

/// Removes network addresses from the names of devices, so that the machine equals the one read back from the recording.
pub fn scrub_names(mut machine: Machine) -> Machine {
    for name in machine.devices.iter_mut().flat_map(|device| &mut device.names) {
        *name = without_addresses(name);
    }
    machine
}

/// Digits of the address in a network interface's name, if systemd names it by that: "enx0a1b2c3d4e5f".
const ADDRESS_DIGITS: usize = 12;

/// Replaces network addresses in the names of interfaces by zeros.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split('x');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| match part.get(..ADDRESS_DIGITS) {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            format!("{told}x{}{}", "0".repeat(ADDRESS_DIGITS), &part[ADDRESS_DIGITS..])
        }
        _ => format!("{told}x{part}"),
    })
}

fn keep_lines(text: &str, keep: impl Fn(&str) -> bool) -> String {
    text.lines().filter(|line| keep(line)).flat_map(|line| [line, "\n"]).collect()
}

fn field_name(line: &str) -> &str {
    line.split(':').next().unwrap_or_default().trim_end()
}

/// Parses the leaf of a line `mask eax …` of a cpuid dump.
fn cpuid_leaf(line: &str) -> Option<u32> {
    u32::from_str_radix(line.split_whitespace().nth(1)?, 16).ok()
}
