//! On every recorded and every built-in machine the library selects the cpus that `corewise place` shows, and divides them soundly.
//!
//! Recordings are looked for as the tests of `corewise-sys` do; without them only the built-in machines are tested, which is said.

#[path = "../../sys/tests/recordings/data.rs"]
#[allow(dead_code, reason = "the tests of the recordings use all of it")]
mod data;

use corewise::{CpuSet, Machine, PlaceError};
use corewise_machine::generate::random_expression;
use corewise_machine::machine_file::BUILT_IN;
use corewise_machine::placement::{self, ResolveContext, ResolvedExpression};
use corewise_machine::random::RandomGenerator;
use corewise_testing::{count_cases, find_test_data};

/// Expressions that most machines know.
const EXPRESSIONS: [&str; 14] = [
    "all",
    "0",
    "llc:0",
    "node:last",
    "package:0",
    "all - core:0",
    "one-per-core",
    "spread(2, llc)",
    "spread(4, core)",
    "pack(3, cluster)",
    "pack(8, node)",
    "with-memory",
    "efficiency",
    "spread(2, core, llc:last)",
];
/// Random expressions for each machine, besides.
const RANDOM: usize = 20;
/// Numbers of parts.
const PARTS: [usize; 7] = [1, 2, 3, 4, 7, 8, 64];

/// Calls a test with each machine and its name. Large recordings are many: this takes some seconds.
fn for_each_machine(test: impl Fn(&str, &corewise_machine::Machine)) {
    for built_in in BUILT_IN {
        test(built_in.name, &built_in.read_machine().unwrap().machine);
    }
    let folder = match find_test_data("topology", "recorded machines") {
        Ok(folder) => folder,
        Err(why) => return println!("skipped: {why}"),
    };
    for name in data::files(&folder).iter().filter(|name| data::not_a_recording(name).is_none()) {
        let machine =
            data::machine(&folder, name).unwrap_or_else(|error| panic!("{name}: {}", error.message().unwrap_or("")));
        test(name, &machine);
    }
}

/// What `corewise place --machine` shows: crates/cli/src/app/placing.rs.
fn shown_by_place(machine: &corewise_machine::Machine, text: &str) -> Option<ResolvedExpression> {
    let context = ResolveContext { machine, reachable: &machine.allowed, quiet: None, worth: None };
    placement::parse(text).ok()?.resolve_on(&context).ok()
}

#[test]
fn the_library_selects_what_place_shows() {
    for_each_machine(|name, facts| {
        let machine = Machine::elsewhere(facts.clone());
        let mut random = RandomGenerator::new(46);
        let made =
            (0..count_cases(RANDOM.min(10_000 / facts.online.len()))).map(|_| random_expression(&mut random, facts, 2));
        for text in EXPRESSIONS.into_iter().map(str::to_owned).chain(made) {
            match (machine.place(&text), shown_by_place(facts, &text)) {
                (Ok(placement), Some(shown)) => assert_eq!(placement.order(), shown.order, "{name}: {text}"),
                (Err(PlaceError::Excluded { excluded }), Some(shown)) => {
                    let named = |out: &&placement::ExcludedCpus| !out.named.is_empty();
                    assert_eq!(
                        excluded,
                        shown.left_out.iter().filter(named).cloned().collect::<Vec<_>>(),
                        "{name}: {text}"
                    );
                }
                (Err(PlaceError::Expression { .. }), None) => {}
                (placed, shown) => panic!("{name}: {text}: {placed:?}, but {shown:?}"),
            }
        }
    });
}

#[test]
fn parts_are_disjoint_cover_all_and_divide_cores_only_if_they_must() {
    for_each_machine(|name, facts| {
        let machine = Machine::elsewhere(facts.clone());
        let usable = machine.cpus();
        let cores: Vec<CpuSet> = facts.cores.iter().map(|core| core.cpus.intersection(&usable)).collect();
        let cores: Vec<CpuSet> = cores.into_iter().filter(|core| !core.is_empty()).collect();
        for ranks in PARTS.into_iter().filter(|ranks| *ranks <= usable.len()) {
            let parts = machine.split(ranks).unwrap();
            assert_eq!(parts.len(), ranks, "{name}");
            let union = parts.iter().fold(CpuSet::new(), |all, part| all.union(part.cpus()));
            let count: usize = parts.iter().map(|part| part.len()).sum();
            assert_eq!((union, count), (usable.clone(), usable.len()), "{name}: {ranks} parts");
            let whole = |part: &corewise::Placement| {
                cores.iter().all(|core| core.is_subset(part.cpus()) || core.is_disjoint(part.cpus()))
            };
            let (inside, others): (Vec<_>, Vec<_>) = parts.iter().partition(|part| whole(part));
            if ranks <= cores.len() {
                assert!(others.is_empty(), "{name}: {ranks} parts of {} cores divide {}", cores.len(), others[0]);
                let size = cores.len() as f64 / ranks as f64;
                let counts = inside.iter().map(|part| cores.iter().filter(|core| core.is_subset(part.cpus())).count());
                let mut uneven = counts.filter(|count| (*count as f64 - size).abs() > (0.5 * size).max(1.0) + 1e-9);
                assert_eq!(uneven.next(), None, "{name}: {ranks} parts of {} cores are uneven", cores.len());
            }
        }
        assert!(machine.split(usable.len() + 1).is_err() && machine.split(0).is_err(), "{name}");
    });
}
