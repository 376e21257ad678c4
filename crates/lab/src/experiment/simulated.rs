//! Simulated programs: their runs are generated from a known truth, so that anyone can check the verdicts.

use std::time::Duration;

use corewise_model::trial::{PlacementArm, TrialObservations, TrialOutcome};
use corewise_statistics::simulate::noise::RunNoise;
use corewise_statistics::simulate::{ProgramEffects, SimulatedTrials};
use serde::Deserialize;

use super::{RunnerEnd, TrialRequest, TrialResult, TrialRunner};

/// Truth about a simulated program, and the noise of its machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SimulatedTruth {
    /// Effects of its placements.
    #[serde(flatten)]
    pub effects: ProgramEffects,
    /// Noise of its machine.
    pub noise: RunNoise,
}

impl SimulatedTruth {
    /// Returns the simulation with one of its candidates alone.
    pub fn with_candidate(&self, candidate: usize) -> Self {
        Self { effects: self.effects.with_candidate(candidate), noise: self.noise.clone() }
    }
}

/// Generates runs, without any time passing.
pub struct SimulatedRunner(SimulatedTrials);

impl SimulatedRunner {
    /// Returns a program before its first run. Its noise has the inverted seed of the experiment; the orders use the
    /// seed itself.
    pub fn new(simulation: &SimulatedTruth, seed: u64) -> Self {
        Self(SimulatedTrials::new(&simulation.effects, &simulation.noise, !seed))
    }
}

impl TrialRunner for SimulatedRunner {
    fn run(&mut self, arm: &PlacementArm, number: usize, request: TrialRequest) -> Result<TrialResult, RunnerEnd> {
        let repeats = request.repeats.max(1);
        let values: Option<Vec<f64>> = (0..repeats).map(|_| self.0.run(number).x.map(f64::exp)).collect();
        let outcome = values.map_or_else(
            || TrialOutcome::Failed { why: format!("{} failed, as simulated", arm.name), output: String::new() },
            |values| TrialOutcome::Value(values.iter().sum::<f64>() / values.len() as f64),
        );
        // A run takes about a second, whatever its metric is.
        let observed = TrialObservations { wall_s: 1.0, ..TrialObservations::default() };
        Ok(TrialResult { repeats, outcome, guards: Vec::new(), readings: Vec::new(), observed })
    }

    fn pause_before(&self, _: Duration) -> Duration {
        Duration::ZERO
    }
}
