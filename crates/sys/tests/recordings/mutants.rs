//! A thousand recordings of which one file was changed, cut or deleted: each gives the original machine, or a gap that names the file, or
//! is refused. So do the recorded machines of the test data.
//!
//! What only one file says cannot be checked against anything, and is left out of the comparison: the size of a cache that no other cpu
//! shares, memory, distances, frequencies, names, and how many cpus are possible or present. A recording without proc/self/status allows everything.

use std::collections::BTreeMap;
use std::fmt::Write;

use std::io::Read as _;
use std::path::Path;

use corewise_machine::{CpuSet, Machine};
use corewise_sys::record::{RecordingPacking, record_machine};
use corewise_sys::{Root, topology};
use libtest_mimic::Failed;

type Files = BTreeMap<String, String>;

/// The cpus that a cpu shares something with, as a list.
type SharedBy = fn(u32) -> &'static str;

/// What a recording of a small machine has.
struct MutantRecording {
    cpus: u32,
    /// The sets of each level: of the threads of a core and so on, by cpu.
    core: SharedBy,
    cluster: Option<SharedBy>,
    package: SharedBy,
    /// Level, kind and set of each cache.
    caches: &'static [(&'static str, &'static str, SharedBy)],
    /// Whether it has lists beside masks, and the names of newer kernels.
    is_new: bool,
    kinds: &'static [(&'static str, &'static str)],
    die: &'static str,
}

/// Two packages of four cores with two threads each.
const SERVER: MutantRecording = MutantRecording {
    cpus: 16,
    core: pair_of_sixteen,
    cluster: None,
    package: half_of_sixteen,
    caches: &[
        ("1", "Data", pair_of_sixteen),
        ("1", "Instruction", pair_of_sixteen),
        ("2", "Unified", pair_of_sixteen),
        ("3", "Unified", half_of_sixteen),
    ],
    is_new: true,
    kinds: &[],
    die: "0",
};

/// Two packages of two cores with two threads each, on a kernel that has masks only and no list of online cpus.
const OLD: MutantRecording = MutantRecording {
    cpus: 8,
    core: pair_of_eight,
    cluster: None,
    package: half_of_eight,
    caches: &[("1", "Data", pair_of_eight), ("2", "Unified", half_of_eight)],
    is_new: false,
    kinds: &[],
    die: "",
};

/// Two clusters of four cores that share an L2.
const ARM: MutantRecording = MutantRecording {
    cpus: 8,
    core: alone,
    cluster: Some(half_of_eight),
    package: |_| "0-7",
    caches: &[("1", "Data", alone), ("1", "Instruction", alone), ("2", "Unified", half_of_eight)],
    is_new: true,
    kinds: &[],
    die: "-1",
};

/// Two fast cores with two threads each, and four efficient ones.
const HYBRID: MutantRecording = MutantRecording {
    cpus: 8,
    core: |cpu| HYBRID_CORES[cpu as usize],
    cluster: Some(module_of_eight),
    package: |_| "0-7",
    caches: &[
        ("1", "Data", |cpu| HYBRID_CORES[cpu as usize]),
        ("2", "Unified", module_of_eight),
        ("3", "Unified", |_| "0-7"),
    ],
    is_new: true,
    kinds: &[("cpu_core", "0-3"), ("cpu_atom", "4-7")],
    die: "0",
};

const HYBRID_CORES: [&str; 8] = ["0-1", "0-1", "2-3", "2-3", "4", "5", "6", "7"];

fn pair_of_sixteen(cpu: u32) -> &'static str {
    ["0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15"][cpu as usize % 8]
}

fn half_of_sixteen(cpu: u32) -> &'static str {
    ["0-3,8-11", "4-7,12-15"][cpu as usize % 8 / 4]
}

fn pair_of_eight(cpu: u32) -> &'static str {
    ["0,4", "1,5", "2,6", "3,7"][cpu as usize % 4]
}

fn half_of_eight(cpu: u32) -> &'static str {
    ["0-3", "4-7"][cpu as usize / 4]
}

fn module_of_eight(cpu: u32) -> &'static str {
    ["0-1", "0-1", "2-3", "2-3", "4-7", "4-7", "4-7", "4-7"][cpu as usize]
}

fn alone(cpu: u32) -> &'static str {
    ["0", "1", "2", "3", "4", "5", "6", "7"][cpu as usize]
}

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).expect("a list")
}

impl MutantRecording {
    fn files(&self) -> Files {
        let mut files = Files::new();
        let all = CpuSet::first_cpus(self.cpus);
        let mut add = |path: String, text: String| _ = files.insert(path, format!("{text}\n"));
        let package = |cpu: u32| set((self.package)(cpu)).lowest().expect("a cpu") / 4;
        let mut cpuinfo = String::new();
        for cpu in all.iter() {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            let mut share = |list: String, mask: String, cpus: &str| {
                if self.is_new {
                    add(list, cpus.to_owned());
                }
                add(mask, set(cpus).to_hexadecimal());
            };
            let mut named = |name: &str, old: &str, cpus: &str| {
                let names = if self.is_new { [Some(name), Some(old)] } else { [None, Some(old)] };
                for name in names.into_iter().flatten() {
                    share(format!("{folder}/topology/{name}_list"), format!("{folder}/topology/{name}"), cpus);
                }
            };
            named("core_cpus", "thread_siblings", (self.core)(cpu));
            named("package_cpus", "core_siblings", (self.package)(cpu));
            if let Some(cluster) = self.cluster {
                named("cluster_cpus", "cluster_cpus", cluster(cpu));
            }
            if !self.die.is_empty() {
                named("die_cpus", "die_cpus", if self.die == "-1" { (self.core)(cpu) } else { (self.package)(cpu) });
            }
            for (index, (_, _, cpus)) in self.caches.iter().enumerate() {
                let file = |name: &str| format!("{folder}/cache/index{index}/{name}");
                share(file("shared_cpu_list"), file("shared_cpu_map"), cpus(cpu));
            }
            for (index, (level, kind, _)) in self.caches.iter().enumerate() {
                let file = |name: &str| format!("{folder}/cache/index{index}/{name}");
                add(file("level"), (*level).to_owned());
                add(file("type"), (*kind).to_owned());
                add(file("size"), format!("{}K", 32 << (4 * index)));
            }
            if !self.die.is_empty() {
                add(format!("{folder}/topology/die_id"), self.die.to_owned());
            }
            let core = set((self.core)(cpu)).lowest().expect("a cpu");
            add(format!("{folder}/topology/physical_package_id"), package(cpu).to_string());
            add(format!("{folder}/topology/core_id"), core.to_string());
            let _ = writeln!(cpuinfo, "processor\t: {cpu}\nvendor_id\t: GenuineIntel\ncpu family\t: 6");
            let _ = writeln!(cpuinfo, "physical id\t: {}\ncore id\t\t: {core}\nflags\t\t: fpu lm\n", package(cpu));
        }
        add("proc/cpuinfo".to_owned(), cpuinfo);
        for name in ["online", "present", "possible"].into_iter().filter(|name| self.is_new || *name != "online") {
            add(format!("sys/devices/system/cpu/{name}"), all.to_string());
        }
        for (name, cpus) in self.kinds {
            add(format!("sys/devices/{name}/cpus"), (*cpus).to_owned());
        }
        let packages: BTreeMap<u32, &str> = all.iter().map(|cpu| (package(cpu), (self.package)(cpu))).collect();
        for (number, cpus) in &packages {
            let folder = format!("sys/devices/system/node/node{number}");
            add(format!("{folder}/cpumap"), set(cpus).to_hexadecimal());
            add(format!("{folder}/cpulist"), (*cpus).to_owned());
            add(format!("{folder}/meminfo"), format!("Node {number} MemTotal: 4096 kB"));
        }
        let nodes: CpuSet = packages.keys().copied().collect();
        add("sys/devices/system/node/online".to_owned(), nodes.to_string());
        let (cpu_mask, node_mask) = (all.to_hexadecimal(), nodes.to_hexadecimal());
        let status = format!(
            "Cpus_allowed:\t{cpu_mask}\nCpus_allowed_list:\t{all}\nMems_allowed:\t{node_mask}\nMems_allowed_list:\t{nodes}"
        );
        add("proc/self/status".to_owned(), status);
        files
    }
}

/// What must be the same.
fn shape(machine: &Machine) -> String {
    let mut text = format!("{} {} {:?}\n", machine.online, machine.allowed, machine.allowed_memory);
    for level in machine.levels_present() {
        let _ = writeln!(text, "{level} {:?}", machine.objects_of(level));
    }
    for cache in &machine.caches {
        let size = cache.size_bytes.filter(|_| cache.cpus.len() > 1);
        let _ = writeln!(text, "L{} {:?} {size:?} {}", cache.level, cache.kind, cache.cpus);
    }
    for kind in &machine.kinds {
        let _ = writeln!(text, "{:?} {}", kind.core_type, kind.cpus);
    }
    for node in &machine.nodes {
        let _ = writeln!(text, "{} {}", node.number, node.cpus);
    }
    text
}

/// Numbers below a bound from a seed, by the constants of Knuth's MMIX generator.
struct MutantNumbers(u64);

impl MutantNumbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// The files with one of them changed, and what was done to which.
fn mutant(files: &Files, numbers: &mut MutantNumbers) -> (Files, String, String) {
    let mut files = files.clone();
    let path = files.keys().nth(numbers.below(files.len())).expect("a file").clone();
    let text = files[&path].clone();
    let at = numbers.below(text.len());
    let what = match numbers.below(4) {
        0 => {
            files.remove(&path);
            DELETED.to_owned()
        }
        1 => {
            files.insert(path.clone(), String::from_utf8_lossy(&text.as_bytes()[..at]).into_owned());
            format!("cut to {at} bytes")
        }
        _ => {
            let mut bytes = text.into_bytes();
            // Mostly what can be mistaken for the original: another digit.
            bytes[at] =
                if numbers.below(3) > 0 { b'0' + numbers.below(10) as u8 } else { 32 + numbers.below(95) as u8 };
            files.insert(path.clone(), String::from_utf8_lossy(&bytes).into_owned());
            format!("changed at byte {at}: {:?}", files[&path].chars().take(40).collect::<String>())
        }
    };
    (files, path, what)
}

const DELETED: &str = "deleted";

/// What became of some mutants of a recording.
#[derive(Debug, Default)]
struct MutantOutcome {
    /// Those that give the original machine.
    equal: usize,
    /// Those that give another one, and a gap that names the file.
    named: usize,
    refused: usize,
    /// What is wrong with the others.
    wrong: Vec<String>,
}

impl MutantOutcome {
    fn of(files: &Files, count: usize, numbers: &mut MutantNumbers) -> Result<Self, Failed> {
        let original = shape(&topology::read_machine(&Root::from_files(files.clone()))?);
        let mut outcome = Self::default();
        for _ in 0..count {
            let (changed, path, what) = mutant(files, numbers);
            let Ok(machine) = topology::read_machine(&Root::from_files(changed)) else {
                outcome.refused += 1;
                continue;
            };
            let is_named = machine.gaps.iter().any(|gap| gap.what.contains(&path) || gap.why.contains(&path));
            let after = shape(&machine);
            match () {
                () if after == original => outcome.equal += 1,
                () if path == "proc/self/status" && what == DELETED => outcome.equal += 1,
                () if is_named => outcome.named += 1,
                () => {
                    let changed = original.lines().zip(after.lines()).find(|(before, after)| before != after);
                    outcome.wrong.push(format!("{path} {what}\n  {changed:?}\n  {:?}", machine.gaps));
                }
            }
        }
        Ok(outcome)
    }

    /// An error where some are wrong, or where too many are refused to prove anything.
    fn check(&self) -> Result<(), Failed> {
        let Self { equal, named, refused, wrong } = self;
        let all = equal + named + refused + wrong.len();
        if !wrong.is_empty() {
            return Err(format!("{} of {all}:\n{}", wrong.len(), wrong.join("\n")).into());
        }
        if 10 * refused > all {
            return Err(format!("{refused} of {all} are refused").into());
        }
        Ok(())
    }
}

/// A thousand mutants of made-up recordings.
pub fn of_made_up() -> Result<(), Failed> {
    let mut numbers = MutantNumbers(19);
    for recording in [SERVER, OLD, ARM, HYBRID] {
        let files = recording.files();
        let gaps = topology::read_machine(&Root::from_files(files.clone()))?.gaps;
        assert_eq!(gaps, [], "the original has no gap");
        MutantOutcome::of(&files, 250, &mut numbers)?.check()?;
    }
    Ok(())
}

/// Mutants of a recorded machine; of large ones fewer.
pub fn of_recorded(folder: &Path, name: &str) -> Result<(), Failed> {
    if name.ends_with(".xml") {
        return Ok(());
    }
    let mut bytes = Vec::new();
    record_machine(&Root::open(folder.join(name))?, &BTreeMap::new(), &mut bytes, RecordingPacking::Tar)?;
    let mut files = Files::new();
    for entry in tar::Archive::new(bytes.as_slice()).entries()? {
        let mut entry = entry?;
        // Below a folder of its own.
        let path: std::path::PathBuf = entry.path()?.components().skip(1).collect();
        let (path, mut text) = (path.to_string_lossy().into_owned(), Vec::new());
        entry.read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        if !text.is_empty() {
            files.insert(path, text);
        }
    }
    // Of a dump of cpuid alone nothing else says what it says.
    if !files.keys().any(|path| path.contains("/topology/") || path.contains("/cache/")) {
        return Ok(());
    }
    let count = (MOST_FILES / files.len()).clamp(2, 40);
    MutantOutcome::of(&files, count, &mut MutantNumbers(name.len() as u64))?.check()
}

/// So many files are read of a recording for its mutants, together.
const MOST_FILES: usize = 20_000;
