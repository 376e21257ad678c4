//! Fleets with known slow and noisy nodes.

use std::collections::BTreeMap;

use corewise_machine::random::RandomGenerator;

use super::MODEL;
use crate::artifact::{ArtifactOrigin, ArtifactProvenance};
use crate::fleet::{Fleet, FleetNode, FleetQuantity, NodeConfiguration, NodeVisit, VisitPolicy, next_visits};

/// Slowdown of the slow nodes, from and to, as shares.
const SLOWDOWN: [f64; 2] = [0.03, 0.10];
/// Slowdown of a visit that something disturbed, from and to, as logarithms.
const SPIKE: [f64; 2] = [0.05, 0.30];
/// Standard deviation of a Student distribution of four degrees of freedom.
const STUDENT_DEVIATION: f64 = std::f64::consts::SQRT_2;

/// Properties of a simulated fleet.
#[derive(Clone, Copy, Debug)]
pub struct FleetWorld {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of nodes of a rack, all of one model.
    pub rack: usize,
    /// Number of models of machine.
    pub models: usize,
    /// Standard deviation of a visit, as a share; visits follow Student's distribution with four degrees of freedom.
    pub noise: f64,
    /// Standard deviation of healthy nodes, as a share.
    pub spread: f64,
    /// Share of slow nodes, by 3 to 10 %.
    pub slow: f64,
    /// Share of noisy nodes.
    pub noisy: f64,
    /// Noise of a noisy node, as a multiple of its peers'.
    pub noise_factor: f64,
    /// Share of visits that something slows down by 5 to 35 %.
    pub spikes: f64,
    /// Number of quantities; all but the first are noise.
    pub quantities: usize,
}

impl Default for FleetWorld {
    fn default() -> Self {
        Self {
            nodes: 1000,
            rack: 40,
            models: 4,
            noise: 0.02,
            spread: 0.003,
            slow: 0.05,
            noisy: 0.0,
            noise_factor: 3.0,
            spikes: 0.02,
            quantities: 1,
        }
    }
}

/// A simulated fleet, visited as often as wanted.
#[derive(Clone, Debug)]
pub struct SimulatedFleet {
    /// Its observations so far.
    pub fleet: Fleet,
    /// The true deviation of each node from its peers, as a logarithm of speed: slow nodes are below zero.
    pub truths: Vec<f64>,
    /// Whether each node is a noisy one.
    pub noisy: Vec<bool>,
    world: FleetWorld,
    levels: Vec<f64>,
    random: RandomGenerator,
}

impl SimulatedFleet {
    /// Draws a fleet. It has no visits yet.
    pub fn new(world: FleetWorld, seed: u64) -> Self {
        let mut random = RandomGenerator::new(seed);
        let models: Vec<f64> = (0..world.models).map(|_| 0.2 * random.next_normal()).collect();
        let mut fleet = Fleet::new(provenance(seed));
        fleet.quantities = FleetQuantity::ALL[..world.quantities].to_vec();
        fleet.configurations = (0..world.models).map(configuration).collect();
        let (mut truths, mut noisy, mut levels) = (Vec::new(), Vec::new(), Vec::new());
        let (mut model, mut rack_level) = (0, 0.0);
        for number in 0..world.nodes {
            if number % world.rack == 0 {
                (model, rack_level) = (random.next_below(world.models), 0.01 * random.next_normal());
            }
            let is_slow = random.next_unit() < world.slow;
            let slowdown = if is_slow { draw_between(&mut random, SLOWDOWN).ln_1p() } else { 0.0 };
            truths.push(world.spread * random.next_normal() - slowdown);
            noisy.push(random.next_unit() < world.noisy);
            levels.push(models[model] + rack_level + truths[number]);
            let rack = Some(format!("r{:02}", number / world.rack));
            let name = format!("n{number:05}-{model}");
            fleet.nodes.push(FleetNode { name, rack, visits: Vec::new(), problem: None });
        }
        Self { fleet, truths, noisy, world, levels, random }
    }

    /// Visits the nodes as [`next_visits`] wants, until it wants no more.
    pub fn visit_all(&mut self, policy: &VisitPolicy) {
        loop {
            let wanted = next_visits(&self.fleet, policy);
            if wanted.is_empty() {
                return;
            }
            wanted.into_iter().for_each(|node| self.visit(node));
        }
    }

    /// Visits a node once.
    pub fn visit(&mut self, node: usize) {
        let noise = self.world.noise * if self.noisy[node] { self.world.noise_factor } else { 1.0 };
        let spike =
            if self.random.next_unit() < self.world.spikes { draw_between(&mut self.random, SPIKE) } else { 0.0 };
        let speed = self.levels[node] + noise * self.draw_student() - spike;
        let mut values = vec![Some(250.0 * (-speed).exp())];
        for _ in 1..self.world.quantities {
            values.push(Some(100.0 * (noise * self.draw_student()).exp()));
        }
        let node = &mut self.fleet.nodes[node];
        let configuration = node.name.rsplit('-').next().and_then(|model| model.parse().ok()).unwrap_or(0);
        let started_unix_ms = node.visits.len() as i64;
        node.visits.push(NodeVisit { started_unix_ms, configuration, others_busy: None, values });
    }

    /// Returns the mean number of visits of a node.
    pub fn visits_per_node(&self) -> f64 {
        let visits: usize = self.fleet.nodes.iter().map(|node| node.visits.len()).sum();
        visits as f64 / self.fleet.nodes.len() as f64
    }

    /// Draws from Student's distribution with four degrees of freedom, scaled to a standard deviation of 1.
    fn draw_student(&mut self) -> f64 {
        let squares: f64 = (0..4).map(|_| self.random.next_normal().powi(2)).sum();
        self.random.next_normal() / (squares / 4.0).sqrt() / STUDENT_DEVIATION
    }
}

fn draw_between(random: &mut RandomGenerator, [low, high]: [f64; 2]) -> f64 {
    low + (high - low) * random.next_unit()
}

fn provenance(seed: u64) -> ArtifactProvenance {
    ArtifactProvenance {
        origin: ArtifactOrigin::Simulated { file: MODEL.to_owned() },
        corewise: "simulated".to_owned(),
        started_unix_ms: 0,
        elapsed_s: 1.0,
        budget_s: 0.0,
        seed,
        partial: false,
    }
}

fn configuration(model: usize) -> NodeConfiguration {
    NodeConfiguration {
        fingerprint: format!("{model:016x}"),
        processor: Some(format!("Model {model}")),
        objects: BTreeMap::from([("cpu".to_owned(), 64)]),
        memory_bytes: Some(256 << 30),
        settings: BTreeMap::from([("governor".to_owned(), "performance".to_owned())]),
        corewise: "simulated".to_owned(),
        additions: 1000,
    }
}
