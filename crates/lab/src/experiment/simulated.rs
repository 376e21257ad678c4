//! Simulated programs: their runs are generated from a known truth, so that anyone can check the verdicts.

use std::time::Duration;

use corewise_model::simulate::noise::RunNoise;
use corewise_model::simulate::{Effects, Trials};
use corewise_model::trial::{Arm, Observed, Outcome};
use serde::Deserialize;

use super::{Ended, Ran, Runner, TrialRequest};

/// Truth about a simulated program, and the noise of its machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Simulation {
    /// Effects of its placements.
    #[serde(flatten)]
    pub effects: Effects,
    /// Noise of its machine.
    pub noise: RunNoise,
}

impl Simulation {
    /// Returns the simulation with one of its candidates alone.
    pub fn alone(&self, candidate: usize) -> Self {
        let Effects { gains, failures, .. } = &self.effects;
        let gains = gains.get(candidate - 1).copied().into_iter().collect();
        let failures = [0, candidate].map(|arm| failures.get(arm).copied().unwrap_or_default()).to_vec();
        Self { effects: Effects { gains, failures, ..self.effects.clone() }, noise: self.noise.clone() }
    }
}

/// Generates runs, without any time passing.
pub struct SimulatedRunner(Trials);

impl SimulatedRunner {
    /// Returns a program before its first run. Its noise has the inverted seed of the experiment; the orders use the
    /// seed itself.
    pub fn new(simulation: &Simulation, seed: u64) -> Self {
        Self(Trials::new(&simulation.effects, &simulation.noise, !seed))
    }
}

impl Runner for SimulatedRunner {
    fn run(&mut self, arm: &Arm, number: usize, request: TrialRequest) -> Result<Ran, Ended> {
        let repeats = request.repeats.max(1);
        let values: Option<Vec<f64>> = (0..repeats).map(|_| self.0.run(number).x.map(f64::exp)).collect();
        let outcome = values.map_or_else(
            || Outcome::Failed { why: format!("{} failed, as simulated", arm.name), output: String::new() },
            |values| Outcome::Value(values.iter().sum::<f64>() / values.len() as f64),
        );
        // A run takes about a second, whatever its metric is.
        let observed = Observed { wall_s: 1.0, ..Observed::default() };
        Ok(Ran { repeats, outcome, guards: Vec::new(), readings: Vec::new(), observed })
    }

    fn pause(&self, _: Duration) -> Duration {
        Duration::ZERO
    }
}
