//! Course of an experiment, a race between placements or several between numbers of threads, and the state after its
//! trials.

use super::guards::Guards;
use super::measurement::MeasurementCheck;
use super::steps::{retract_sizes, take_back};
use super::{Experiment, Metric, Outcome, Trial, block_of, in_blocks};
use crate::experiment::{
    ArmState, ArmVerdict, Cell, Doubt, GuardStanding, GuardVerdict, OutReason, Policy, Race, Slots, Standing, Threads,
    ThreadsStanding, Verdict,
};

/// Decides the next runs, and evaluates all runs.
#[derive(Clone, Debug)]
pub struct Design {
    question: Question,
    metric: Metric,
    policy: Policy,
    guards: Guards,
    /// Values of the metric.
    values: Vec<f64>,
    /// Check that these measure anything.
    measurement: MeasurementCheck,
    blocks: u32,
    /// After-effects between placements of processes that keep running.
    slots: Option<Slots>,
}

#[derive(Clone, Debug)]
enum Question {
    /// Placements against the operating system's choice.
    Placements(Box<Race>),
    /// Numbers of threads, each left to the operating system or pinned.
    Threads(Box<Threads>),
}

impl Experiment {
    /// Returns the cells of an experiment with numbers of threads; `None` if an arm has none.
    pub fn cells(&self) -> Option<Vec<Cell>> {
        let cell = |arm: &super::Arm| Some(Cell { threads: arm.threads?, pinned: arm.cpus.is_some() });
        self.arms.iter().map(cell).collect::<Option<Vec<Cell>>>().filter(|cells| !cells.is_empty())
    }
}

impl Design {
    /// Creates the design of an experiment after some of its trials.
    pub fn of(experiment: &Experiment, trials: &[Trial]) -> Self {
        let cpus = u32::try_from(experiment.machine.allowed.len()).unwrap_or(u32::MAX);
        let candidates = experiment.arms.len().saturating_sub(1);
        let (workload, policy) = (&experiment.workload, &experiment.policy);
        let question = match experiment.cells() {
            Some(cells) => Question::Threads(Box::new(Threads::new(&cells, cpus, policy))),
            None => Question::Placements(Box::new(Race::new(candidates, policy))),
        };
        let mut design = Self {
            question,
            metric: workload.metric.clone(),
            policy: policy.clone(),
            guards: Guards::new(&workload.guards, candidates, policy),
            values: Vec::new(),
            measurement: MeasurementCheck::new(experiment),
            blocks: 0,
            slots: workload.goes_on().then(Slots::default),
        };
        in_blocks(trials).iter().for_each(|block| design.add(block));
        design
    }

    /// Returns the arms of the next block, as [`Race::next_block`].
    pub fn next_block(&self, seed: u64) -> Vec<usize> {
        match &self.question {
            Question::Placements(race) => race.next_block(seed),
            Question::Threads(threads) => threads.next_block(seed),
        }
    }

    /// Takes the trials of a block into account.
    ///
    /// # Panics
    /// If an arm does not belong to the experiment.
    pub fn add(&mut self, trials: &[&Trial]) {
        let block = block_of(trials, |trial| match trial.outcome {
            Outcome::Value(value) => self.metric.judged(value),
            Outcome::Failed { .. } => None,
        });
        self.blocks += 1;
        self.values.extend(trials.iter().filter_map(|trial| match trial.outcome {
            Outcome::Value(value) => Some(value),
            Outcome::Failed { .. } => None,
        }));
        self.measurement.add(trials);
        match &mut self.question {
            Question::Placements(race) => {
                let is_whole = race.is_whole(&block);
                if is_whole {
                    self.guards.add(trials);
                }
                if let Some(slots) = &mut self.slots {
                    let half = |trial: &Trial, half: usize| self.metric.judged(trial.observed.halves?[half]);
                    let fades = block_of(trials, |trial| Some(half(trial, 0)? - half(trial, 1)?));
                    slots.add(&block, &fades, is_whole);
                }
                race.add(&block);
                let barred: Vec<usize> = race.alive().filter(|&arm| self.guards.is_worse(arm)).collect();
                barred.into_iter().for_each(|arm| race.bar(arm));
            }
            Question::Threads(threads) => threads.add(&block),
        }
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Returns true if more runs would change nothing, or are not allowed.
    pub fn is_decided(&self) -> bool {
        match &self.question {
            Question::Placements(race) => {
                let is_open = |arm: usize| self.guards.verdicts(arm).any(|verdict| verdict == GuardVerdict::Open);
                race.is_over() || race.is_decided() && !race.winner().is_some_and(is_open)
            }
            Question::Threads(threads) => threads.is_decided(),
        }
    }

    /// Returns the arms that may still be run.
    pub fn alive(&self) -> Vec<usize> {
        match &self.question {
            Question::Placements(race) => std::iter::once(0).chain(race.alive()).collect(),
            Question::Threads(threads) => threads.alive(),
        }
    }

    /// Returns the present state; for numbers of threads, the first question's answer, and [`Design::threads`] has the
    /// others.
    pub fn standing(&self) -> Standing {
        match &self.question {
            Question::Placements(race) => self.guarded(race.standing()),
            Question::Threads(threads) => {
                self.of_threads(threads).main().unwrap_or_else(|| Race::new(0, &Policy::default()).standing())
            }
        }
    }

    /// Returns the races between numbers of threads, if these are tried.
    pub fn threads(&self) -> Option<&Threads> {
        match &self.question {
            Question::Placements(_) => None,
            Question::Threads(threads) => Some(threads),
        }
    }

    /// Returns the state of each question about numbers of threads, if these are tried.
    pub fn threads_standing(&self) -> Option<ThreadsStanding> {
        self.threads().map(|threads| self.of_threads(threads))
    }

    fn of_threads(&self, threads: &Threads) -> ThreadsStanding {
        let mut standing = threads.standing();
        // The races between pinned and not share the error rate.
        let error_rate = self.policy.error_rate / standing.pinned.len().max(1) as f64;
        let of_pinned = Policy { error_rate, ..self.policy.clone() };
        if let Some(counts) = &mut standing.counts {
            self.without_coarse(&mut counts.standing, &self.policy);
        }
        for pinned in &mut standing.pinned {
            self.without_coarse(&mut pinned.standing, &of_pinned);
        }
        standing
    }

    /// Retracts results that coarse values cannot prove.
    fn without_coarse(&self, standing: &mut Standing, policy: &Policy) {
        let coarse = take_back(standing, &self.values, policy);
        let measurement = self.measurement.doubt();
        let is_constant = matches!(measurement, Some(Doubt::ConstantMetric { .. }));
        if is_constant {
            retract_sizes(standing, policy);
        }
        standing.checks.doubts.extend(measurement.into_iter().chain(coarse.filter(|_| !is_constant)));
        if !standing.checks.doubts.is_empty() {
            standing.verdict = Verdict::Unsound { why: standing.checks.doubts.clone() };
        }
    }

    /// Returns true if a question is undecided.
    pub fn is_undecided(&self) -> bool {
        let is = |standing: &Standing| matches!(standing.verdict, Verdict::Undecided { .. });
        match self.threads_standing() {
            None => is(&self.standing()),
            Some(threads) => threads.questions().any(is),
        }
    }

    /// Checks guards: a winner needs proof that no guard is worse, and "no difference" needs values fine enough to show
    /// one.
    fn guarded(&self, mut standing: Standing) -> Standing {
        standing.guards = self.guards.standings();
        match standing.verdict {
            Verdict::Wins { arm } if self.guards.verdicts(arm).any(|verdict| verdict == GuardVerdict::Open) => {
                standing.verdict = Verdict::Undecided { more_runs: None };
            }
            Verdict::Undecided { .. } | Verdict::NoMaterialDifference => {
                let doubts = guard_doubts(&standing);
                standing.checks.doubts.extend(doubts);
            }
            _ => {}
        }
        if let Some(left) =
            self.slots.as_ref().and_then(|slots| slots.left_behind(standing.arms.len() - 1, &self.policy))
        {
            standing.checks.doubts.push(Doubt::CarryOver(left));
        }
        self.without_coarse(&mut standing, &self.policy);
        standing
    }
}

/// Returns the worse guards of candidates that would win without them, or of all candidates if there is no other
/// answer; empty while another candidate is tried.
fn guard_doubts(standing: &Standing) -> Vec<Doubt> {
    let is_barred = |arm: usize| matches!(standing.arms[arm].state, ArmState::Out { why: OutReason::GuardWorse, .. });
    let is_open = matches!(standing.verdict, Verdict::Undecided { .. });
    let is_better = |arm: usize| standing.arms[arm].verdict == Some(ArmVerdict::Wins);
    if standing.arms[1..].iter().any(|arm| arm.state == ArmState::Alive) {
        return Vec::new();
    }
    let is_worse = |found: &&GuardStanding| {
        found.verdict == GuardVerdict::Worse && is_barred(found.arm) && (is_open || is_better(found.arm))
    };
    let doubt = |found: &GuardStanding| Doubt::GuardWorse {
        guard: found.guard,
        arm: found.arm,
        estimate: found.effect.map_or(f64::NEG_INFINITY, |effect| effect.estimate).max(-LARGEST),
    };
    standing.guards.iter().filter(is_worse).map(doubt).collect()
}

/// Stands for an infinite ratio, from zero to a value.
const LARGEST: f64 = 1e3;

/// Evaluates the trials of an experiment: the input of a verdict. For numbers of threads it is the first answer;
/// [`super::threads()`] has the others.
pub fn standing(experiment: &Experiment, trials: &[Trial]) -> Standing {
    Design::of(experiment, trials).standing()
}
