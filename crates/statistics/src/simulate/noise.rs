//! Disturbance of a program's runs on a simulated machine.

use corewise_machine::random::RandomGenerator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Disturbance of consecutive runs, as the logarithm of each slowdown.
///
/// All but the trace have white noise, autoregressive noise (0.9 from run to run) and outliers: 5 % of the runs are
/// slower by an exponential of 20 % in the mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunNoise {
    /// White 0.5 %, autoregressive 0.3 %, outliers 1 % of the runs.
    Quiet,
    /// White 1.5 %, autoregressive 1.5 %.
    Typical,
    /// As typical, and 40 % of the runs are slower by 6 %.
    Bimodal,
    /// Slower by 6 % or not; that changes before 6 % of the runs.
    Sticky,
    /// The first runs are 8 % faster, and it wears off over 15 runs.
    Thermal,
    /// Slower by 10 % for 8 to 58 runs somewhere in the first 100.
    Step,
    /// A random walk of 0.6 % a run.
    Walk,
    /// Slower, or faster, by 0.3 % with every run.
    Linear,
    /// Measured values, replayed from a random start in a loop.
    Trace(Vec<f64>),
}

impl RunNoise {
    /// All kinds that need no measured values.
    pub const ALL: [Self; 8] =
        [Self::Quiet, Self::Typical, Self::Bimodal, Self::Sticky, Self::Thermal, Self::Step, Self::Walk, Self::Linear];

    /// Returns its name.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Typical => "typical",
            Self::Bimodal => "bimodal",
            Self::Sticky => "sticky",
            Self::Thermal => "thermal",
            Self::Step => "step",
            Self::Walk => "walk",
            Self::Linear => "linear",
            Self::Trace(_) => "trace",
        }
    }

    /// Returns the standard deviations of the white and of the autoregressive noise, and the share of outliers.
    const fn base_noise(&self) -> (f64, f64, f64) {
        match self {
            Self::Quiet => (0.005, 0.003, 0.01),
            Self::Typical | Self::Bimodal => (0.015, 0.015, 0.05),
            Self::Trace(_) => (0.0, 0.0, 0.0),
            _ => (0.012, 0.012, 0.05),
        }
    }
}

/// Share of the autoregressive noise that is left after a run.
const MEMORY: f64 = 0.9;
/// The mean of an outlier.
const OUTLIER: f64 = 0.2;

/// The state of a disturbed machine between two runs.
#[derive(Clone, Debug)]
pub struct RunDisturbance {
    noise: RunNoise,
    random: RandomGenerator,
    runs: usize,
    memory: f64,
    level: f64,
    /// Drawn once: the start of a trace, the begin and end of a step, the direction of a line.
    start: usize,
    end: usize,
    slope: f64,
}

impl RunDisturbance {
    /// Creates a machine before its first run.
    pub fn new(noise: &RunNoise, seed: u64) -> Self {
        let mut random = RandomGenerator::new(seed);
        let (_, remembering, _) = noise.base_noise();
        let memory = remembering * random.next_normal();
        let start = random.next_below(match noise {
            RunNoise::Trace(values) => values.len().max(1),
            _ => 100,
        });
        let end = start + 8 + random.next_below(51);
        let slope = if random.next_below(2) == 0 { 0.003 } else { -0.003 };
        Self { noise: noise.clone(), random, runs: 0, memory, level: 0.0, start, end, slope }
    }

    /// Returns the logarithm of the next run's slowdown.
    pub fn next_run(&mut self) -> f64 {
        let special = self.special_noise();
        self.runs += 1;
        let (white, remembering, outliers) = self.noise.base_noise();
        let kept = (1.0 - MEMORY * MEMORY).sqrt();
        self.memory = MEMORY * self.memory + kept * remembering * self.random.next_normal();
        let struck = self.random.next_unit() < outliers;
        let outlier = if struck { -OUTLIER * (1.0 - self.random.next_unit()).ln() } else { 0.0 };
        special + self.memory + white * self.random.next_normal() + (1.0 + outlier).ln()
    }

    /// Returns the part specific to this kind of noise.
    fn special_noise(&mut self) -> f64 {
        match &self.noise {
            RunNoise::Quiet | RunNoise::Typical => 0.0,
            RunNoise::Bimodal => 0.06 * f64::from(u8::from(self.random.next_unit() < 0.4)),
            RunNoise::Sticky => {
                if self.random.next_unit() < 0.06 {
                    self.level = 0.06 - self.level;
                }
                self.level
            }
            RunNoise::Thermal => -0.08 * (-(self.runs as f64) / 15.0).exp(),
            RunNoise::Step => 0.1 * f64::from(u8::from((self.start..self.end).contains(&self.runs))),
            RunNoise::Walk => {
                self.level += 0.006 * self.random.next_normal();
                self.level
            }
            RunNoise::Linear => self.slope * self.runs as f64,
            RunNoise::Trace(values) if values.is_empty() => 0.0,
            RunNoise::Trace(values) => values[(self.start + self.runs) % values.len()],
        }
    }
}
