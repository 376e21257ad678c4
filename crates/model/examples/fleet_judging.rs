//! Judges a simulated fleet of 10,000 nodes, reads as many reports that all have another configuration, and prints the time that it takes:
//! `cargo run --release -p corewise-model --example fleet_judging`.

use std::time::Instant;

use corewise_machine::generate::one_package_machine;
use corewise_model::digest::survey_digest::SurveyDigest;
use corewise_model::fleet::conclude::FleetConclusions;
use corewise_model::fleet::visit_report::VISIT_SCHEMA;
use corewise_model::fleet::{Fleet, VisitPolicy, VisitReport};
use corewise_model::simulate::{CpuTruth, FleetWorld, MachineNoise, SimulatedFleet, simulate_survey};

/// Number of nodes.
const NODES: usize = 10_000;

fn main() {
    let world = FleetWorld { nodes: NODES, quantities: 8, ..FleetWorld::default() };
    let mut made = SimulatedFleet::new(world, 1);
    made.visit_all(&VisitPolicy::default());
    let visits = made.visits_per_node();
    let start = Instant::now();
    let found = FleetConclusions::new(&made.fleet);
    let seconds = start.elapsed().as_secs_f64();
    println!("{} nodes, {visits:.2} visits each, {} quantities", found.asked, world.quantities);
    println!("judged in {seconds:.2} s: {} outliers, {} noisy", found.outliers.len(), found.noisy.len());
    println!("{:.1} MB as JSON", serde_json::to_vec(&made.fleet).map_or(0, |json| json.len()) as f64 / 1e6);
    judge_configurations(made.fleet);
}

/// Adds a report of each node, no two with the same configuration, and judges them.
fn judge_configurations(fleet: Fleet) {
    let truth = |_| CpuTruth { piece_ns: 250.0, interrupts_per_s: 100.0, lost: 0.001 };
    let survey = simulate_survey(one_package_machine(4, false, &[]), 8, 1, MachineNoise::Quiet, truth);
    let mut report = VisitReport {
        schema: VISIT_SCHEMA.to_owned(),
        node: String::new(),
        rack: None,
        boot_id: None,
        started_unix_ms: 1,
        survey: SurveyDigest::from_survey(&survey),
        memory: None,
        configuration: [("command_line".to_owned(), String::new())].into(),
    };
    let mut fleet = Fleet::new(fleet.provenance);
    let start = Instant::now();
    for node in 0..NODES {
        report.node = format!("n{node:05}");
        report.configuration.insert("command_line".to_owned(), format!("quiet serial={node}"));
        fleet.add_visit(&report);
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{} different configurations read in {seconds:.2} s", fleet.configurations.len());
    let start = Instant::now();
    let found = FleetConclusions::new(&fleet);
    println!("judged in {:.2} s: {} settings differ", start.elapsed().as_secs_f64(), found.drift.len());
}
