//! Placements on the machines of the rig, and the cpus that each has to be: worked out from the description, or published.

use corewise_rig::cpus::{self, CpuNumbers};
use corewise_rig::{ExpectedMachine, RigMachine};

/// An expression, and the cpus that it has to be, as the kernel lists them.
pub type Case = (String, String);

/// What the articles and docs/placement.md say, by the rig's numbering of the cpus.
const PUBLISHED: [(&str, &[(&str, &str)]); 8] = [
    (
        "fx-8150",
        &[
            ("spread(4, cluster)", "0,2,4,6"),
            ("pack(4, cluster)", "0-3"),
            ("0x55", "0,2,4,6"),
            ("cluster:all.core:0", "0,2,4,6"),
            ("core:odd", "1,3,5,7"),
        ],
    ),
    (
        "threadripper-2990wx-small",
        &[
            ("spread(4, node)", "0,2,4,6"),
            ("spread(2, node, with-memory)", "0,4"),
            ("spread(4, core, with-memory)", "0-1,4-5"),
            ("pack(2, core)", "0,8"),
            ("node:1", "2-3,10-11"),
            ("all - core:0", "1-7,9-15"),
        ],
    ),
    (
        "dual-socket",
        &[
            ("spread(2, package)", "0,8"),
            ("spread(4, node)", "0,2,8,10"),
            ("pack(8, package)", "0-7"),
            ("pack(4, package)", "0,2,4,6"),
            ("package:1.core:0", "8-9"),
            ("package:all.core:0", "0-1,8-9"),
        ],
    ),
    ("hybrid", &[("one-per-core", "0,2,4-7"), ("pack(2, core)", "0-1"), ("core:2", "4"), ("core:0-1.cpu:1", "1,3")]),
    ("offline", &[("core:0", "0"), ("core:1", "2-3"), ("0-7:7", "0,7"), ("one-per-core", "0,2,4,7")]),
    ("ryzen-9-9950x3d", &[("spread(4, llc)", "0-1,8-9"), ("pack(10, llc)", "0-7,16-17"), ("llc:1", "8-15,24-31")]),
    (
        "threadripper-3960x",
        &[("llc:0", "0-2,24-26"), ("spread(8, llc)", "0,3,6,9,12,15,18,21"), ("pack(4, llc)", "0-2,24")],
    ),
    (
        "threadripper-2990wx",
        &[("spread(4, node)", "0,8,16,24"), ("spread(4, node, with-memory)", "0,4,16,20"), ("node:3", "24-31,56-63")],
    ),
];

/// The expressions that make sense on a machine.
pub fn cases(machine: &RigMachine) -> Vec<Case> {
    let expected = machine.expected_machine();
    let published = PUBLISHED.iter().filter(|(name, _)| *name == machine.name).flat_map(|(_, cases)| *cases);
    let mut cases: Vec<Case> = published.map(|&(text, list)| (text.to_owned(), list.to_owned())).collect();
    cases.extend(objects(&expected));
    cases.extend(sets(machine, &expected));
    cases.extend(numbers(machine));
    // A word that no cpu is left of is an error, which other scenarios look at.
    cases.retain(|(_, list)| !list.is_empty());
    cases
}

/// The cpus that a process which names them by number can have.
pub fn reachable(machine: &RigMachine) -> CpuNumbers {
    let online = cpus::parse(&machine.expected_machine().online);
    if machine.cpuset.is_empty() { online } else { &online & &cpus::parse(machine.cpuset) }
}

/// The first and the last object of each level.
fn objects(expected: &ExpectedMachine) -> Vec<Case> {
    let allowed = cpus::parse(&expected.allowed);
    let nodes: Vec<String> = expected.nodes.iter().map(|node| node.cpus.clone()).collect();
    let levels = [
        ("core", &expected.cores),
        ("cluster", &expected.clusters),
        ("llc", &expected.llcs),
        ("die", &expected.dies),
        ("package", &expected.packages),
        ("node", &nodes),
    ];
    let case = |level: &str, index: String, list: &String| {
        (format!("{level}:{index}"), cpus::format_list(&(&cpus::parse(list) & &allowed)))
    };
    let of = |(level, lists): (&str, &Vec<String>)| {
        // Where there is one only, it is both.
        let last = lists.get(1..).and_then(|others| others.last()).map(|list| case(level, "last".to_owned(), list));
        let first = lists.first().map(|list| case(level, "0".to_owned(), list));
        first.into_iter().chain(last).collect::<Vec<_>>()
    };
    levels.into_iter().flat_map(of).collect()
}

/// Names, and what operators make of sets.
fn sets(machine: &RigMachine, expected: &ExpectedMachine) -> Vec<Case> {
    let allowed = cpus::parse(&expected.allowed);
    let core = cpus::parse(&expected.cores[0]);
    let ends: CpuNumbers =
        [&expected.llcs[0], &expected.llcs[expected.llcs.len() - 1]].into_iter().flat_map(parsed).collect();
    let one_each = expected.cores.iter().filter_map(|core| (&parsed(core) & &allowed).first().copied());
    let with_memory: CpuNumbers =
        expected.nodes.iter().filter(|node| node.memory).flat_map(|node| parsed(&node.cpus)).collect();
    let of_isolated = (!machine.isolated.is_empty()).then(|| cpus::parse(machine.isolated));
    let own = |text: &str, cpus: CpuNumbers| (text.to_owned(), cpus::format_list(&cpus));
    let mut cases = vec![
        own("all", allowed.clone()),
        own("online", allowed.clone()),
        own("one-per-core", one_each.collect()),
        own("with-memory", &with_memory & &allowed),
        own("all - core:0", &allowed - &core),
        own("!core:0", &allowed - &core),
        own("(llc:0 + llc:last) & core:0", &(&ends & &core) & &allowed),
        own("llc:0 + llc:last - core:0", &(&ends - &core) & &allowed),
    ];
    cases.extend(of_isolated.map(|isolated| own("isolated", isolated)));
    cases
}

/// Lists and masks, which reach isolated cpus too.
fn numbers(machine: &RigMachine) -> Vec<Case> {
    let all = reachable(machine);
    let ends: CpuNumbers = all.first().into_iter().chain(all.last()).copied().collect();
    let every_other: CpuNumbers = all.iter().step_by(2).copied().collect();
    let last: CpuNumbers = all.last().copied().into_iter().collect();
    let list = |cpus: &CpuNumbers| (cpus::format_list(cpus), cpus::format_list(cpus));
    let mask = |cpus: &CpuNumbers| (cpus::format_mask(cpus), cpus::format_list(cpus));
    vec![list(&ends), list(&all), list(&last), mask(&every_other), mask(&last), mask(&all)]
}

fn parsed(list: impl AsRef<str>) -> CpuNumbers {
    cpus::parse(list.as_ref())
}
