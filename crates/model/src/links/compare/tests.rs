use corewise_machine::random::RandomGenerator;

use super::*;
use crate::links::conclude::conclude_map;
use crate::links::map::LinkMap;
use crate::links::{CpuRelation, CpuRelationTable};
use crate::simulate::layout::MachineLayout;
use crate::simulate::simulate_link_map;

/// Two caches of three cores; visits with 1 % of noise. `cost` gets the pair and its relation.
fn map(visits: usize, seed: u64, cost: impl Fn(u32, u32, CpuRelation) -> f64) -> LinkMap {
    let machine = MachineLayout { packages: 1, caches: 2, cores: 3, threads: 1, adjacent: false }.build_machine();
    let relations = CpuRelationTable::new(&machine);
    let mut random = RandomGenerator::new(seed);
    let mut pairs = Vec::new();
    for a in 0..6 {
        for b in a + 1..6 {
            let cost = cost(a, b, relations.relation_between(a, b).unwrap());
            pairs.push(LinkPair::new(a, b, (0..visits).map(|_| cost * (0.01 * random.next_normal()).exp()).collect()));
        }
    }
    LinkMap::of_pairs(machine, pairs)
}

fn chiplets(_: u32, _: u32, relation: CpuRelation) -> f64 {
    if relation == CpuRelation::SameLlc { 20.0 } else { 200.0 }
}

fn compared(before: &LinkMap, after: &LinkMap) -> LinkComparison {
    compare_link_maps(before, after, &conclude_map(before)).remove(0)
}

#[test]
fn a_class_that_changed_is_told_and_the_other_is_not() {
    let before = map(12, 1, chiplets);
    let after = map(12, 2, |_, _, relation| if relation == CpuRelation::SameLlc { 20.0 } else { 80.0 });
    let found = compared(&before, &after);
    assert_eq!((found.pairs, found.measured, found.cheaper), (15, [15, 15], 9));
    let [inside, across] = &found.classes[..] else { panic!("{found:?}") };
    assert_eq!((&*inside.words, &*across.words), ("same group", "other group"));
    assert!((across.effect.ratio - 0.4).abs() < 0.02 && across.changed == 9, "{across:?}");
    assert!((inside.effect.ratio - 1.0).abs() < 0.02, "{inside:?}");
    assert!(found.most.iter().all(|change| change.a < 3 && change.b >= 3), "{:?}", found.most);
}

/// How often an unchanged pair is called changed.
#[test]
fn what_did_not_change_is_seldom_called_changed() {
    let (mut changed, mut pairs) = (0, 0);
    for seed in 0..100 {
        let found = compared(&map(12, 2 * seed, chiplets), &map(12, 2 * seed + 1, chiplets));
        changed += found.dearer + found.cheaper;
        pairs += found.pairs;
    }
    assert!(changed * 200 <= pairs, "{changed} of {pairs}");
}

/// Two maps of a machine whose pairs have luck of 5 % in each: any of 28 pairs is called changed in 5 % of comparisons at
/// most, and a pair that costs twice as much is.
#[test]
fn the_luck_of_pairs_is_no_change() {
    let machine = MachineLayout { packages: 1, caches: 2, cores: 4, threads: 1, adjacent: false }.build_machine();
    let (mut any, mut doubled) = (0, 0);
    for seed in 0..60 {
        let before = simulate_link_map(&machine, 2 * seed, 0.05, chiplets);
        let after = |times: f64| {
            let cost = |a, b, relation| chiplets(a, b, relation) * if (a, b) == (0, 1) { times } else { 1.0 };
            compared(&before, &simulate_link_map(&machine, 2 * seed + 1, 0.05, cost))
        };
        let same = after(1.0);
        any += usize::from(same.dearer + same.cheaper > 0);
        doubled += usize::from(after(2.0).most.iter().any(|pair| (pair.a, pair.b) == (0, 1)));
    }
    assert!(any <= 6 && doubled >= 57, "{any} and {doubled} of 60");
}

#[test]
fn pairs_of_one_map_alone_are_counted_and_not_compared() {
    let before = map(12, 1, chiplets);
    let mut after = map(12, 2, chiplets);
    after.series[0].links.pairs.retain(|pair| pair.a == 0);
    let found = compared(&before, &after);
    assert_eq!((found.pairs, found.measured), (5, [15, 5]));
}

/// A single number is known to within 5 %.
#[test]
fn numbers_without_visits_count_as_known_to_within_5_percent() {
    let of = |factor: f64| {
        let mut map = map(1, 1, chiplets);
        map.series[0].links.pairs.iter_mut().for_each(|pair| pair.change_visits(|cost| *cost *= factor));
        map
    };
    assert_eq!(compared(&of(1.0), &of(1.08)).dearer, 0);
    assert_eq!(compared(&of(1.0), &of(1.12)).dearer, 15);
}
