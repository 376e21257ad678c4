//! Fleets with known slow nodes, by simulation: a small seeded version of `cargo xtask validate 1 fleets`.

use corewise_model::fleet::VisitPolicy;
use corewise_model::fleet::compare::compare_fleets;
use corewise_model::fleet::conclude::{DeviatingNode, FleetConclusions};
use corewise_model::simulate::{FleetWorld, SimulatedFleet};
use corewise_testing::count_cases;

/// Nodes at or below this deviation are to be found: 5 % slower.
const CLEARLY_SLOW: f64 = -0.048;
/// Nodes above this deviation are false: 2 % slower.
const HARMLESS: f64 = -0.019_8;

/// Counts over some fleets.
#[derive(Default)]
struct FleetCounts {
    fleets: usize,
    listing: usize,
    listed: usize,
    wrong: usize,
    slow: usize,
    found: usize,
    visits: f64,
    beyond_interval: usize,
}

fn visit_fleet(world: FleetWorld, seed: u64) -> (SimulatedFleet, FleetConclusions) {
    let mut made = SimulatedFleet::new(world, seed);
    made.visit_all(&VisitPolicy::default());
    let found = FleetConclusions::new(&made.fleet);
    (made, found)
}

fn truth_of(made: &SimulatedFleet, node: &DeviatingNode) -> f64 {
    made.truths[made.fleet.nodes.iter().position(|other| other.name == node.node).unwrap()]
}

fn count_fleets(world: FleetWorld, fleets: usize) -> FleetCounts {
    let mut counts = FleetCounts { fleets, ..FleetCounts::default() };
    for seed in 0..fleets {
        let (made, found) = visit_fleet(world, seed as u64);
        counts.listing += usize::from(!found.outliers.is_empty());
        counts.listed += found.outliers.len();
        counts.slow += made.truths.iter().filter(|truth| **truth <= CLEARLY_SLOW).count();
        counts.visits += made.visits_per_node() / fleets as f64;
        for node in &found.outliers {
            let truth = truth_of(&made, node);
            counts.wrong += usize::from(truth > HARMLESS);
            counts.found += usize::from(truth <= CLEARLY_SLOW);
            let change = (-truth).exp_m1();
            let is_below = node.at_least.is_some_and(|least| change < least);
            let is_above = node.at_most.is_some_and(|most| change > most);
            counts.beyond_interval += usize::from(is_below || is_above);
        }
    }
    counts
}

#[test]
fn slow_nodes_are_found_and_healthy_ones_are_not() {
    // Eight quantities take eight times as long.
    for (noise, quantities, fleets, power) in [(0.01, 1, 6, 0.99), (0.02, 1, 6, 0.95), (0.02, 8, 4, 0.93)] {
        let counts = count_fleets(FleetWorld { noise, quantities, ..FleetWorld::default() }, fleets);
        let found = counts.found as f64 / counts.slow as f64;
        assert!(found >= power, "noise {noise}, {quantities} quantities: {found:.3} of {} found", counts.slow);
        assert!(counts.wrong * 100 <= counts.listed, "noise {noise}: {} of {} wrong", counts.wrong, counts.listed);
        assert!(counts.visits <= 3.5, "noise {noise}: {:.2} visits a node", counts.visits);
        let beyond = counts.beyond_interval;
        assert!(beyond * 20 <= counts.listed, "noise {noise}: {beyond} of {} intervals miss", counts.listed);
    }
}

#[test]
fn an_even_fleet_has_no_list() {
    for (world, fleets) in [
        (FleetWorld { slow: 0.0, ..FleetWorld::default() }, 12),
        (FleetWorld { slow: 0.0, noise: 0.01, quantities: 8, ..FleetWorld::default() }, count_cases(3)),
    ] {
        let counts = count_fleets(world, fleets);
        assert_eq!(counts.listing, 0, "of {} fleets", counts.fleets);
        assert!(counts.visits <= 3.5, "{:.2} visits a node", counts.visits);
    }
}

/// Few machines are compared round by round: fewer of them are found, but no healthy one is listed.
#[test]
fn a_small_fleet_does_not_lie() {
    for (nodes, power) in [(8, 0.0), (12, 0.1), (16, 0.3), (30, 0.7)] {
        let world = FleetWorld { nodes, models: 1, rack: 1000, ..FleetWorld::default() };
        let even = count_fleets(FleetWorld { slow: 0.0, ..world }, 200);
        assert!(even.listing <= 4, "{nodes} nodes: {} of 200 even fleets have a list", even.listing);
        let counts = count_fleets(world, 60);
        let found = counts.found as f64 / counts.slow as f64;
        assert!(
            found >= power && counts.wrong <= counts.listed / 20,
            "{nodes} nodes: {found:.2} found, {} wrong",
            counts.wrong
        );
    }
}

/// A node of wild visits is noisy, and slow only if it is slow; a slow one is not noisy.
#[test]
fn noisy_nodes_are_found_and_kept_apart_from_slow_ones() {
    let noisy = FleetWorld { noisy: 0.03, ..FleetWorld::default() };
    let even = FleetWorld { slow: 0.0, noise: 0.01, spikes: 0.0, ..noisy };
    for (world, fleets, power) in [(even, 6, 0.3), (noisy, 6, 0.25), (FleetWorld { quantities: 8, ..noisy }, 2, 0.8)] {
        let (mut noisy, mut listed, mut found) = (0, 0, 0);
        for seed in 0..count_cases(fleets) as u64 {
            let (made, conclusions) = visit_fleet(world, seed);
            assert!(world.slow > 0.0 || conclusions.outliers.len() <= 1, "{:?}", conclusions.outliers);
            noisy += made.noisy.iter().filter(|is_noisy| **is_noisy).count();
            listed += conclusions.noisy.len();
            let is_noisy = |node: &&DeviatingNode| {
                made.noisy[made.fleet.nodes.iter().position(|other| other.name == node.node).unwrap()]
            };
            found += conclusions.noisy.iter().filter(is_noisy).count();
            assert!(made.visits_per_node() <= 4.5, "{} visits a node", made.visits_per_node());
        }
        let share = found as f64 / noisy as f64;
        assert!(
            share >= power && (listed - found) * 100 <= listed,
            "{share} of {noisy} found, {listed} listed, {found} noisy"
        );
    }
}

/// March and June: all nodes became 4 % slower, and some of them 15 %.
#[test]
fn nodes_that_changed_are_found_beyond_what_all_did() {
    let world = FleetWorld { slow: 0.0, noise: 0.01, spikes: 0.0, ..FleetWorld::default() };
    let mut made = SimulatedFleet::new(world, 1);
    let visit_often = |made: &mut SimulatedFleet| {
        for _ in 0..6 {
            (0..world.nodes).for_each(|node| made.visit(node));
        }
    };
    visit_often(&mut made);
    let march = made.fleet.clone();
    made.fleet.nodes.iter_mut().for_each(|node| node.visits.clear());
    visit_often(&mut made);
    let mut june = made.fleet;
    let unchanged = compare_fleets(&march, &june);
    assert_eq!((unchanged.compared, unchanged.worse.len(), unchanged.better.len()), (world.nodes, 0, 0));
    for (place, node) in june.nodes.iter_mut().enumerate() {
        let change = if place % 50 == 0 { 1.15 } else { 1.04 };
        for value in node.visits.iter_mut().flat_map(|visit| &mut visit.values) {
            *value = value.map(|value| value * change);
        }
    }
    june.nodes.remove(999);
    let changes = compare_fleets(&march, &june);
    assert_eq!((changes.gone.len(), changes.new.len(), changes.better.len()), (1, 0, 0));
    let wrong = changes.worse.iter().filter(|change| change.node[1..6].parse::<usize>().unwrap() % 50 != 0).count();
    assert!(changes.worse.len() >= 18 && wrong <= 1, "{} found, {wrong} wrong", changes.worse.len());
    assert!(changes.worse.iter().all(|change| (0.05..0.16).contains(&change.change)), "{:?}", changes.worse);
}
