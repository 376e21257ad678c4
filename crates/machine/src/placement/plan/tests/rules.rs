//! What holds of every plan, and the cases that are easily got wrong.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::brute::BruteClasses;
use super::built::{built_in, machine, recipes};
use crate::machine::MachineObject;
use crate::machine_file::BUILT_IN;
use crate::placement::plan::{ExactCount, PlacementPlan, USUAL_MOST, plan_placements, spread_out};
use crate::placement::sample::{bulldozer, parse_set, stacked, without_memory};
use crate::placement::{ResolveContext, parse};
use crate::{CpuSet, Machine};

fn of(machine: &Machine, threads: Option<u32>) -> PlacementPlan {
    plan_placements(machine, &machine.online, threads, None, USUAL_MOST)
}

/// The expressions of a plan; "-" is the operating system's choice.
fn expressions(plan: &PlacementPlan) -> Vec<&str> {
    plan.candidates.iter().map(|candidate| candidate.expression.as_deref().unwrap_or("-")).collect()
}

/// What every plan promises, whatever the machine.
fn keeps_its_word(machine: &Machine, reachable: &CpuSet, plan: &PlacementPlan, most: usize) {
    let context = ResolveContext { machine, reachable, quiet: None, worth: None };
    let (system, others) = plan.candidates.split_first().unwrap();
    assert_eq!((&system.expression, &system.cpus), (&None, &plan.usable));
    for candidate in others {
        let text = candidate.expression.as_ref().unwrap();
        assert_eq!(parse(text).unwrap().resolve_on(&context).unwrap().cpus, candidate.cpus, "{text}");
        assert!(candidate.cpus.len() < plan.usable.len(), "{text} is all");
        assert_eq!(candidate.of, ExactCount::combinations(plan.usable.len(), candidate.cpus.len()));
        assert!(candidate.stands_for <= candidate.of && !candidate.stands_for.is_zero(), "{text}");
        assert!(candidate.reason.ends_with('.') && candidate.reason.len() <= 140, "{}", candidate.reason);
    }
    let is_without = |text: &Option<String>| text.as_ref().is_some_and(|text| text.starts_with("all - core:"));
    let sizes =
        others.iter().filter(|candidate| !is_without(&candidate.expression)).map(|candidate| candidate.cpus.len());
    assert!(sizes.is_sorted_by(|a, b| a >= b), "{:?}", expressions(plan));
    assert!(plan.candidates.len() <= most.max(3), "{:?}", expressions(plan));
    assert!(ExactCount::from(plan.classes_here) <= plan.classes);
}

#[test]
fn plans_of_known_machines_keep_their_word() {
    for built_in in BUILT_IN {
        let machine = built_in.read_machine().unwrap().machine;
        for threads in [None, Some(1), Some(2), Some(3), Some(4), Some(7), Some(16), Some(64), Some(2000)] {
            for most in [1, USUAL_MOST] {
                let plan = plan_placements(&machine, &machine.online, threads, Some(1), most);
                keeps_its_word(&machine, &machine.online, &plan, most);
            }
        }
    }
}

#[test]
fn the_articles_four_threads_on_a_bulldozer() {
    let plan = of(&built_in("fx-8150"), Some(4));
    let masks: Vec<String> = plan.candidates.iter().map(|candidate| candidate.cpus.to_hexadecimal()).collect();
    assert!(masks.contains(&"55".to_owned()) && masks.contains(&"f".to_owned()), "{masks:?}");
    assert_eq!(
        (plan.classes, plan.classes_here),
        (ExactCount::from(3), 3),
        "and the third: two in one module, two alone"
    );
    let of_four = plan.candidates.iter().filter(|candidate| candidate.cpus.len() == 4);
    assert_eq!(
        of_four.map(|candidate| candidate.stands_for).fold(ExactCount::ZERO, ExactCount::plus),
        ExactCount::from(70)
    );
}

#[test]
fn more_threads_than_cpus_are_said() {
    let plan = of(&bulldozer(), Some(9));
    assert_eq!(plan.remarks, ["9 threads share 8 cpus: some cpus get several."]);
    assert_eq!(expressions(&plan), ["-", "all - core:0"]);
    assert!(of(&bulldozer(), Some(8)).remarks.is_empty());
}

/// What numbers of threads are pinned to: as many cpus over the outermost level, siblings last; and all where there are no more.
#[test]
fn threads_are_spread_out() {
    let of = |name: &str, threads| {
        let machine = built_in(name);
        let (text, cpus) = spread_out(&machine, &machine.allowed, threads);
        assert_eq!(cpus.len(), machine.allowed.len().min(threads as usize), "{name}");
        format!("{text}: {cpus}")
    };
    assert_eq!(of("fx-8150", 4), "spread(4, cluster): 0,2,4,6");
    assert_eq!([of("fx-8150", 8), of("fx-8150", 9)], ["all: 0-7", "all: 0-7"]);
    assert_eq!(of("ryzen-9-9950x3d", 4), "spread(4, llc): 0,1,8,9");
    assert_eq!(of("ryzen-9-9950x3d", 17), "spread(17, llc): 0-16");
    assert_eq!(of("simulated-2-packages", 2).split(':').next(), Some("spread(2, package)"));
    let machine = built_in("fx-8150");
    let few = spread_out(&machine, &CpuSet::first_cpus(2), 1);
    assert_eq!(few.1.len(), 1);
    assert_eq!(
        spread_out(&machine, &CpuSet::first_cpus(2), 2).1,
        CpuSet::first_cpus(2),
        "what cannot be reached is not used"
    );
}

#[test]
fn the_busiest_cpu_is_avoided_and_left_out_once() {
    let machine = bulldozer();
    let with = |busiest| plan_placements(&machine, &machine.online, None, Some(busiest), USUAL_MOST);
    let plan = with(5);
    assert_eq!(
        expressions(&plan),
        ["-", "all - core:0", "all - core:5", "spread(4, cluster)", "cluster:0", "1"],
        "without the first, and without the busiest, which is no image of the first"
    );
    let stands_for: Vec<ExactCount> = plan.candidates[1..3].iter().map(|candidate| candidate.stands_for).collect();
    assert_eq!(stands_for, [ExactCount::from(6), ExactCount::ONE], "the busiest and its sibling are like no others");
    let plan = with(0);
    assert_eq!(expressions(&plan), ["-", "all - core:0", "spread(4, cluster)", "cluster:1", "2"]);
    assert_eq!(plan.candidates[1].reason, "Without the core of cpu 0, which gets the most interrupts.");
    let elsewhere = with(99);
    assert_eq!(elsewhere, of(&machine, None), "a cpu that cannot be used is nobody's busiest");
}

/// Also where more is proposed than is kept: one socket, and one socket over all of its caches.
#[test]
fn one_package_is_a_candidate_whole_and_over_all_its_caches() {
    let llcs: Vec<(CpuSet, u64)> =
        (0..16).map(|llc| (parse_set(&format!("{}-{}", 4 * llc, 4 * llc + 3)), 32)).collect();
    let mut machine = crate::generate::one_package_machine(64, false, &llcs);
    let package = |cpus: &str| MachineObject { os_number: None, cpus: parse_set(cpus) };
    machine.packages = vec![package("0-31"), package("32-63")];
    let of = |threads| {
        let plan = of(&machine, threads);
        keeps_its_word(&machine, &machine.online, &plan, USUAL_MOST);
        expressions(&plan).into_iter().filter(|text| text.contains("package:")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of(None), ["package:0", "spread(8, llc, package:0)"]);
    assert_eq!(of(Some(16)), ["package:0", "spread(16, llc, package:0)"]);
    assert_eq!(of(Some(6)), ["package:0", "spread(6, llc, package:0)"]);
    assert_eq!(of(Some(40)), [""; 0], "no package has so many cpus");
}

#[test]
fn a_machine_of_two_cpus_has_one_cpu_to_try() {
    let mut machine = bulldozer();
    machine.allowed = parse_set("2,4");
    let plan = of(&machine, None);
    assert_eq!(expressions(&plan), ["-", "4"]);
    assert_eq!((plan.classes, plan.candidates[1].stands_for), (ExactCount::from(2), ExactCount::from(2)));
}

#[test]
fn where_nothing_can_be_chosen_the_operating_system_does() {
    let mut machine = bulldozer();
    machine.allowed = parse_set("3");
    assert_eq!(expressions(&of(&machine, None)), ["-"]);
    machine.isolated = parse_set("0-7");
    let plan = of(&machine, Some(2));
    assert_eq!((expressions(&plan), plan.usable.to_string()), (vec!["-"], "3".to_owned()));
}

#[test]
fn only_what_is_reachable_is_used() {
    let machine = stacked();
    let reachable = parse_set("0-7,16");
    let plan = plan_placements(&machine, &reachable, None, None, USUAL_MOST);
    keeps_its_word(&machine, &reachable, &plan, USUAL_MOST);
    assert_eq!(plan.usable, reachable);
    assert_eq!(expressions(&plan), ["-", "all - core:0", "one-per-core", "core:0", "0", "1"]);
    assert_eq!(plan.candidates[1].stands_for, ExactCount::ONE, "the other cores have no sibling here");
}

#[test]
fn of_too_many_the_most_different_stay() {
    let machine = without_memory();
    let few = |most| {
        let plan = plan_placements(&machine, &machine.online, None, None, most);
        expressions(&plan).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(few(1), ["-", "all - core:0"], "these always stay");
    assert_eq!(few(3), ["-", "all - core:0", "2"], "one cpu is unlike all in every way");
    assert_eq!(few(5), ["-", "all - core:0", "with-memory", "spread(8, llc)", "2"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, rng_seed: RngSeed::Fixed(8), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_two_candidates_are_images_of_each_other(recipe in recipes(), threads in 0_u32..14, busiest in 0_u32..24, out in any::<u16>()) {
        let machine = machine(&recipe);
        let reachable: CpuSet = machine.online.iter().filter(|cpu| out & 0x8000 == 0 || out & 1 << cpu == 0).collect();
        if reachable.is_empty() {
            return Ok(());
        }
        let plan = plan_placements(&machine, &reachable, (threads > 0).then_some(threads), Some(busiest), USUAL_MOST);
        keeps_its_word(&machine, &reachable, &plan, USUAL_MOST);
        let brute = BruteClasses::new(&machine, &plan.usable, Some(busiest).filter(|cpu| plan.usable.contains(*cpu)));
        let (mut classes, mut sizes) = (HashSet::new(), std::collections::HashMap::new());
        for (subset, cpus) in brute.subsets() {
            *sizes.entry(brute.class(subset)).or_insert(0_usize) += 1;
            if plan.candidates.iter().any(|candidate| candidate.cpus == cpus) {
                prop_assert!(classes.insert(brute.class(subset)), "{cpus} is an image of another: {:?}", expressions(&plan));
            }
        }
        for (subset, cpus) in brute.subsets() {
            for candidate in plan.candidates.iter().filter(|candidate| candidate.cpus == cpus) {
                prop_assert_eq!(candidate.stands_for, ExactCount::from(sizes[&brute.class(subset)]));
            }
        }
        let of_size = |cpus: &CpuSet| threads == 0 || cpus.len() == threads as usize;
        let by_size: HashSet<usize> =
            brute.subsets().filter(|(_, cpus)| of_size(cpus) && !cpus.is_empty()).map(|(subset, _)| brute.class(subset)).collect();
        prop_assert_eq!(plan.classes, ExactCount::from(by_size.len()));
        // Where all classes of a size fit, all are there.
        let others = plan.candidates.iter().filter(|candidate| !of_size(&candidate.cpus)).count();
        if threads > 0 && by_size.len() + others <= USUAL_MOST {
            prop_assert_eq!(plan.classes_here, by_size.len(), "{:?}", expressions(&plan));
        }
    }
}
