//! Whole maps of simulated machines.

use std::sync::atomic::AtomicBool;

use corewise_machine::Machine;
use corewise_machine::random::RandomGenerator;
use corewise_model::links::conclude::conclude_map;
use corewise_model::links::map::LinkMap;
use corewise_model::links::{CpuRelation, CpuRelationTable};
use corewise_model::simulate::layout::{MachineLayout, relation_costs};
use corewise_testing::count_cases;

use super::simulated::SimulatedLinks;
use super::*;

fn plan(cpus: &CpuSet) -> LinksPlan {
    LinksPlan {
        cpus: cpus.clone(),
        kinds: vec![TalkWay::Cas],
        budget: Duration::from_secs(60),
        limits: ExploreLimits::default(),
        seed: 11,
        choices: CHOICES,
        corewise: "test",
    }
}

fn chiplet_costs(relation: CpuRelation) -> f64 {
    match relation {
        CpuRelation::SameCore => 7.0,
        CpuRelation::SameCluster | CpuRelation::SameLlc | CpuRelation::SameLlcOtherNode => 25.0,
        CpuRelation::OtherLlc | CpuRelation::OtherDie | CpuRelation::OtherNode => 100.0,
        CpuRelation::OtherPackage => 200.0,
    }
}

fn mapped(plan: &LinksPlan, machine: &Machine, talk: &mut dyn PairVisitor) -> LinkMap {
    map_links(plan, Some(machine.clone()), talk, &AtomicBool::new(false), &mut |_| {})
}

/// Visits fail for a while, for ever, or give nothing.
struct BrokenLinks<'a> {
    inner: SimulatedLinks,
    fails: &'a dyn Fn(&VisitOrder) -> bool,
    /// Why: somebody else uses a cpu, or it cannot be had.
    is_busy: bool,
    tries: usize,
}

impl PairVisitor for BrokenLinks<'_> {
    fn visit_pairs(&mut self, visits: &[VisitOrder]) -> Vec<LinkVisitOutcome> {
        let mut outcomes = self.inner.visit_pairs(visits);
        for (visit, outcome) in visits.iter().zip(&mut outcomes) {
            if (self.fails)(visit) {
                self.tries += 1;
                let gap = Gap::new(format!("link {}-{}", visit.first, visit.second), "no answer");
                *outcome = if self.is_busy { LinkVisitOutcome::Busy(gap) } else { LinkVisitOutcome::Failed(gap) };
            }
        }
        outcomes
    }

    fn simulated_elapsed(&self) -> Option<Duration> {
        self.inner.simulated_elapsed()
    }

    fn pairs_at_once(&self) -> usize {
        1
    }

    fn timing_clock(&self) -> Option<ClockRecord> {
        None
    }

    fn map_origin(&self) -> ArtifactOrigin {
        ArtifactOrigin::Measured
    }
}

#[test]
fn a_small_machine_is_measured_in_full_and_its_caches_found() {
    let machine = MachineLayout { packages: 1, caches: 2, cores: 4, threads: 2, adjacent: false }.build_machine();
    let mut talk = SimulatedLinks::new("test", relation_costs(&machine, 1, chiplet_costs), &[], 1);
    let map = mapped(&plan(&machine.allowed), &machine, &mut talk);
    assert!(!map.provenance.partial);
    // 28 pairs of cores, 8 of siblings.
    assert_eq!(map.series[0].links.pairs.len(), 36);
    assert!(map.series[0].links.pairs.iter().all(|pair| pair.visits_ns().len() + pair.back_ns().len() >= 3));
    let conclusions = conclude_map(&map);
    assert_eq!(conclusions.groups.unwrap().describe_groups(), "2 groups of 4 cores");
    let classes: Vec<&str> = conclusions.kinds[0].classes.iter().map(|class| class.words.as_str()).collect();
    assert_eq!(classes, ["same core", "same group", "other group"]);
    assert!(conclusions.kinds[0].held_out.unwrap().median < 0.02);
}

#[test]
fn pairs_are_visited_at_a_time_only_where_that_costs_nothing() {
    let machine = MachineLayout { packages: 2, caches: 4, cores: 8, threads: 1, adjacent: false }.build_machine();
    let matrix = relation_costs(&machine, 1, chiplet_costs);
    let with = |contention: f64| {
        let mut talk = SimulatedLinks::new("test", matrix.clone(), &[], 1).with_contention(contention);
        mapped(&plan(&machine.allowed), &machine, &mut talk)
    };
    let (free, dear) = (with(0.0), with(0.01));
    assert_eq!(free.parallel.as_ref().unwrap().at_a_time, 16);
    assert_eq!(dear.parallel.as_ref().unwrap().at_a_time, 1);
    assert!(free.provenance.elapsed_s < dear.provenance.elapsed_s / 4.0);
    let cost =
        |map: &LinkMap| map.series[0].links.pairs.iter().map(corewise_model::links::LinkPair::one_way_ns).sum::<f64>();
    assert!((cost(&free) / cost(&dear) - 1.0).abs() < 1e-9, "alone in both: {} {}", cost(&free), cost(&dear));
}

#[test]
fn a_pair_that_never_answers_becomes_a_gap_and_the_others_go_on() {
    let machine = MachineLayout { packages: 1, caches: 2, cores: 2, threads: 1, adjacent: false }.build_machine();
    let inner = SimulatedLinks::new("test", relation_costs(&machine, 1, chiplet_costs), &[], 1);
    let mut talk = BrokenLinks { inner, fails: &|visit| visit.first.max(visit.second) == 3, is_busy: false, tries: 0 };
    let map = mapped(&plan(&machine.allowed), &machine, &mut talk);
    let links = &map.series[0].links;
    assert_eq!((links.pairs.len(), links.gaps.len()), (3, 3));
    assert!(links.gaps.iter().all(|gap| gap.why == "no answer"));
    assert_eq!(talk.tries, 9, "three of each are enough");
}

/// Six of ten visits fail, as where others keep both cpus busy: three in a row are nothing special, and while time is left no pair is given up.
#[test]
fn pairs_whose_cpus_are_busy_are_tried_again() {
    let machine = MachineLayout { packages: 1, caches: 2, cores: 2, threads: 1, adjacent: false }.build_machine();
    let mut with_holes = 0;
    for seed in 0..20 {
        let random = std::cell::RefCell::new(RandomGenerator::new(seed));
        let inner = || SimulatedLinks::new("test", relation_costs(&machine, 1, chiplet_costs), &[], 1);
        let mostly = |_: &VisitOrder| random.borrow_mut().next_unit() < 0.6;
        let mut talk = BrokenLinks { inner: inner(), fails: &mostly, is_busy: true, tries: 0 };
        let map = mapped(&plan(&machine.allowed), &machine, &mut talk);
        assert_eq!(map.series[0].links.pairs.len(), 6, "seed {seed}");
        let mut refused = BrokenLinks { inner: inner(), fails: &mostly, is_busy: false, tries: 0 };
        let without = mapped(&plan(&machine.allowed), &machine, &mut refused);
        with_holes += usize::from(without.series[0].links.pairs.len() < 6);
    }
    assert!(with_holes > 10, "failures that stay leave holes: {with_holes}");
}

/// A cpu that somebody else keeps for ever: its pairs are gaps, after a bounded number of tries, and the map is as whole as one can be.
#[test]
fn a_cpu_that_is_never_free_takes_a_bounded_time() {
    let machine = MachineLayout { packages: 1, caches: 2, cores: 8, threads: 1, adjacent: false }.build_machine();
    let inner = SimulatedLinks::new("test", relation_costs(&machine, 1, chiplet_costs), &[], 1);
    let mut talk = BrokenLinks { inner, fails: &|visit| visit.first.max(visit.second) == 15, is_busy: true, tries: 0 };
    let map = mapped(&plan(&machine.allowed), &machine, &mut talk);
    assert_eq!(map.series[0].links.gaps.len(), 15);
    assert!(!map.provenance.partial && !map.unfinished);
    assert!((15 * 4..=15 * 27).contains(&talk.tries), "{}", talk.tries);
}

#[test]
fn a_pair_that_fails_once_is_visited_again() {
    let machine = MachineLayout { packages: 1, caches: 1, cores: 3, threads: 1, adjacent: false }.build_machine();
    let inner = SimulatedLinks::new("test", relation_costs(&machine, 1, chiplet_costs), &[], 1);
    let failed = std::cell::Cell::new(false);
    let once = |visit: &VisitOrder| visit.first.min(visit.second) == 0 && !failed.replace(true);
    let map =
        mapped(&plan(&machine.allowed), &machine, &mut BrokenLinks { inner, fails: &once, is_busy: false, tries: 0 });
    assert_eq!((map.series[0].links.pairs.len(), map.series[0].links.gaps.len()), (3, 0));
}

#[test]
fn a_map_whose_time_is_over_at_once_has_one_visit() {
    let machine = MachineLayout { packages: 1, caches: 2, cores: 8, threads: 1, adjacent: false }.build_machine();
    let plan = LinksPlan { budget: Duration::ZERO, ..plan(&machine.allowed) };
    let map =
        mapped(&plan, &machine, &mut SimulatedLinks::new("test", relation_costs(&machine, 1, chiplet_costs), &[], 1));
    assert!(map.provenance.partial);
    assert_eq!(map.series[0].links.pairs.len() + map.series[0].held_out.len(), 1);
}

#[test]
fn a_map_that_is_stopped_or_out_of_time_is_partial() {
    let machine = MachineLayout { packages: 1, caches: 2, cores: 8, threads: 1, adjacent: false }.build_machine();
    let matrix = relation_costs(&machine, 1, chiplet_costs);
    let plan = LinksPlan { budget: Duration::from_millis(20), ..plan(&machine.allowed) };
    let map = mapped(&plan, &machine, &mut SimulatedLinks::new("test", matrix.clone(), &[], 1));
    assert!(map.provenance.partial && map.series[0].links.pairs.len() < 120, "{}", map.series[0].links.pairs.len());
    let stopped = AtomicBool::new(true);
    let mut talk = SimulatedLinks::new("test", matrix, &[], 1);
    let map = super::map_links(&plan, Some(machine), &mut talk, &stopped, &mut |_| {});
    assert!(map.provenance.partial && map.series[0].links.pairs.is_empty());
}

/// With the memory on the second node a line costs half as much more; both are measured, and it is a finding.
#[test]
fn between_nodes_both_homes_are_measured() {
    let machine = MachineLayout { packages: 2, caches: 1, cores: 4, threads: 1, adjacent: false }.build_machine();
    let mut matrix = relation_costs(&machine, 1, chiplet_costs);
    for i in 0..4 {
        for j in 4..8 {
            matrix.set_cost(j, i, 1.5 * matrix.one_way_cost(i, j));
        }
    }
    let map = mapped(&plan(&machine.allowed), &machine, &mut SimulatedLinks::new("test", matrix, &[], 1));
    let crosses = |pair: &&corewise_model::links::LinkPair| pair.a < 4 && pair.b >= 4;
    assert!(map.series[0].links.pairs.iter().filter(crosses).all(|pair| pair.back_ns().len() >= 3));
    let conclusions = conclude_map(&map);
    let finding =
        conclusions.findings.iter().find(|finding| finding.statement.contains("The memory's node matters")).unwrap();
    assert!((finding.effects[0].ratio - 1.5).abs() < 0.01, "{finding:?}");
}

/// The kernel tells one cache of eight cores; the costs show two of four, and all of its pairs are measured.
#[test]
fn a_cache_that_the_kernel_does_not_tell_is_found() {
    let truth = MachineLayout { packages: 1, caches: 2, cores: 4, threads: 1, adjacent: false }.build_machine();
    let told = MachineLayout { packages: 1, caches: 1, cores: 8, threads: 1, adjacent: false }.build_machine();
    let map = mapped(
        &plan(&told.allowed),
        &told,
        &mut SimulatedLinks::new("test", relation_costs(&truth, 1, chiplet_costs), &[], 1),
    );
    let conclusions = conclude_map(&map);
    assert_eq!(
        conclusions.findings[0].statement,
        "The kernel reports one last-level cache for cpus 0-7, but the costs show 2 groups: 0-3 | 4-7."
    );
    assert!(conclusions.findings[1].statement.starts_with("2 groups of 4 cores: inside 25 ns, across "));
}

#[test]
fn a_thousand_cpus_on_paper_take_a_minute_at_most() {
    let machine = MachineLayout { packages: 2, caches: 48, cores: 8, threads: 2, adjacent: false }.build_machine();
    assert_eq!(machine.allowed.len(), 1536);
    let map = mapped(
        &plan(&machine.allowed),
        &machine,
        &mut SimulatedLinks::new("test", relation_costs(&machine, 1, chiplet_costs), &[], 1),
    );
    assert!(map.provenance.elapsed_s < 60.0, "{}", map.provenance.elapsed_s);
    let groups = conclude_map(&map).groups.unwrap();
    assert_eq!(groups.level.groups, machine.llcs.iter().map(|llc| llc.cpus.clone()).collect::<Vec<_>>());
}

#[test]
fn the_same_seed_makes_the_same_map() {
    let machine = MachineLayout { packages: 1, caches: 2, cores: 4, threads: 2, adjacent: true }.build_machine();
    let once = || {
        let samples = vec![(0..40).map(|n| 10.0 + f64::from(n % 7)).collect::<Vec<f64>>()];
        let mut map = mapped(
            &plan(&machine.allowed),
            &machine,
            &mut SimulatedLinks::new("test", relation_costs(&machine, 1, chiplet_costs), &samples, 9),
        );
        map.provenance.started_unix_ms = 0;
        map
    };
    assert_eq!(once(), once());
}

/// 96 cores of which nothing is known, and time for a part of the search: that is no answer about groups.
#[test]
fn a_search_that_ran_out_of_time_is_not_finished() {
    let machine = MachineLayout { packages: 2, caches: 6, cores: 8, threads: 1, adjacent: false }.build_machine();
    let matrix = relation_costs(&machine, 1, chiplet_costs);
    let of = |budget: Duration| {
        let plan = LinksPlan { budget, ..plan(&machine.allowed) };
        let mut talk = SimulatedLinks::new("test", matrix.clone(), &[], 1);
        map_links(&plan, None, &mut talk, &AtomicBool::new(false), &mut |_| {})
    };
    let short = of(Duration::from_millis(100));
    assert!(short.unfinished && short.provenance.partial && short.searched.is_empty());
    let found = conclude_map(&short);
    assert!(found.unfinished && found.findings.is_empty() && found.no_difference.is_empty(), "{found:?}");
    let whole = of(Duration::from_secs(60));
    assert!(!whole.unfinished);
    assert_eq!(conclude_map(&whole).groups.unwrap().level.groups.len(), 12);
}

/// Costs that no topology predicts: while there is time, more is measured, in the end everything but what shows how wrong predictions are.
#[test]
fn time_that_is_left_is_used_where_predictions_are_wrong() {
    let machine = MachineLayout { packages: 1, caches: 2, cores: 8, threads: 2, adjacent: false }.build_machine();
    let mut random = RandomGenerator::new(4);
    let mut matrix = relation_costs(&machine, 1, chiplet_costs);
    for i in 0..matrix.len() {
        for j in i + 1..matrix.len() {
            matrix.set_both(i, j, matrix.pair_cost(i, j) * (0.3 * random.next_normal()).exp());
        }
    }
    let uneven = mapped(&plan(&machine.allowed), &machine, &mut SimulatedLinks::new("test", matrix, &[], 1));
    let series = &uneven.series[0];
    assert_eq!(series.links.pairs.len() + series.held_out.len(), 496);
    assert!(!uneven.provenance.partial && uneven.provenance.elapsed_s < 30.0, "{}", uneven.provenance.elapsed_s);
    // A machine that is as its topology says needs no more than before.
    let mut talk = SimulatedLinks::new("test", relation_costs(&machine, 1, chiplet_costs), &[], 1);
    let even = mapped(&plan(&machine.allowed), &machine, &mut talk);
    assert!(even.series[0].links.pairs.len() < 200, "{}", even.series[0].links.pairs.len());
}

/// The near pairs of a large machine are few, and have an error of their own.
#[test]
fn every_class_has_an_error_of_its_own() {
    let machine = MachineLayout { packages: 2, caches: 8, cores: 8, threads: 2, adjacent: false }.build_machine();
    let matrix = relation_costs(&machine, 1, chiplet_costs);
    let map = mapped(&plan(&machine.allowed), &machine, &mut SimulatedLinks::new("test", matrix, &[], 1));
    let classes = conclude_map(&map).kinds.remove(0).classes;
    assert_eq!(classes.len(), 4);
    assert!(classes[1].predicted > 0, "{classes:?}");
    for class in classes.iter().filter(|class| class.predicted > 0) {
        let error = class.held_out.unwrap_or_else(|| panic!("{class:?}"));
        assert!(error.pairs >= 12 && error.median < 0.03, "{class:?}");
    }
}

/// Of 100 maps of machines, each with its own costs and few of its pairs measured, the intervals of the ratios hold those of all pairs in 95.
#[test]
fn intervals_hold_what_all_pairs_cost() {
    let machine = MachineLayout { packages: 2, caches: 6, cores: 6, threads: 1, adjacent: false }.build_machine();
    let relations = CpuRelationTable::new(&machine);
    let mut noise = RandomGenerator::new(1);
    let samples: Vec<Vec<f64>> =
        (0..40).map(|_| (0..60).map(|_| 100.0 * (0.03 * noise.next_normal()).exp()).collect()).collect();
    let (mut held, mut all) = ([0, 0], 0);
    for seed in 0..count_cases(100) as u64 {
        let matrix = relation_costs(&machine, seed, chiplet_costs);
        let mut talk = SimulatedLinks::new("test", matrix.clone(), &samples, seed);
        let plan = LinksPlan { seed, choices: seed, ..plan(&machine.allowed) };
        let found = conclude_map(&mapped(&plan, &machine, &mut talk));
        let truth = |wanted: [CpuRelation; 2]| {
            let of = |a, b| wanted.contains(&relations.relation_between(a as u32, b as u32).unwrap());
            let costs = matrix.known_pairs().filter(|&(i, j, _)| of(i, j)).map(|(_, _, cost)| cost);
            corewise_statistics::order::median(&costs.collect::<Vec<f64>>())
        };
        let inside = truth([CpuRelation::SameLlc, CpuRelation::SameCluster]);
        let tiers = [truth([CpuRelation::OtherLlc, CpuRelation::OtherDie]), truth([CpuRelation::OtherPackage; 2])];
        for ((effect, truth), held) in found.findings[0].effects.iter().zip(tiers).zip(&mut held) {
            *held += usize::from(effect.low <= truth / inside && truth / inside <= effect.high);
            assert!(effect.high / effect.low < 1.1, "an interval that says nothing: {effect:?}");
        }
        all += 1;
    }
    assert!(held.iter().all(|held| held * 100 >= 95 * all), "{held:?} of {all}");
}
