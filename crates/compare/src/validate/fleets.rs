//! Fleets: slow nodes that are found, healthy ones that are listed, and the visits that it takes.

use corewise_model::fleet::VisitPolicy;
use corewise_model::fleet::conclude::{DeviatingNode, FleetConclusions};
use corewise_model::simulate::{FleetWorld, SimulatedFleet};

use super::{ErrorBounds, percent_of, repeat_simulation};

/// Fleets of each row.
const FLEETS: f64 = 300.0;

/// Counts of one fleet.
struct FleetOutcome {
    /// Nodes that are slower by 5 % or more.
    slow: usize,
    /// The listed ones among them.
    found: usize,
    listed: usize,
    /// Listed nodes that are slower by less than 2 %.
    wrong: usize,
    /// Listed nodes whose interval misses the truth.
    missed: usize,
    visits: f64,
    noisy: usize,
    noisy_found: usize,
    noisy_listed: usize,
}

impl FleetOutcome {
    fn simulate(world: FleetWorld, policy: &VisitPolicy, seed: u64) -> Self {
        let mut made = SimulatedFleet::new(world, seed);
        made.visit_all(policy);
        let conclusions = FleetConclusions::new(&made.fleet);
        let place = |node: &DeviatingNode| made.fleet.nodes.iter().position(|other| other.name == node.node);
        let truth = |node: &DeviatingNode| place(node).map_or(0.0, |place| made.truths[place]);
        let slow = |truth: f64| truth <= -0.05_f64.ln_1p();
        let count = |holds: &dyn Fn(&&DeviatingNode) -> bool| conclusions.outliers.iter().filter(holds).count();
        let misses = |node: &&DeviatingNode| {
            let change = (-truth(node)).exp_m1();
            node.at_least.is_some_and(|least| change < least) || node.at_most.is_some_and(|most| change > most)
        };
        let is_noisy = |node: &&DeviatingNode| place(node).is_some_and(|place| made.noisy[place]);
        Self {
            slow: made.truths.iter().filter(|truth| slow(**truth)).count(),
            found: count(&|node| slow(truth(node))),
            listed: conclusions.outliers.len(),
            wrong: count(&|node| truth(node) > -0.02_f64.ln_1p()),
            missed: count(&misses),
            visits: made.visits_per_node(),
            noisy: made.noisy.iter().filter(|is_noisy| **is_noisy).count(),
            noisy_found: conclusions.noisy.iter().filter(is_noisy).count(),
            noisy_listed: conclusions.noisy.len(),
        }
    }
}

/// Prints the tables of docs/fleets.md.
pub fn print_tables(share: f64, bounds: &mut ErrorBounds) {
    let count = (FLEETS * share).max(20.0) as u64;
    let (world, policy) = (FleetWorld::default(), VisitPolicy::default());
    println!(
        "\n## Fleets of 1,000 nodes, 5 % of them slow by 3 to 10 %; 2 % of visits disturbed: {count} fleets a row\n"
    );
    print_head();
    for (noise, quantities, power) in
        [(0.01, 1, 98.0), (0.02, 1, 95.0), (0.03, 1, 85.0), (0.01, 8, 98.0), (0.02, 8, 95.0)]
    {
        let name = format!("noise {:.0} %, quantities: {quantities}", 100.0 * noise);
        let slow = FleetWorld { noise, quantities, ..world };
        check_row(&name, slow, &policy, count, FleetPower { slow: power, noisy: 0.0 }, bounds);
        check_row(&format!("{name}, even"), FleetWorld { slow: 0.0, ..slow }, &policy, count, NO_POWER, bounds);
    }
    let differing = FleetWorld { spread: 0.01, ..world };
    check_row("noise 2 %, healthy nodes differ by 1 %", differing, &policy, count, NO_POWER, bounds);
    println!("\n## The same, and 3 % of the nodes noisy: three times the noise of their peers\n");
    print_head();
    let noisy = FleetWorld { noisy: 0.03, ..world };
    for (noise, quantities, power) in [(0.01, 1, 25.0), (0.02, 1, 30.0), (0.03, 1, 30.0), (0.02, 8, 80.0)] {
        let name = format!("noise {:.0} %, quantities: {quantities}", 100.0 * noise);
        let world = FleetWorld { noise, quantities, ..noisy };
        check_row(&name, world, &policy, count, FleetPower { slow: 0.0, noisy: power }, bounds);
    }
    for most_visits in [6, 8, 12, 16] {
        let policy = VisitPolicy { most_visits, ..policy };
        check_row(&format!("noise 2 %, at most {most_visits} visits"), noisy, &policy, count, NO_POWER, bounds);
    }
    for noise_factor in [2.0, 5.0] {
        let name = format!("noise 2 %, {noise_factor} times the noise of their peers");
        check_row(&name, FleetWorld { noise_factor, ..noisy }, &policy, count, NO_POWER, bounds);
    }
    println!("\n## Small fleets of one model, noise 2 %: {} fleets a row\n", 10 * count);
    print_head();
    for nodes in [8, 12, 16, 24, 30, 50, 60, 100] {
        let small = FleetWorld { nodes, models: 1, rack: 1000, ..world };
        check_row(&format!("{nodes} nodes"), small, &policy, 10 * count, NO_POWER, bounds);
        let even = FleetWorld { slow: 0.0, ..small };
        check_row(&format!("{nodes} nodes, even"), even, &policy, 10 * count, NO_POWER, bounds);
    }
}

/// Shares of slow and of noisy nodes that are to be found, in percent.
struct FleetPower {
    slow: f64,
    noisy: f64,
}

/// Power of a row that is about errors alone.
const NO_POWER: FleetPower = FleetPower { slow: 0.0, noisy: 0.0 };

fn print_head() {
    println!(
        "| fleet | found of ≥ 5 % slow, % | listed | false, % of listed | interval misses, % | fleets with a list, % | visits a node | noisy found, % | noisy false, % | fleets with a noisy one, % |"
    );
    println!("|--|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
}

fn check_row(
    name: &str,
    world: FleetWorld,
    policy: &VisitPolicy,
    count: u64,
    power: FleetPower,
    bounds: &mut ErrorBounds,
) {
    let made = repeat_simulation(count, |seed| FleetOutcome::simulate(world, policy, seed));
    let sum = |value: &dyn Fn(&FleetOutcome) -> usize| made.iter().map(value).sum::<usize>() as f64;
    let percent = |part: f64, all: f64| if all > 0.0 { 100.0 * part / all } else { 0.0 };
    let (slow, listed) = (sum(&|made| made.slow), sum(&|made| made.listed));
    let found = percent(sum(&|made| made.found), slow);
    let wrong = percent(sum(&|made| made.wrong), listed);
    let missed = percent(sum(&|made| made.missed), listed);
    let listing = percent_of(&made, |made| made.listed > 0);
    let visits = made.iter().map(|made| made.visits).sum::<f64>() / made.len() as f64;
    let noisy_found = percent(sum(&|made| made.noisy_found), sum(&|made| made.noisy));
    let noisy_listed = sum(&|made| made.noisy_listed);
    let noisy_wrong = percent(noisy_listed - sum(&|made| made.noisy_found), noisy_listed);
    let noisy_listing = percent_of(&made, |made| made.noisy_listed > 0);
    println!(
        "| {name} | {found:.1} | {:.1} | {wrong:.2} | {missed:.1} | {listing:.1} | {visits:.2} | {noisy_found:.1} | {noisy_wrong:.2} | {noisy_listing:.1} |",
        listed / made.len() as f64
    );
    bounds.at_least(&format!("slow nodes are found, {name}"), found, power.slow);
    bounds.at_least(&format!("noisy nodes are found, {name}"), noisy_found, power.noisy);
    // Of fleets with healthy nodes alone, a list is false.
    let luck = 3.0 * (2.0 * 98.0 / made.len() as f64).sqrt();
    if world.slow > 0.0 {
        bounds.at_most(&format!("healthy nodes are listed, {name}"), wrong, 1.0);
        bounds.at_most(&format!("intervals miss, {name}"), missed, 5.0);
    } else {
        bounds.at_most(&format!("an even fleet has a list, {name}"), listing, 2.0 + luck);
    }
    if world.noisy > 0.0 {
        bounds.at_most(&format!("even nodes are noisy, {name}"), noisy_wrong, 1.0);
    } else {
        bounds.at_most(&format!("a fleet without noisy nodes has one, {name}"), noisy_listing, 2.0 + luck);
    }
    if world.nodes >= 1000 && world.noise <= 0.02 && world.noisy == 0.0 {
        bounds.at_most(&format!("visits, {name}"), visits, 3.5);
    }
}
