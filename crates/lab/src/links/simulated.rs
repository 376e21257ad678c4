//! Recorded matrices that simulate a machine: visits have its costs, recorded noise, and simulated durations.

use std::time::Duration;

use corewise_machine::Gap;
use corewise_machine::random::RandomGenerator;
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::clock::ClockRecord;
use corewise_model::links::CostMatrix;
use corewise_statistics::order::median;

use super::{LinkVisitOutcome, PairVisitor, VisitOrder, VisitedPair};

/// Samples in a visit's median.
const SAMPLES: usize = 10;

/// Duration of a visit on the simulated machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeModel {
    /// Round trips of a visit, all samples of all lines.
    pub round_trips: f64,
    /// Other time of a visit.
    pub besides: Duration,
}

impl Default for TimeModel {
    /// Returns the duration of the probe's visits: twelve lines of five samples of 100 round trips, and two threads.
    fn default() -> Self {
        Self { round_trips: 6_000.0, besides: Duration::from_micros(400) }
    }
}

/// Machine that is a matrix.
#[derive(Debug)]
pub struct SimulatedLinks {
    matrix: CostMatrix,
    /// Recorded samples of pairs, relative to the median of the pair.
    noise: Vec<Vec<f64>>,
    random: RandomGenerator,
    time: TimeModel,
    elapsed: Duration,
    /// Relative rise in cost for each other visit at the same time.
    contention: f64,
    file: String,
}

impl SimulatedLinks {
    /// Returns a machine with the costs of a matrix and the noise of recorded samples, each pair's in order of time.
    /// Without samples, there is no noise.
    pub fn new(file: impl Into<String>, matrix: CostMatrix, samples: &[Vec<f64>], seed: u64) -> Self {
        let relative = |pair: &Vec<f64>| {
            let middle = median(pair);
            pair.iter().map(|sample| sample / middle).collect()
        };
        let noise = samples.iter().filter(|pair| pair.len() >= SAMPLES).map(relative).collect();
        let random = RandomGenerator::new(seed.rotate_left(17));
        let (time, file) = (TimeModel::default(), file.into());
        Self { matrix, noise, random, time, elapsed: Duration::ZERO, contention: 0.0, file }
    }

    /// Sets the duration of visits.
    #[must_use]
    pub fn with_time(mut self, time: TimeModel) -> Self {
        self.time = time;
        self
    }

    /// Returns the true costs.
    pub fn true_costs(&self) -> &CostMatrix {
        &self.matrix
    }

    /// Makes visits at the same time disturb each other: each raises the others' costs by this share.
    #[must_use]
    pub fn with_contention(mut self, share: f64) -> Self {
        self.contention = share;
        self
    }

    /// Returns the median of consecutive samples of a random recorded pair.
    fn draw_disturbance(&mut self) -> f64 {
        if self.noise.is_empty() {
            return 1.0;
        }
        let pair = &self.noise[self.random.next_below(self.noise.len())];
        let from = self.random.next_below(pair.len() - SAMPLES + 1);
        median(&pair[from..from + SAMPLES])
    }

    fn visit_cost(&self, visit: &VisitOrder) -> Option<f64> {
        let (first, second) = (self.matrix.place_of(visit.first)?, self.matrix.place_of(visit.second)?);
        let way = self.matrix.one_way_cost(first, second);
        Some(if way.is_nan() { self.matrix.pair_cost(first, second) } else { way }).filter(|cost| cost.is_finite())
    }
}

impl PairVisitor for SimulatedLinks {
    fn visit_pairs(&mut self, visits: &[VisitOrder]) -> Vec<LinkVisitOutcome> {
        let dearer = 1.0 + self.contention * (visits.len().saturating_sub(1)) as f64;
        let mut longest = 0.0_f64;
        let outcomes = visits
            .iter()
            .map(|visit| match self.visit_cost(visit) {
                Some(cost) => {
                    longest = longest.max(cost * dearer);
                    let cost_ns = cost * dearer * self.draw_disturbance();
                    LinkVisitOutcome::Visited(VisitedPair { cost_ns, ..VisitedPair::default() })
                }
                None => {
                    let what = format!("link between cpus {} and {}", visit.first, visit.second);
                    LinkVisitOutcome::Failed(Gap::new(what, "the matrix has no cost for it"))
                }
            })
            .collect();
        let talking = Duration::from_nanos((longest * 2.0 * self.time.round_trips) as u64);
        self.elapsed += self.time.besides + talking;
        outcomes
    }

    fn simulated_elapsed(&self) -> Option<Duration> {
        Some(self.elapsed)
    }

    fn pairs_at_once(&self) -> usize {
        self.matrix.len() / 2
    }

    fn timing_clock(&self) -> Option<ClockRecord> {
        None
    }

    fn map_origin(&self) -> ArtifactOrigin {
        ArtifactOrigin::Simulated { file: self.file.clone() }
    }
}
