//! How an experiment is made, a race between placements or several between numbers of threads, and what its trials show.

use super::{Experiment, Trial, blocks, guard_blocks};
use crate::experiment::{ArmState, Block, Cell, Doubt, Evidence, Outcome, Policy, Race, Standing, Threads, Verdict};
use crate::stats::order::median;

/// What says which runs come next, and what the runs so far show.
#[derive(Clone, Debug)]
pub enum Design {
    /// Placements against the operating system's choice.
    Placements(Box<Race>),
    /// Numbers of threads, each left to the operating system or pinned.
    Threads(Box<Threads>),
}

impl Experiment {
    /// The cells of an experiment with numbers of threads; absent where an arm has none.
    pub fn cells(&self) -> Option<Vec<Cell>> {
        let cell = |arm: &super::Arm| Some(Cell { threads: arm.threads?, pinned: arm.cpus.is_some() });
        self.arms.iter().map(cell).collect::<Option<Vec<Cell>>>().filter(|cells| !cells.is_empty())
    }
}

impl Design {
    /// The design of an experiment before its first block.
    pub fn of(experiment: &Experiment) -> Self {
        let cpus = u32::try_from(experiment.machine.allowed.len()).unwrap_or(u32::MAX);
        match experiment.cells() {
            Some(cells) => Self::Threads(Box::new(Threads::new(&cells, cpus, &experiment.policy))),
            None => {
                let candidates = experiment.arms.len().saturating_sub(1);
                Self::Placements(Box::new(Race::new(candidates, &experiment.policy)))
            }
        }
    }

    /// The arms of the next block, as [`Race::next_block`].
    pub fn next_block(&self, seed: u64) -> Vec<usize> {
        match self {
            Self::Placements(race) => race.next_block(seed),
            Self::Threads(threads) => threads.next_block(seed),
        }
    }

    /// Takes a block into account.
    ///
    /// # Panics
    /// When an arm is not one of the experiment's.
    pub fn add(&mut self, block: &Block) {
        match self {
            Self::Placements(race) => race.add(block),
            Self::Threads(threads) => threads.add(block),
        }
    }

    /// Whether more runs would change nothing, or are not allowed.
    pub fn is_decided(&self) -> bool {
        match self {
            Self::Placements(race) => race.is_decided(),
            Self::Threads(threads) => threads.is_decided(),
        }
    }

    /// The arms that may still be run.
    pub fn alive(&self) -> Vec<usize> {
        match self {
            Self::Placements(race) => {
                let arms = race.standing().arms;
                arms.iter().filter(|arm| arm.state == ArmState::Alive).map(|arm| arm.arm).collect()
            }
            Self::Threads(threads) => threads.alive(),
        }
    }

    /// What the blocks show so far; of numbers of threads, the first question's answer.
    pub fn standing(&self) -> Standing {
        match self {
            Self::Placements(race) => race.standing(),
            Self::Threads(threads) => {
                threads.standing().main().unwrap_or_else(|| Race::new(0, &Default::default()).standing())
            }
        }
    }

    /// Whether a question is not decided.
    pub fn is_undecided(&self) -> bool {
        let is = |standing: &Standing| matches!(standing.verdict, Verdict::Undecided { .. });
        match self {
            Self::Placements(race) => is(&race.standing()),
            Self::Threads(threads) => threads.standing().questions().any(is),
        }
    }
}

/// What the trials of an experiment show: all that a verdict is made of. Of numbers of threads it is the first answer;
/// [`super::threads()`] has the others.
///
/// A winner that makes a guard worse by the margin or more, proven at the error rate, is not recommended.
pub fn standing(experiment: &Experiment, trials: &[Trial]) -> Standing {
    let Experiment { workload, policy, .. } = experiment;
    let mut design = Design::of(experiment);
    blocks(trials, &workload.metric).iter().for_each(|block| design.add(block));
    let mut standing = design.standing();
    let Verdict::Wins { arm } = standing.verdict else { return standing };
    for guard in 0..workload.guards.len() {
        let blocks = guard_blocks(trials, &workload.guards, guard);
        if let Some(estimate) = worsening(&blocks, arm, policy) {
            standing.checks.doubts.push(Doubt::GuardWorse { guard, arm, estimate });
        }
    }
    if !standing.checks.doubts.is_empty() {
        standing.verdict = Verdict::Unsound { why: standing.checks.doubts.clone() };
    }
    standing
}

/// By how much an arm makes a guard worse than the baseline, a difference of logarithms, where that is proven at the error
/// rate and its median reaches the margin.
fn worsening(blocks: &[Block], arm: usize, policy: &Policy) -> Option<f64> {
    let mut evidence = Evidence::new(0.0);
    let (mut strongest, mut gains) = (0.0_f64, Vec::new());
    for block in blocks {
        let of = |wanted: usize| block.runs.iter().filter(move |run| run.arm == wanted).map(|run| run.x);
        let (Some(candidate), baselines) = (of(arm).next(), of(0).collect::<Vec<_>>()) else { continue };
        if baselines.is_empty() {
            continue;
        }
        evidence.add(&Outcome::new(candidate, &baselines));
        strongest = strongest.max(evidence.below().now());
        let known: Vec<f64> = baselines.iter().copied().flatten().collect();
        gains.extend(candidate.filter(|_| !known.is_empty()).map(|x| median(&known) - x));
    }
    let estimate = (!gains.is_empty()).then(|| median(&gains))?;
    (strongest >= 1.0 / policy.error_rate && estimate <= -policy.margin_ln()).then_some(estimate)
}
