//! Judges a simulated fleet of 10,000 nodes and prints the time and the memory that it takes:
//! `cargo run --release -p corewise-model --example fleet_judging`.

use std::time::Instant;

use corewise_model::fleet::VisitPolicy;
use corewise_model::fleet::conclude::FleetConclusions;
use corewise_model::simulate::{FleetWorld, SimulatedFleet};

fn main() {
    let world = FleetWorld { nodes: 10_000, quantities: 8, ..FleetWorld::default() };
    let mut made = SimulatedFleet::new(world, 1);
    made.visit_all(&VisitPolicy::default());
    let visits = made.visits_per_node();
    let start = Instant::now();
    let found = FleetConclusions::new(&made.fleet);
    let seconds = start.elapsed().as_secs_f64();
    println!("{} nodes, {visits:.2} visits each, {} quantities", found.asked, world.quantities);
    println!("judged in {seconds:.2} s: {} outliers, {} noisy", found.outliers.len(), found.noisy.len());
    println!("{:.1} MB as JSON", serde_json::to_vec(&made.fleet).map_or(0, |json| json.len()) as f64 / 1e6);
}
