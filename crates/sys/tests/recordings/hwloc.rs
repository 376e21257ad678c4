//! The counts of hwloc 2.9.0 for the same recordings, and where and why they differ from ours.

use std::collections::BTreeMap;
use std::path::Path;

use corewise_machine::{CpuSet, Machine};
use libtest_mimic::{Failed, Trial};

use super::data;

/// A count in which hwloc and we differ.
struct Difference {
    recording: &'static str,
    count: &'static str,
    ours: usize,
    hwloc: usize,
    /// Why it is hwloc that differs from the machine, or what it means by the word.
    why: &'static str,
}

pub const POWER7: &str = "the kernel gives no package number (-1), so we know one package; hwloc takes core_siblings for one, \
    which are the four threads of a core on this kernel";
const MEMORY_ALLOWED: &str = "the cpuset allows cpus 0-5 but memory of nodes 0-5; hwloc keeps nodes of allowed memory, and \
    the packages and caches around them, though none of their cpus may be used";
pub const NESTED: &str = "nodes 3, 4 and 5 of this invented machine are inside of each other, which no kernel does; hwloc \
    drops the two that overlap, we give each cpu to the smallest";
const NO_MEMORY: &str = "hwloc drops nodes without memory: 0-3, which have the cpus, and the generic initiator 4";
pub const CONFIGURED: &str = "hwloc reads cpuset.cpus (0-175), what was asked for; the kernel lets the process use \
    cpuset.effective_cpus (0-87), of which 0-15 are online";
const GPU_MEMORY: &str = "hwloc hides the memory of NVIDIA GPUs (nodes 250-255) unless it is told not to; node 8 has no \
    cpu that the process may use";
const FROM_CPUID: &str =
    "the row was counted from the cpuid dump in the archive, which tells no nodes; sysfs tells eight";

/// All differences. One that is not here fails its recording's test, and so does one that is gone.
const DIFFERENCES: [Difference; 14] = [
    Difference { recording: "hwloc/linux/256ppc-8n8s4t.tar.bz2", count: "package", ours: 1, hwloc: 64, why: POWER7 },
    Difference {
        recording: "hwloc/linux/32amd64-4s2n4c-cgroup2.tar.bz2",
        count: "package",
        ours: 1,
        hwloc: 3,
        why: MEMORY_ALLOWED,
    },
    Difference {
        recording: "hwloc/linux/32amd64-4s2n4c-cgroup2.tar.bz2",
        count: "node",
        ours: 2,
        hwloc: 6,
        why: MEMORY_ALLOWED,
    },
    Difference {
        recording: "hwloc/linux/32amd64-4s2n4c-cgroup2.tar.bz2",
        count: "L3",
        ours: 2,
        hwloc: 6,
        why: MEMORY_ALLOWED,
    },
    Difference { recording: "hwloc/linux/fakeheterocpunuma.tar.bz2", count: "node", ours: 6, hwloc: 4, why: NESTED },
    Difference {
        recording: "hwloc/linux/fakememinitiators-1np2c+1npp+gi.tar.bz2",
        count: "node",
        ours: 11,
        hwloc: 6,
        why: NO_MEMORY,
    },
    Difference {
        recording: "hwloc/linux/nvidiagpunumanodes.tar.bz2",
        count: "package",
        ours: 1,
        hwloc: 2,
        why: CONFIGURED,
    },
    Difference {
        recording: "hwloc/linux/nvidiagpunumanodes.tar.bz2",
        count: "core",
        ours: 4,
        hwloc: 8,
        why: CONFIGURED,
    },
    Difference {
        recording: "hwloc/linux/nvidiagpunumanodes.tar.bz2",
        count: "cpu",
        ours: 16,
        hwloc: 32,
        why: CONFIGURED,
    },
    Difference { recording: "hwloc/linux/nvidiagpunumanodes.tar.bz2", count: "L2", ours: 2, hwloc: 4, why: CONFIGURED },
    Difference { recording: "hwloc/linux/nvidiagpunumanodes.tar.bz2", count: "L3", ours: 2, hwloc: 4, why: CONFIGURED },
    Difference {
        recording: "hwloc/linux/nvidiagpunumanodes.tar.bz2",
        count: "node",
        ours: 7,
        hwloc: 2,
        why: GPU_MEMORY,
    },
    Difference {
        recording: "hwloc/x86+linux/64amd64-4p2n4ca2co.tar.bz2",
        count: "node",
        ours: 8,
        hwloc: 1,
        why: FROM_CPUID,
    },
    Difference {
        recording: "hwloc/x86+linux/64amd64-4p2n4ca2co.xml",
        count: "node",
        ours: 8,
        hwloc: 1,
        why: FROM_CPUID,
    },
];

/// What is counted, with the names hwloc has for it.
const COUNTS: [(&str, &[&str]); 6] = [
    ("package", &["Package"]),
    ("node", &["*NUMANode"]),
    ("core", &["Core"]),
    ("cpu", &["PU"]),
    ("L2", &["L2Cache", "L2dCache"]),
    ("L3", &["L3Cache", "L3dCache"]),
];

/// Compares the counts of a recording with those of hwloc, where it has any for it.
pub fn compare(folder: &Path, name: &str) -> Result<(), Failed> {
    let Some(expected) = expected(folder, name)? else { return Ok(()) };
    let ours = ours(&data::machine(folder, name)?);
    let mut wrong = Vec::new();
    for (count, _) in COUNTS {
        let listed = DIFFERENCES.iter().find(|entry| entry.recording == name && entry.count == count);
        let (here, there) = (ours[count], expected[count]);
        match listed {
            Some(entry) if (entry.ours, entry.hwloc) == (here, there) => (),
            Some(entry) => {
                wrong.push(format!("{count}: {here} here, {there} there; no longer as listed: {}", entry.why))
            }
            None if here == there => (),
            None => wrong.push(format!("{count}: {here} here, {there} there, and not listed")),
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Our counts, of what the recorded process may use: hwloc leaves the rest out. Nodes of memory only are counted.
fn ours(machine: &Machine) -> BTreeMap<&'static str, usize> {
    let usable = |cpus: &CpuSet| !cpus.is_disjoint(&machine.allowed);
    let caches = |level: u8| machine.data_caches(level).filter(|cache| usable(&cache.cpus)).count();
    BTreeMap::from([
        ("package", machine.packages.iter().filter(|package| usable(&package.cpus)).count()),
        ("node", machine.nodes.iter().filter(|node| node.cpus.is_empty() || usable(&node.cpus)).count()),
        ("core", machine.cores.iter().filter(|core| usable(&core.cpus)).count()),
        ("cpu", machine.allowed.len()),
        ("L2", caches(2)),
        ("L3", caches(3)),
    ])
}

/// hwloc's counts for a recording. An XML export has those of the archive it was made from.
fn expected(folder: &Path, name: &str) -> Result<Option<BTreeMap<&'static str, usize>>, Failed> {
    let table = std::fs::read_to_string(folder.join("expected-hwloc-2.9.0.tsv"))?;
    let archive = name.replace(".xml", ".tar.bz2");
    let row = table
        .lines()
        .map(|line| line.split('\t'))
        .find_map(|mut fields| if fields.next() == Some(archive.as_str()) { fields.next() } else { None });
    Ok(row.map(|row| COUNTS.iter().map(|(count, names)| (*count, counted(row, names))).collect()))
}

fn counted(row: &str, names: &[&str]) -> usize {
    let pairs = row.split_whitespace().filter_map(|word| word.split_once('='));
    pairs.filter(|(name, _)| names.contains(name)).filter_map(|(_, number)| number.parse::<usize>().ok()).sum()
}

/// An entry whose recording is not among the files would never be looked at.
pub fn no_entry_is_stale(files: Vec<String>) -> Trial {
    Trial::test("every listed difference is of a file", move || {
        for entry in &DIFFERENCES {
            if !files.iter().any(|name| name == entry.recording) {
                return Err(format!("{} is not there", entry.recording).into());
            }
        }
        Ok(())
    })
}
