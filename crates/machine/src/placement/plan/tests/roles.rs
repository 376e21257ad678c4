//! Placements of several roles: counted as brute force counts them, each class once, the cheapest talk first.

use std::collections::BTreeSet;

use super::brute::BruteClasses;
use super::built::built_in;
use crate::placement::plan::{ExactCount, RoleCandidate, USUAL_MOST, plan_roles};
use crate::{CpuSet, Machine};

fn planned(machine: &Machine, roles: usize) -> Vec<RoleCandidate> {
    plan_roles(machine, &machine.online, roles, (None, None), USUAL_MOST)
}

/// What every symmetry makes of the sets of a candidate.
fn images(candidate: &RoleCandidate, symmetries: &[Vec<usize>]) -> BTreeSet<Vec<CpuSet>> {
    let moved = |symmetry: &Vec<usize>| {
        let image = |(_, cpus): &(String, CpuSet)| cpus.iter().map(|cpu| symmetry[cpu as usize] as u32).collect();
        candidate.places.iter().map(image).collect()
    };
    symmetries.iter().map(moved).collect()
}

#[test]
fn each_class_is_counted_and_proposed_once() {
    // The cpus of this machine are numbered from 0 without a gap.
    let machine = built_in("fx-8150");
    let symmetries = BruteClasses::symmetries(&machine, &machine.online);
    for roles in [2, 3] {
        let candidates = planned(&machine, roles);
        assert!(candidates.len() > 4, "{candidates:?}");
        let mut seen = BTreeSet::new();
        for candidate in &candidates {
            assert_eq!(candidate.places.len(), roles);
            let images = images(candidate, &symmetries);
            assert_eq!(candidate.stands_for, ExactCount::from(images.len()), "{candidate:?}");
            assert!(seen.insert(images), "{candidate:?} is a symmetry of another");
        }
    }
}

#[test]
fn a_server_and_its_load_are_together_beside_and_apart() {
    let names = |machine: &str| -> Vec<String> {
        let of = |candidate: RoleCandidate| {
            candidate.places.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>().join(" / ")
        };
        planned(&built_in(machine), 2).into_iter().map(of).collect()
    };
    let bulldozer = names("fx-8150");
    for expected in
        ["1 / 1", "core:2 / core:3", "cluster:1 / cluster:1", "core:1 / all - core:1", "all - core:0 / all - core:0"]
    {
        assert!(bulldozer.iter().any(|name| name == expected), "{expected}: {bulldozer:?}");
    }
    let desktop = names("ryzen-9-9950x3d");
    for expected in ["llc:1 / llc:0", "core:8 / core:9", "1 / 17"] {
        assert!(desktop.iter().any(|name| name == expected), "{expected}: {desktop:?}");
    }
    assert!(desktop.len() <= USUAL_MOST);
}

#[test]
fn who_talks_at_the_lowest_cost_comes_first() {
    let machine = built_in("fx-8150");
    // The farther apart two numbers are, the dearer.
    let cost = |a: u32, b: u32| Some(f64::from(a.abs_diff(b)));
    let candidates = plan_roles(&machine, &machine.online, 2, (None, Some(&cost)), USUAL_MOST);
    let known: Vec<f64> = candidates.iter().filter_map(|candidate| candidate.link_ns).collect();
    assert!(known.len() > 3 && known.is_sorted(), "{known:?}");
    let first_unknown = candidates.iter().position(|candidate| candidate.link_ns.is_none());
    assert_eq!(first_unknown, Some(known.len()), "one cpu has no cost with itself: {candidates:?}");
    let two = plan_roles(&machine, &machine.online, 2, (None, Some(&cost)), 2);
    assert_eq!(two, candidates[..2]);
    assert!(plan_roles(&machine, &CpuSet::from_cpu(0), 2, (None, None), 12).is_empty(), "one cpu leaves no choice");
}
