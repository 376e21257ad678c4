//! Machines as Windows would describe them: written into the buffers of its two functions, they are read back the same.

mod writer;

use std::path::{Path, PathBuf};

use corewise_machine::machine_file::{BUILT_IN, MachineMatch, find_built_in, parse};
use corewise_machine::placement::notation::{self, Notation};
use corewise_machine::{CpuSet, Level, Machine};
use corewise_sys::{Root, topology};
use libtest_mimic::{Failed, Trial};

use super::data;
use writer::{WriterGroups, WrittenBuffers};

/// The levels that Windows knows.
const LEVELS: [Level; 6] = [Level::Package, Level::Node, Level::Die, Level::Llc, Level::Cluster, Level::Core];

/// Machines of articles, as recordings that other tests read: what is committed is what is written here.
const COMMITTED: [&str; 4] = ["threadripper-2990wx", "fx-8150", "ryzen-9-9950x3d", TWO_GROUPS];
/// Sets of simulated machines up to so many cpus come back from every notation, too. More would take minutes.
const MOST_IN_NOTATIONS: usize = 256;
/// A machine of more cpus than a group, and its description.
const TWO_GROUPS: &str = "two-groups";
const TWO_GROUPS_DESCRIBED: &str = "name = \"Simulated server\"\ncpus = \"0-71\"\npackages = \"0-35 x2\"\n\
    caches = [{ cache = \"L3\", size = \"32 MiB\", per = \"package\" }]\nnodes = [{ cpus = \"0-35 x2\", memory = \"64 GiB\" }]\n";
/// Where this is set, they are written anew.
const UPDATE: &str = "COREWISE_UPDATE";

/// The machine of a recording comes back from the buffers.
pub fn check(folder: &Path, name: &str) -> Result<(), Failed> {
    come_back(&data::machine(folder, name)?)
}

/// The same for the machines of the program, and what articles typed for some of them.
pub fn built_in() -> Vec<Trial> {
    let mut trials: Vec<Trial> = BUILT_IN
        .iter()
        .map(|machine| {
            Trial::test(format!("Windows' buffers::{}", machine.name), || come_back(&machine.read_machine()?.machine))
        })
        .collect();
    trials.push(Trial::test("Windows' buffers::one cpu", || come_back(&one_cpu())));
    trials.push(Trial::test("Windows' buffers::masks of the articles", masks_of_articles));
    trials.push(Trial::test("Windows' buffers::bytes that lie", lies));
    trials.extend(COMMITTED.map(|name| Trial::test(format!("Windows' buffers::committed {name}"), || committed(name))));
    trials
}

fn one_cpu() -> Machine {
    parse("name = \"one\"\ncpus = \"0\"\n").expect("a machine").machine
}

fn described(name: &str) -> Machine {
    let (MachineMatch::Exactly(machine) | MachineMatch::ByPart(machine)) = find_built_in(name) else {
        panic!("no machine {name}")
    };
    machine.read_machine().expect("a machine").machine
}

fn committed_machine(name: &str) -> Machine {
    if name == TWO_GROUPS { parse(TWO_GROUPS_DESCRIBED).expect("a machine").machine } else { described(name) }
}

fn read(written: &WrittenBuffers) -> Result<Machine, Failed> {
    Ok(topology::read_machine(&Root::from_files(written.files.iter().map(|(path, text)| (*path, text.as_str()))))?)
}

fn come_back(machine: &Machine) -> Result<(), Failed> {
    for groups in [WriterGroups::ByNode, WriterGroups::Filled] {
        let written = writer::write(machine, groups);
        let back = read(&written)?;
        super::invariants::check(&back)?;
        if machine.online.len() <= MOST_IN_NOTATIONS && name(machine).contains("imulated") {
            super::notations::come_back_on(&back)?;
        }
        same(machine, &back, &written).map_err(|error| Failed::from(format!("{groups:?}: {error}")))?;
    }
    Ok(())
}

fn name(machine: &Machine) -> String {
    let name = machine.processor.model_name.as_deref().unwrap_or_default();
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the second machine is the first in the numbering of Windows.
fn same(machine: &Machine, back: &Machine, written: &WrittenBuffers) -> Result<(), String> {
    let there = |cpus: &CpuSet| written.there(cpus);
    let sorted = |mut sets: Vec<CpuSet>| {
        sets.sort();
        sets
    };
    for level in LEVELS {
        let (expected, found) =
            (sorted(machine.objects_of(level).iter().map(there).collect()), sorted(back.objects_of(level)));
        if expected != found {
            let first = expected.iter().zip(&found).find(|(one, other)| one != other);
            return Err(format!("{level}: {} and {} objects, first {first:?}", expected.len(), found.len()));
        }
    }
    let equal = |what: &str, expected: String, found: String| match expected == found {
        true => Ok(()),
        false => Err(format!("{what}: {expected} became {found}")),
    };
    let caches = |machine: &Machine, there: &dyn Fn(&CpuSet) -> CpuSet| {
        let cache = |cache: &corewise_machine::machine::Cache| {
            (cache.level, cache.kind, there(&cache.cpus), cache.size_bytes.map(writer::size))
        };
        let mut caches: Vec<_> = machine.caches.iter().map(cache).collect();
        caches.sort();
        format!("{caches:?}")
    };
    equal("caches", caches(machine, &there), caches(back, &CpuSet::clone))?;
    let stacked = |machine: &Machine, there: &dyn Fn(&CpuSet) -> CpuSet| {
        format!("{:?}", sorted(machine.llcs.iter().filter(|llc| llc.vcache).map(|llc| there(&llc.cpus)).collect()))
    };
    equal("V-Cache", stacked(machine, &there), stacked(back, &CpuSet::clone))?;
    let kinds = |machine: &Machine, there: &dyn Fn(&CpuSet) -> CpuSet| {
        format!("{:?}", machine.kinds.iter().map(|kind| (kind.core_type, there(&kind.cpus))).collect::<Vec<_>>())
    };
    equal("kinds", kinds(machine, &there), kinds(back, &CpuSet::clone))?;
    let nodes = |machine: &Machine, there: &dyn Fn(&CpuSet) -> CpuSet| {
        let node =
            |node: &corewise_machine::machine::NumaNode| (node.number, there(&node.cpus), node.memory_bytes == Some(0));
        format!("{:?}", machine.nodes.iter().map(node).collect::<Vec<_>>())
    };
    equal("nodes", nodes(machine, &there), nodes(back, &CpuSet::clone))?;
    equal("allowed", there(&machine.allowed).to_string(), back.allowed.to_string())?;
    let groups: Vec<u32> = back.processor_groups.iter().map(|group| group.first_cpu).collect();
    equal("groups", format!("{:?}", written.first_cpus), format!("{groups:?}"))?;
    equal("name", name(machine), name(back))?;
    let contradictions: Vec<_> = back.gaps.iter().filter(|gap| gap.what == "cpu sets").collect();
    equal("contradictions", "[]".into(), format!("{contradictions:?}"))
}

/// Whatever a byte of the buffers is, and wherever they end: an error, or a machine that is sound.
fn lies() -> Result<(), Failed> {
    let written = writer::write(&described("fx-8150"), WriterGroups::ByNode);
    let read = |changed: usize, text: String| {
        let text_of = |(place, (path, whole)): (usize, &(&'static str, String))| {
            (*path, if place == changed { text.clone() } else { whole.clone() })
        };
        topology::read_machine(&Root::from_files(written.files.iter().enumerate().map(text_of)))
    };
    let (mut machines, mut errors) = (0, 0);
    for (file, (_, text)) in written.files.iter().enumerate().skip(1) {
        let bytes: Vec<&str> = text.split_whitespace().collect();
        let digits = bytes.concat();
        for at in (0..digits.len()).step_by(2) {
            let with = |byte: &str| format!("{}{byte}{}", &digits[..at], &digits[at + 2..]);
            for text in [with("ff"), with("00"), with("01"), digits[..at].to_owned()] {
                match read(file, text) {
                    Ok(machine) => {
                        super::invariants::check(&machine)?;
                        machines += 1;
                    }
                    Err(_) => errors += 1,
                }
            }
        }
    }
    assert!(machines > 1_000 && errors > 10, "{machines} machines, {errors} errors");
    Ok(())
}

/// What people type on Windows for these machines, as the articles have it.
fn masks_of_articles() -> Result<(), Failed> {
    for (name, expression, expected) in [
        ("threadripper-2990wx", "all - core:0", "start /affinity FFFFFFFFFFFFFFFC"),
        ("fx-8150", "spread(4, cluster)", "start /affinity 55"),
        ("fx-8150", "pack(4, cluster)", "start /affinity F"),
        ("ryzen-9-9950x3d", "vcache", "start /affinity FFFF"),
    ] {
        let machine = read(&writer::write(&described(name), WriterGroups::ByNode))?;
        let cpus = super::placements::cpus(&machine, expression)?;
        let order: Vec<u32> = cpus.iter().collect();
        let lines = notation::print_notation(Notation::Windows, &cpus, &order, &machine);
        let texts: Vec<_> = lines.iter().filter_map(|line| line.text.as_deref()).collect();
        assert_eq!(texts, [expected], "{expression} on {name}");
    }
    Ok(())
}

fn committed(name: &str) -> Result<(), Failed> {
    let file: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "../cli/tests/recordings/windows", &format!("{name}.txt")].iter().collect();
    let machine = committed_machine(name);
    let written = writer::write(&machine, WriterGroups::Filled);
    let line = |(path, text): &(&str, String)| format!("ro|/{path}|{}\n", text.replace('\n', "\\n"));
    let text: String = written.files.iter().map(line).collect();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::create_dir_all(file.parent().expect("a folder"))?;
        std::fs::write(&file, &text)?;
    }
    assert!(std::fs::read_to_string(&file)? == text, "{} is not what is written now: set {UPDATE}", file.display());
    same(&machine, &topology::read_machine(&Root::open(&file)?)?, &written)?;
    Ok(())
}
