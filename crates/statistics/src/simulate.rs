//! Experiments on a simulated machine with known effects.

pub mod noise;

use corewise_machine::random::RandomGenerator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::{BlockRun, ExperimentStanding, JudgingPolicy, PlacementRace, RunBlock};
use noise::{RunDisturbance, RunNoise};

/// Separates the draw of a session's luck from that of its noise.
const SEED_OF_LUCK: u64 = 0x5e55_1011;

/// True effects of placements on a simulated program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramEffects {
    /// Advantage of each candidate over the baseline: a difference of logarithms, positive is better.
    pub gains: Vec<f64>,
    /// Slowdown of a run that follows a candidate.
    #[serde(default)]
    pub carry_over: f64,
    /// Share of that left after another run, from 0 to 1: with 0.8 it adds up to five times as much if a candidate runs
    /// repeatedly.
    #[serde(default)]
    pub carry_over_left: f64,
    /// The runs that suffer from it.
    #[serde(default)]
    pub carry_over_hits: CarryOverVictims,
    /// Standard deviation of a candidate's luck in a session: the part of its gain that is drawn anew for each experiment.
    #[serde(default)]
    pub session_luck: f64,
    /// The probability that a run fails, by arm, the baseline first; arms beyond its end do not fail.
    #[serde(default)]
    pub failures: Vec<f64>,
}

/// The runs that suffer from a carry-over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CarryOverVictims {
    /// All runs.
    #[default]
    All,
    /// The baseline's alone, as if a mask of the candidates outlived them.
    Baseline,
}

impl ProgramEffects {
    /// Creates candidates with these gains, without carry-over and failures.
    pub fn from_gains(gains: &[f64]) -> Self {
        Self { gains: gains.to_vec(), ..Self::default() }
    }

    /// Returns the effects with one of the candidates alone.
    #[must_use]
    pub fn with_candidate(&self, candidate: usize) -> Self {
        let gains = self.gains.get(candidate - 1).copied().into_iter().collect();
        let failures = [0, candidate].map(|arm| self.failures.get(arm).copied().unwrap_or_default()).to_vec();
        Self { gains, failures, ..self.clone() }
    }
}

/// A simulated program on a simulated machine: it makes one run after the other.
#[derive(Clone, Debug)]
pub struct SimulatedTrials {
    effects: ProgramEffects,
    disturbance: RunDisturbance,
    random: RandomGenerator,
    carried: f64,
}

impl SimulatedTrials {
    /// Creates a program before its first run.
    pub fn new(effects: &ProgramEffects, noise: &RunNoise, seed: u64) -> Self {
        let mut random = RandomGenerator::new(seed);
        let disturbance = RunDisturbance::new(noise, random.next_bits());
        let mut luck = RandomGenerator::new(seed ^ SEED_OF_LUCK);
        let mut effects = effects.clone();
        effects.gains.iter_mut().for_each(|gain| *gain += effects.session_luck * luck.next_normal());
        Self { effects, disturbance, random, carried: 0.0 }
    }

    /// Runs the program once under an arm's placement.
    pub fn run(&mut self, arm: usize) -> BlockRun {
        let gain = if arm == 0 { 0.0 } else { self.effects.gains[arm - 1] };
        let is_hit = arm == 0 || self.effects.carry_over_hits == CarryOverVictims::All;
        let x = self.disturbance.next_run() + if is_hit { self.carried } else { 0.0 } - gain;
        let left = self.effects.carry_over_left.clamp(0.0, 1.0) * self.carried;
        self.carried = left + if arm > 0 { self.effects.carry_over } else { 0.0 };
        let fails = self.effects.failures.get(arm).is_some_and(|share| self.random.next_unit() < *share);
        BlockRun { arm, x: (!fails).then_some(x) }
    }

    /// Makes the runs of a block.
    pub fn make_block(&mut self, arms: &[usize]) -> RunBlock {
        RunBlock { runs: arms.iter().map(|&arm| self.run(arm)).collect() }
    }
}

/// Simulates a whole experiment, from the first block until it is decided; the same seed gives the same one. The orders
/// come from the seed itself, as in a real experiment, the noise from a seed derived from it.
pub fn run_experiment(
    effects: &ProgramEffects,
    noise: &RunNoise,
    seed: u64,
    policy: &JudgingPolicy,
) -> ExperimentStanding {
    let mut trials = SimulatedTrials::new(effects, noise, !seed);
    let mut race = PlacementRace::new(effects.gains.len(), policy);
    while !race.is_decided() {
        race.add_block(&trials.make_block(&race.next_block(seed)));
    }
    race.current_standing()
}
