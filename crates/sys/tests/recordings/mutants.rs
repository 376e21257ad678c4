//! A thousand recordings of which one or two files were changed, cut, exchanged or deleted: each gives the original machine, or a gap that
//! names such a file, or is refused; and each is sound. So do the recorded machines of the test data. `COREWISE_MUTANTS` says how many
//! mutants of each there are.
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
use corewise_testing::count_cases;
use libtest_mimic::Failed;

use super::{data, invariants};

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
    package: alternating_half_of_eight,
    caches: &[("1", "Data", pair_of_eight), ("2", "Unified", alternating_half_of_eight)],
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

/// As [`HYBRID`], with two of the efficient cores outside the last-level cache.
const WITH_LOW_POWER: MutantRecording = MutantRecording {
    cluster: Some(|cpu| ["0-1", "0-1", "2-3", "2-3", "4-5", "4-5", "6-7", "6-7"][cpu as usize]),
    caches: &[
        ("1", "Data", |cpu| HYBRID_CORES[cpu as usize]),
        ("2", "Unified", |cpu| ["0-1", "0-1", "2-3", "2-3", "4-5", "4-5", "6-7", "6-7"][cpu as usize]),
        ("3", "Unified", |cpu| if cpu < 6 { "0-5" } else { "" }),
    ],
    ..HYBRID
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

fn alternating_half_of_eight(cpu: u32) -> &'static str {
    ["0-1,4-5", "2-3,6-7"][cpu as usize % 4 / 2]
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
        let package = |cpu: u32| set((self.package)(cpu)).lowest().expect("a cpu");
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
            let caches = || self.caches.iter().enumerate().filter(|(_, (_, _, cpus))| !cpus(cpu).is_empty());
            for (index, (_, _, cpus)) in caches() {
                let file = |name: &str| format!("{folder}/cache/index{index}/{name}");
                share(file("shared_cpu_list"), file("shared_cpu_map"), cpus(cpu));
            }
            for (index, (level, kind, _)) in caches() {
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
    // Without a word about memory all nodes are allowed.
    let nodes: CpuSet = machine.nodes.iter().map(|node| node.number).collect();
    let memory = machine.allowed_memory.as_ref().unwrap_or(&nodes);
    let mut text = format!("{} {} {memory}\n", machine.online, machine.allowed);
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

/// A recording with files changed.
struct MutantFiles {
    files: Files,
    /// The changed files.
    paths: Vec<String>,
    /// What was done to them.
    what: String,
}

impl MutantFiles {
    /// One change, or two, to random files.
    fn of(files: &Files, numbers: &mut MutantNumbers) -> Self {
        let mut mutant = Self { files: files.clone(), paths: Vec::new(), what: String::new() };
        match numbers.below(6) {
            0 => mutant.exchange(numbers),
            1 => mutant.claim(numbers),
            2 => (0..2).for_each(|_| mutant.change(numbers)),
            _ => mutant.change(numbers),
        }
        mutant
    }

    fn set(&mut self, path: &str, text: String, what: &str) {
        let _ = write!(self.what, "{path} {what}: {:?}; ", text.chars().take(60).collect::<String>());
        self.paths.push(path.to_owned());
        self.files.insert(path.to_owned(), text);
    }

    fn any_path(&self, numbers: &mut MutantNumbers) -> String {
        self.files.keys().nth(numbers.below(self.files.len())).expect("a file").clone()
    }

    /// Deletes, cuts, widens or changes a file.
    fn change(&mut self, numbers: &mut MutantNumbers) {
        let path = self.any_path(numbers);
        let text = self.files[&path].clone();
        let at = numbers.below(text.len().max(1));
        match numbers.below(5) {
            0 => {
                let _ = write!(self.what, "{path} deleted; ");
                self.files.remove(&path);
                self.paths.push(path);
            }
            1 => self.set(&path, String::from_utf8_lossy(&text.as_bytes()[..at]).into_owned(), "cut"),
            2 if path.ends_with("list") => {
                let wide = format!("{}-{}\n", numbers.below(3), 1 + numbers.below(20));
                self.set(&path, wide, "widened");
            }
            _ if text.is_empty() => (),
            _ => {
                let mut bytes = text.into_bytes();
                // Mostly what can be mistaken for the original: another digit.
                bytes[at] =
                    if numbers.below(3) > 0 { b'0' + numbers.below(10) as u8 } else { 32 + numbers.below(95) as u8 };
                self.set(&path, String::from_utf8_lossy(&bytes).into_owned(), "changed");
            }
        }
    }

    /// The same file of another cpu or node.
    fn other_path(&self, path: &str, numbers: &mut MutantNumbers) -> Option<String> {
        let (folder, rest) = ["cpu/cpu", "node/node"].into_iter().find_map(|folder| {
            let at = path.find(folder)? + folder.len();
            Some((&path[..at], path[at..].split_once('/')?.1))
        })?;
        let others = self.files.keys().filter(|other| {
            let behind = other.strip_prefix(folder).and_then(|rest| rest.split_once('/'));
            *other != path && behind.is_some_and(|(_, name)| name == rest)
        });
        let others: Vec<&String> = others.collect();
        (!others.is_empty()).then(|| others[numbers.below(others.len())].clone())
    }

    /// Exchanges a file with that of another cpu or node.
    fn exchange(&mut self, numbers: &mut MutantNumbers) {
        let path = self.any_path(numbers);
        let Some(other) = self.other_path(&path, numbers) else { return self.change(numbers) };
        let (text, other_text) = (self.files[&path].clone(), self.files[&other].clone());
        self.set(&path, other_text, "exchanged");
        self.set(&other, text, "exchanged");
    }

    /// Makes the lists of two cpus claim both.
    fn claim(&mut self, numbers: &mut MutantNumbers) {
        let path = self.any_path(numbers);
        let other = self.other_path(&path, numbers).filter(|_| path.ends_with("_list") && path.contains("cpu/cpu"));
        let Some(other) = other else { return self.change(numbers) };
        let union = |path: &str| CpuSet::parse_list(self.files[path].trim()).unwrap_or_default();
        let both = format!("{}\n", union(&path).union(&union(&other)));
        self.set(&path, both.clone(), "claims");
        self.set(&other, both, "claims");
    }
}

/// Returns true if nothing contradicts what a file says, as a capacity. The size of a cache stands alone if no cpu that shares it, by the
/// file beside it, gives another.
fn stands_alone(files: &Files, path: &str) -> bool {
    let is_only_size = || {
        let (folder, _) = path.strip_suffix("/size")?.split_once("/cpu/cpu")?;
        let (_, rest) = path.split_once("/cache/")?;
        let list = files.get(&path.replace("/size", "/shared_cpu_list"))?;
        let sharing = CpuSet::parse_list(list.trim()).ok()?;
        let other = |cpu: u32| format!("{folder}/cpu/cpu{cpu}/cache/{rest}");
        Some(sharing.iter().map(other).filter(|other| files.contains_key(other)).count() == 1)
    };
    ["cpu_capacity", "highest_perf"].iter().any(|name| path.ends_with(name))
        || path.ends_with("cpumap") && !files.contains_key(&path.replace("cpumap", "cpulist"))
        || is_only_size().unwrap_or(false)
}

/// What became of some mutants of a recording.
#[derive(Debug, Default)]
struct MutantOutcome {
    /// Number of mutants that give the original machine.
    equal: usize,
    /// Number of mutants that give another machine, and a gap that names the file.
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
            let MutantFiles { files: mut changed, mut paths, what } = MutantFiles::of(files, numbers);
            for alone in paths.extract_if(.., |path| stands_alone(files, path)) {
                changed.insert(alone.clone(), files[&alone].clone());
            }
            let Ok(machine) = topology::read_machine(&Root::from_files(changed.clone())) else {
                outcome.refused += 1;
                continue;
            };
            let names =
                |path: &String| machine.gaps.iter().any(|gap| gap.what.contains(path) || gap.why.contains(path));
            let is_named = paths.iter().any(names);
            let after = shape(&machine);
            let unsound = invariants::check(&machine).err().filter(|_| !is_named);
            // Without this file everything is allowed.
            let is_open =
                !changed.contains_key("proc/self/status") && after.lines().skip(1).eq(original.lines().skip(1));
            match unsound {
                Some(why) => {
                    outcome.wrong.push(format!("{what}\n  {}\n  {:?}", why.message().unwrap_or_default(), machine.gaps))
                }
                None if after == original || is_open => outcome.equal += 1,
                None if is_named => outcome.named += 1,
                None => {
                    let changed = original.lines().zip(after.lines()).find(|(before, after)| before != after);
                    outcome.wrong.push(format!("{what}\n  {changed:?}\n  {:?}", machine.gaps));
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
    for recording in [SERVER, OLD, ARM, HYBRID, WITH_LOW_POWER] {
        let files = recording.files();
        let gaps = topology::read_machine(&Root::from_files(files.clone()))?.gaps;
        assert_eq!(gaps, [], "the original has no gap");
        MutantOutcome::of(&files, mutant_count().unwrap_or_else(|| count_cases(250)), &mut numbers)?.check()?;
    }
    Ok(())
}

/// Mutants of a recorded machine; of large ones fewer.
pub fn of_recorded(folder: &Path, name: &str) -> Result<(), Failed> {
    if name.ends_with(".xml") {
        return Ok(());
    }
    let mut bytes = Vec::new();
    let root = &data::recording(folder, name)?.root;
    record_machine(root, &BTreeMap::new(), &mut bytes, RecordingPacking::Tar)?;
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
    let count = mutant_count().unwrap_or_else(|| count_cases((MOST_FILES / files.len()).clamp(2, 40)));
    MutantOutcome::of(&files, count, &mut MutantNumbers(name.len() as u64))?.check()
}

/// The number of mutants of each recording in `COREWISE_MUTANTS`.
fn mutant_count() -> Option<usize> {
    std::env::var("COREWISE_MUTANTS").ok().map(|count| count.parse().expect("a number"))
}

/// So many files are read of a recording for its mutants, together.
const MOST_FILES: usize = 20_000;
