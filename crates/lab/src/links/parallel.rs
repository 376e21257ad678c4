//! Check that pairs without common cores can be visited at the same time: only if that does not raise their costs.

use corewise_machine::random::RandomGenerator;
use corewise_model::links::map::ParallelCheck;
use corewise_model::links::structure::CpuStructure;
use corewise_statistics::order::{median, median_interval, value_range};

use super::LinkVisitOutcome;

/// Minimum number of pairs at the same time that is worth checking.
pub(super) const WORTH_IT: usize = 4;
/// Maximum number of pairs at the same time; more would hardly save time.
pub(super) const AT_A_TIME: usize = 16;
/// Visits of each pair, alone and with the others.
pub(super) const ROUNDS: usize = 4;
/// Maximum difference between costs together and alone.
const ALIKE: f64 = 0.03;
/// Confidence of the interval.
const CONFIDENCE: f64 = 0.95;

/// Returns random pairs of cpus without common cores.
pub(super) fn disjoint_pairs(structure: &CpuStructure, pairs: usize, random: &mut RandomGenerator) -> Vec<(u32, u32)> {
    let mut cores: Vec<usize> = (0..structure.cores.len()).collect();
    random.shuffle(&mut cores);
    let cpu = |core: usize| structure.cpus[structure.cores[core][0]];
    cores.chunks_exact(2).take(pairs).map(|two| (cpu(two[0]), cpu(two[1]))).collect()
}

/// Costs of the same pairs alone and together.
pub(super) struct ParallelCosts {
    alone: Vec<Vec<f64>>,
    together: Vec<Vec<f64>>,
    has_failed: bool,
}

impl ParallelCosts {
    pub(super) fn new(pairs: usize) -> Self {
        Self { alone: vec![Vec::new(); pairs], together: vec![Vec::new(); pairs], has_failed: false }
    }

    pub(super) fn add_alone(&mut self, place: usize, outcomes: &[LinkVisitOutcome]) {
        self.alone[place].extend(outcomes.iter().filter_map(visit_cost));
        self.has_failed |=
            outcomes.iter().any(|outcome| matches!(outcome, LinkVisitOutcome::Busy(_) | LinkVisitOutcome::Failed(_)));
    }

    /// Returns true if a pair could not be visited.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    pub(super) fn add_together(&mut self, outcomes: &[LinkVisitOutcome]) {
        for (costs, outcome) in self.together.iter_mut().zip(outcomes) {
            costs.extend(visit_cost(outcome));
        }
    }

    /// Allows all at the same time if the whole interval shows no effect, otherwise one by one; `None` if there are
    /// too few pairs.
    pub(super) fn judge_costs(&self) -> Option<ParallelCheck> {
        let ratios: Vec<f64> =
            self.alone.iter().zip(&self.together).map(|(alone, together)| median(together) / median(alone)).collect();
        let ratios: Vec<f64> = ratios.into_iter().filter(|ratio| ratio.is_finite()).collect();
        let pairs = ratios.len() as u32;
        // Fewer than six pairs have no 95 % interval; their range has to do.
        let interval = median_interval(&ratios, CONFIDENCE).unwrap_or_else(|| value_range(&ratios));
        let alike = interval.0 >= 1.0 - ALIKE && interval.1 <= 1.0 + ALIKE;
        (ratios.len() >= WORTH_IT).then(|| ParallelCheck {
            at_a_time: if alike { pairs } else { 1 },
            pairs,
            ratio: median(&ratios),
            interval,
        })
    }
}

fn visit_cost(outcome: &LinkVisitOutcome) -> Option<f64> {
    match outcome {
        LinkVisitOutcome::Visited(visited) => Some(visited.cost_ns),
        LinkVisitOutcome::Stopped | LinkVisitOutcome::Busy(_) | LinkVisitOutcome::Failed(_) => None,
    }
}
