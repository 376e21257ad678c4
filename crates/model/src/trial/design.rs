//! Course of an experiment, a race between placements or several between numbers of threads, and the state after its
//! trials.

use super::coarseness::{retract_sizes, take_back};
use super::guards::GuardRecords;
use super::measurement::MeasurementCheck;
use super::open_points::RunSpan;
use super::{Experiment, Trial, TrialMetric, TrialOutcome, block_of, in_blocks};
use corewise_statistics::experiment::{
    ArmState, ArmVerdict, ExperimentDoubt, ExperimentStanding, GuardStanding, GuardVerdict, JudgingPolicy, OutReason,
    PlacementRace, SlotBlocks, ThreadsCell, ThreadsRace, ThreadsStanding, Verdict,
};

/// Decides the next runs, and evaluates all runs.
#[derive(Clone, Debug)]
pub struct TrialDesign {
    question: DesignQuestion,
    metric: TrialMetric,
    policy: JudgingPolicy,
    guards: GuardRecords,
    /// Values of the metric, with their arms.
    values: Vec<(usize, f64)>,
    /// Check that these measure anything.
    measurement: MeasurementCheck,
    blocks: u32,
    /// Time over which the runs are spread.
    span: RunSpan,
    /// After-effects between placements of processes that keep running.
    slots: Option<SlotBlocks>,
}

#[derive(Clone, Debug)]
enum DesignQuestion {
    /// Placements against the operating system's choice.
    Placements(Box<PlacementRace>),
    /// Numbers of threads, each left to the operating system or pinned.
    Threads(Box<ThreadsRace>),
}

impl Experiment {
    /// Returns the cells of an experiment with numbers of threads; `None` if an arm has none.
    pub fn thread_cells(&self) -> Option<Vec<ThreadsCell>> {
        let cell = |arm: &super::PlacementArm| Some(ThreadsCell { threads: arm.threads?, pinned: arm.cpus.is_some() });
        self.arms.iter().map(cell).collect::<Option<Vec<ThreadsCell>>>().filter(|cells| !cells.is_empty())
    }
}

impl TrialDesign {
    /// Creates the design of an experiment after some of its trials.
    pub fn from_trials(experiment: &Experiment, trials: &[Trial]) -> Self {
        let cpus = u32::try_from(experiment.machine.allowed.len()).unwrap_or(u32::MAX);
        let candidates = experiment.arms.len().saturating_sub(1);
        let (workload, policy) = (&experiment.workload, &experiment.policy);
        let question = match experiment.thread_cells() {
            Some(cells) => DesignQuestion::Threads(Box::new(ThreadsRace::new(&cells, cpus, policy))),
            None => DesignQuestion::Placements(Box::new(PlacementRace::new(candidates, policy))),
        };
        let mut design = Self {
            question,
            metric: workload.metric.clone(),
            policy: policy.clone(),
            guards: GuardRecords::new(&workload.guards, candidates, policy),
            values: Vec::new(),
            measurement: MeasurementCheck::new(experiment),
            blocks: 0,
            span: RunSpan::new(experiment.stretch),
            slots: workload.goes_on().then(SlotBlocks::default),
        };
        in_blocks(trials).iter().for_each(|block| design.add_block(block));
        design
    }

    /// Returns the arms of the next block, as [`PlacementRace::next_block`].
    pub fn next_block(&self, seed: u64) -> Vec<usize> {
        match &self.question {
            DesignQuestion::Placements(race) => race.next_block(seed),
            DesignQuestion::Threads(threads) => threads.next_block(seed),
        }
    }

    /// Takes the trials of a block into account.
    ///
    /// # Panics
    /// If an arm does not belong to the experiment.
    pub fn add_block(&mut self, trials: &[&Trial]) {
        let block = block_of(trials, |trial| match trial.outcome {
            TrialOutcome::Value(value) => self.metric.judged_value(value),
            TrialOutcome::Failed { .. } => None,
        });
        self.blocks += 1;
        self.values.extend(trials.iter().filter_map(|trial| match trial.outcome {
            TrialOutcome::Value(value) => Some((trial.arm, value)),
            TrialOutcome::Failed { .. } => None,
        }));
        self.measurement.add_block(trials);
        self.span.add_trials(trials);
        match &mut self.question {
            DesignQuestion::Placements(race) => {
                let is_whole = race.is_whole(&block);
                if is_whole {
                    self.guards.add_block(trials);
                }
                if let Some(slots) = &mut self.slots {
                    let half = |trial: &Trial, half: usize| self.metric.judged_value(trial.observed.halves?[half]);
                    let fades = block_of(trials, |trial| Some(half(trial, 0)? - half(trial, 1)?));
                    slots.add_block(&block, &fades, is_whole);
                }
                race.add_block(&block);
                let barred: Vec<usize> = race.alive_arms().filter(|&arm| self.guards.is_worse(arm)).collect();
                barred.into_iter().for_each(|arm| race.bar_arm(arm));
            }
            DesignQuestion::Threads(threads) => threads.add_block(&block),
        }
    }

    /// Returns the number of blocks.
    pub fn block_count(&self) -> u32 {
        self.blocks
    }

    /// Returns true if more runs would change nothing, or are not allowed.
    pub fn is_decided(&self) -> bool {
        match &self.question {
            DesignQuestion::Placements(race) => {
                race.is_over() || race.is_decided() && race.find_winner().is_none_or(|arm| self.guards.all_pass(arm))
            }
            DesignQuestion::Threads(threads) => threads.is_decided(),
        }
    }

    /// Returns true if nothing more can be run.
    pub fn is_over(&self) -> bool {
        match &self.question {
            DesignQuestion::Placements(race) => race.is_over(),
            DesignQuestion::Threads(threads) => threads.is_decided(),
        }
    }

    /// Returns the arms that may still be run.
    pub fn alive_arms(&self) -> Vec<usize> {
        match &self.question {
            DesignQuestion::Placements(race) => std::iter::once(0).chain(race.alive_arms()).collect(),
            DesignQuestion::Threads(threads) => threads.alive_cells(),
        }
    }

    /// Returns the present state; for numbers of threads, the first question's answer, and [`TrialDesign::threads_race`] has the
    /// others.
    pub fn current_standing(&self) -> ExperimentStanding {
        match &self.question {
            DesignQuestion::Placements(race) => self.guard_standing(race.current_standing()),
            DesignQuestion::Threads(threads) => self
                .of_threads(threads)
                .main()
                .unwrap_or_else(|| PlacementRace::new(0, &JudgingPolicy::default()).current_standing()),
        }
    }

    /// Returns the noise of a block's gain, as [`PlacementRace::measure_gain_noise`]; `None` for numbers of threads.
    pub fn measure_gain_noise(&self) -> Option<f64> {
        match &self.question {
            DesignQuestion::Placements(race) => race.measure_gain_noise(),
            DesignQuestion::Threads(_) => None,
        }
    }

    /// Returns the races between numbers of threads, if these are tried.
    pub fn threads_race(&self) -> Option<&ThreadsRace> {
        match &self.question {
            DesignQuestion::Placements(_) => None,
            DesignQuestion::Threads(threads) => Some(threads),
        }
    }

    /// Returns the state of each question about numbers of threads, if these are tried.
    pub fn threads_standing(&self) -> Option<ThreadsStanding> {
        self.threads_race().map(|threads| self.of_threads(threads))
    }

    fn of_threads(&self, threads: &ThreadsRace) -> ThreadsStanding {
        let mut standing = threads.current_standing();
        // The races between pinned and not share the error rate.
        let error_rate = self.policy.error_rate / standing.pinned.len().max(1) as f64;
        let of_pinned = JudgingPolicy { error_rate, ..self.policy.clone() };
        if let Some(counts) = &mut standing.counts {
            self.without_coarse(&mut counts.standing, &self.policy);
        }
        for pinned in &mut standing.pinned {
            self.without_coarse(&mut pinned.standing, &of_pinned);
        }
        let carry_over = &standing.checks.carry_over;
        let counts = standing.counts.iter_mut().map(|counts| &mut counts.standing);
        for question in counts.chain(standing.pinned.iter_mut().map(|pinned| &mut pinned.standing)) {
            question.open_points = self.span.list_open_points(question, carry_over, &self.policy);
        }
        standing
    }

    /// Retracts results that coarse values cannot prove.
    fn without_coarse(&self, standing: &mut ExperimentStanding, policy: &JudgingPolicy) {
        let coarse = take_back(standing, &self.values, policy);
        let measurement = self.measurement.find_doubt();
        let is_constant = matches!(measurement, Some(ExperimentDoubt::ConstantMetric { .. }));
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
        let is = |standing: &ExperimentStanding| standing.verdict.is_open();
        match self.threads_standing() {
            None => is(&self.current_standing()),
            Some(threads) => threads.question_standings().any(is),
        }
    }

    /// Checks guards: a winner needs proof that no guard is worse, and "no difference" needs values fine enough to show
    /// one.
    fn guard_standing(&self, mut standing: ExperimentStanding) -> ExperimentStanding {
        standing.guards = self.guards.guard_standings();
        match standing.verdict {
            Verdict::Wins { arm } | Verdict::Better { arm, .. } if !self.guards.all_pass(arm) => {
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
            standing.checks.doubts.push(ExperimentDoubt::CarryOver(left));
        }
        self.without_coarse(&mut standing, &self.policy);
        standing.open_points = self.span.list_open_points(&standing, &standing.checks.carry_over, &self.policy);
        standing
    }
}

/// Returns the worse guards of candidates that would win without them, or of all candidates if there is no other
/// answer; empty while another candidate is tried.
fn guard_doubts(standing: &ExperimentStanding) -> Vec<ExperimentDoubt> {
    let is_barred = |arm: usize| matches!(standing.arms[arm].state, ArmState::Out { why: OutReason::GuardWorse, .. });
    let is_open = matches!(standing.verdict, Verdict::Undecided { .. });
    let is_better = |arm: usize| {
        matches!(standing.arms[arm].verdict, Some(ArmVerdict::Wins | ArmVerdict::Better | ArmVerdict::FailsMore))
    };
    if standing.arms[1..].iter().any(|arm| arm.state == ArmState::Alive) {
        return Vec::new();
    }
    let is_worse = |found: &&GuardStanding| {
        found.verdict == GuardVerdict::Worse && is_barred(found.arm) && (is_open || is_better(found.arm))
    };
    let doubt = |found: &GuardStanding| {
        let answer = found.answers.iter().find(|answer| answer.verdict == GuardVerdict::Worse)?;
        let estimate = answer.effect.map_or(f64::NEG_INFINITY, |effect| effect.estimate).max(-LARGEST);
        Some(ExperimentDoubt::GuardWorse { guard: found.guard, arm: found.arm, what: answer.what, estimate })
    };
    standing.guards.iter().filter(is_worse).filter_map(doubt).collect()
}

/// Stands for an infinite ratio, from zero to a value.
const LARGEST: f64 = 1e3;

/// Evaluates the trials of an experiment: the input of a verdict. For numbers of threads it is the first answer;
/// [`super::threads_race()`] has the others.
pub fn experiment_standing(experiment: &Experiment, trials: &[Trial]) -> ExperimentStanding {
    TrialDesign::from_trials(experiment, trials).current_standing()
}
