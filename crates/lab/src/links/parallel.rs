//! Whether pairs that have no core in common may be visited at a time: only if that costs them nothing.

use corewise_machine::random::Random;
use corewise_model::links::map::Parallel;
use corewise_model::links::structure::Structure;
use corewise_model::stats::order::{median, median_interval, range};

use super::Outcome;

/// Fewer pairs at a time are not worth the look.
pub(super) const WORTH_IT: usize = 4;
/// More pairs at a time spare no time that would matter.
pub(super) const AT_A_TIME: usize = 16;
/// Visits of each pair, alone and with the others.
pub(super) const ROUNDS: usize = 4;
/// Together costs within this of alone.
const ALIKE: f64 = 0.03;
/// The confidence of the interval.
const CONFIDENCE: f64 = 0.95;

/// Pairs of cpus without a core in common, at random.
pub(super) fn disjoint_pairs(structure: &Structure, pairs: usize, random: &mut Random) -> Vec<(u32, u32)> {
    let mut cores: Vec<usize> = (0..structure.cores.len()).collect();
    random.shuffle(&mut cores);
    let cpu = |core: usize| structure.cpus[structure.cores[core][0]];
    cores.chunks_exact(2).take(pairs).map(|two| (cpu(two[0]), cpu(two[1]))).collect()
}

/// Costs of the same pairs alone and together.
pub(super) struct Looks {
    alone: Vec<Vec<f64>>,
    together: Vec<Vec<f64>>,
    has_failed: bool,
}

impl Looks {
    pub(super) fn new(pairs: usize) -> Self {
        Self { alone: vec![Vec::new(); pairs], together: vec![Vec::new(); pairs], has_failed: false }
    }

    pub(super) fn alone(&mut self, place: usize, outcomes: &[Outcome]) {
        self.alone[place].extend(outcomes.iter().filter_map(cost));
        self.has_failed |= outcomes.iter().any(|outcome| matches!(outcome, Outcome::Busy(_) | Outcome::Failed(_)));
    }

    /// Whether a pair could not be visited.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    pub(super) fn together(&mut self, outcomes: &[Outcome]) {
        for (costs, outcome) in self.together.iter_mut().zip(outcomes) {
            costs.extend(cost(outcome));
        }
    }

    /// All at a time where the whole interval says that it costs nothing, otherwise one by one; absent where too little was seen.
    pub(super) fn verdict(&self) -> Option<Parallel> {
        let ratios: Vec<f64> =
            self.alone.iter().zip(&self.together).map(|(alone, together)| median(together) / median(alone)).collect();
        let ratios: Vec<f64> = ratios.into_iter().filter(|ratio| ratio.is_finite()).collect();
        let pairs = ratios.len() as u32;
        // Fewer than six pairs have no 95 % interval; the range of all of them has to do.
        let interval = median_interval(&ratios, CONFIDENCE).unwrap_or_else(|| range(&ratios));
        let alike = interval.0 >= 1.0 - ALIKE && interval.1 <= 1.0 + ALIKE;
        (ratios.len() >= WORTH_IT).then(|| Parallel {
            at_a_time: if alike { pairs } else { 1 },
            pairs,
            ratio: median(&ratios),
            interval,
        })
    }
}

fn cost(outcome: &Outcome) -> Option<f64> {
    match outcome {
        Outcome::Visited(visited) => Some(visited.cost_ns),
        Outcome::Stopped | Outcome::Busy(_) | Outcome::Failed(_) => None,
    }
}
