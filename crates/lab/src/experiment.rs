//! Experiments: run a workload on its placements, block by block, until the verdict is clear or the time is up.

mod builder;
mod candidates;
mod choice;
mod context;
mod energy;
mod error;
pub mod live;
pub mod parts;
pub mod process;
pub mod simulated;
mod subject;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use corewise_machine::Machine;
use corewise_model::experiment::{ArmStanding, ArmState, JudgingPolicy, QuestionKind};
use corewise_model::sample::MetricReading;
use corewise_model::trial::{
    Experiment, LONGEST_TRIAL, PlacementArm, Trial, TrialDesign, TrialObservations, TrialOutcome, TriedWorkload,
    UnitLedger, revise_repeats, usual_rest,
};
use corewise_sys::process::boot_id;

use crate::session::{SessionBudget, seed_from_clock, unix_ms};
pub use builder::ExperimentBuilder;
pub use candidates::{
    CandidateNote, CandidatePlanner, CandidateRequest, ExperimentKnowledge, ThreadCounts, ThreadPinning,
    refuse_memory_of_others,
};
pub use choice::PlacementChoice;
pub use context::{ExperimentContext, NoKnowledge, PreparationEvent};
pub use error::ExperimentError;
pub use subject::{
    ClosureSubject, CommandSubject, ExperimentSubject, ProcessesSubject, ServicesSubject, SimulatedSubject,
    ThreadsSubject,
};

/// Maximum number of blocks in a session of typical runs; an undecided experiment can be continued.
const MOST_BLOCKS: u32 = 60;
/// Maximum number of blocks for means and slow runs, which need more.
const MOST_BLOCKS_OF_RARE: u32 = 200;
/// Maximum number of blocks for slots, which are short and start no process.
const MOST_BLOCKS_OF_SLOTS: u32 = 1_000;
/// Usual budget of a session with running processes, since it disturbs their users.
const BUDGET_OF_SLOTS: Duration = Duration::from_mins(10);
/// Interval at which a pause checks for a stop.
const PAUSE_STEP: Duration = Duration::from_millis(20);

/// Returns an experiment that begins now. Without a seed, it is taken from the clock.
pub fn create_experiment(
    corewise: &str,
    machine: Machine,
    workload: TriedWorkload,
    arms: Vec<PlacementArm>,
    policy: JudgingPolicy,
    seed: Option<u64>,
) -> Experiment {
    Experiment {
        corewise: corewise.to_owned(),
        started_unix_ms: unix_ms(),
        seed: seed.unwrap_or_else(seed_from_clock),
        machine,
        workload,
        arms,
        policy,
        suite: None,
        stretch: None,
        imported: None,
    }
}

/// Experiment with its present trials.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenExperiment {
    /// The experiment.
    pub experiment: Experiment,
    /// Its trials.
    pub trials: Vec<Trial>,
    /// Number in the store; `None` if it is not stored.
    pub stored: Option<i64>,
}

impl OpenExperiment {
    /// Continues until it is decided or a limit is reached, as [`conduct_experiment`]. Returns all trials, the earlier ones
    /// first.
    ///
    /// # Errors
    /// Those of the watcher.
    pub fn conduct<W: ExperimentObserver>(
        &self,
        runner: &mut dyn TrialRunner,
        limits: ExperimentLimits<'_>,
        watcher: &mut W,
    ) -> Result<(Vec<Trial>, ExperimentEnd), W::Error> {
        let mut collector = TrialCollector { watcher, trials: self.trials.clone() };
        let (_, ending) = conduct_experiment(&self.experiment, &self.trials, runner, limits, &mut collector)?;
        Ok((collector.trials, ending))
    }
}

/// Collects the trials that its watcher kept.
struct TrialCollector<'w, W> {
    watcher: &'w mut W,
    trials: Vec<Trial>,
}

impl<W: ExperimentObserver> ExperimentObserver for TrialCollector<'_, W> {
    type Error = W::Error;

    fn begin_trial(&mut self, block: u32, arm: usize, time: &ExperimentTime) {
        self.watcher.begin_trial(block, arm, time);
    }

    fn keep_trial(&mut self, trial: &Trial) -> Result<(), Self::Error> {
        self.watcher.keep_trial(trial)?;
        self.trials.push(trial.clone());
        Ok(())
    }

    fn show_standing(&mut self, design: &TrialDesign) {
        self.watcher.show_standing(design);
    }
}

/// Result of a runner's trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialResult {
    /// Number of runs in a row.
    pub repeats: u32,
    /// Outcome of the trial.
    pub outcome: TrialOutcome,
    /// Values of the guards.
    pub guards: Vec<Option<f64>>,
    /// Readings of the metric and the guards, as [`Trial::readings`].
    pub readings: Vec<MetricReading>,
    /// Other measurements.
    pub observed: TrialObservations,
}

impl TrialResult {
    /// Returns a trial without a value.
    pub fn from_failure(why: String, output: String, observed: TrialObservations) -> Self {
        Self {
            repeats: 1,
            outcome: TrialOutcome::Failed { why, output },
            guards: Vec::new(),
            readings: Vec::new(),
            observed,
        }
    }
}

/// Reason why a runner makes no more trials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunnerEnd {
    /// It was asked to stop.
    Stopped,
    /// The budget ended between two runs of a trial.
    OutOfTime,
    /// The workload is gone or cannot be measured, for this reason.
    Gone(String),
}

/// Parameters of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialRequest {
    /// Runs in a row.
    pub repeats: u32,
    /// Number of the trial in the experiment; a runner derives its random choices from it.
    pub trial: u64,
    /// After this time no further run begins, and the trial has only the earlier runs. `None` if all are needed.
    pub longest: Option<Duration>,
    /// End of the budget, `None` without one. After it no further run begins, and there is no trial.
    pub until: Option<Instant>,
}

impl TrialRequest {
    /// Checks whether the budget is spent.
    pub fn is_out_of_time(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Decides whether a trial that began at `began` gets another run after `made` runs.
    ///
    /// # Errors
    /// [`RunnerEnd::OutOfTime`] if the budget ended in the middle of it.
    pub fn needs_run(&self, made: u32, began: Instant) -> Result<bool, RunnerEnd> {
        match made {
            0 => Ok(self.repeats > 0),
            made if made >= self.repeats => Ok(false),
            _ if self.is_out_of_time() => Err(RunnerEnd::OutOfTime),
            _ => Ok(self.longest.is_none_or(|longest| began.elapsed() < longest)),
        }
    }
}

/// Runs the workload: a command as processes, running processes slot by slot, a simulated program as numbers.
pub trait TrialRunner {
    /// Makes a trial of an arm, which has this number in the experiment.
    ///
    /// # Errors
    /// The reason why there is no trial, now and later.
    fn run(&mut self, arm: &PlacementArm, number: usize, request: TrialRequest) -> Result<TrialResult, RunnerEnd>;

    /// Returns true if the workload is running already. Then one run is a trial, and no warm-up precedes the first
    /// block.
    fn is_running(&self) -> bool {
        false
    }

    /// Called when a block begins (0: the warm-up), or continues in another session.
    fn begin_block(&mut self, _block: u32) {}

    /// Returns the rest before a trial, given the time of a run.
    fn pause_before(&self, run: Duration) -> Duration {
        usual_rest(run)
    }
}

/// Observer of an experiment.
pub trait ExperimentObserver {
    /// Error that ends the experiment.
    type Error;

    /// Called when a trial of an arm begins; block 0 is the warm-up.
    fn begin_trial(&mut self, block: u32, arm: usize, time: &ExperimentTime);

    /// Called when a trial has ended. It must be stored before this returns, since it is stored only here.
    ///
    /// # Errors
    /// If it could not be stored.
    fn keep_trial(&mut self, trial: &Trial) -> Result<(), Self::Error>;

    /// Called after each block. Evaluating the design costs more than the call, so an implementation does that only if
    /// needed.
    fn show_standing(&mut self, design: &TrialDesign);
}

/// Limits of an experiment's session.
#[derive(Clone, Copy, Debug)]
pub struct ExperimentLimits<'a> {
    /// Maximum number of blocks, including earlier sessions.
    pub blocks: u32,
    /// Maximum time of this session; `None` for no limit.
    pub budget: Option<Duration>,
    /// Maximum time on placements that look worse, including earlier sessions. Applies if all remaining ones look
    /// worse.
    pub worse: Option<Duration>,
    /// Rest of the machine before each trial; the runner's if `None`.
    pub rest: Option<Duration>,
    /// Flag that ends the session once it is true.
    pub stop: &'a AtomicBool,
}

impl<'a> ExperimentLimits<'a> {
    /// Returns the usual limits of one more session: more blocks if rare values decide. Running processes get a
    /// budget, of which half may be spent on placements that look worse.
    pub fn from_session(begun: &OpenExperiment, budget: Option<Duration>, stop: &'a AtomicBool) -> Self {
        let done = begun.trials.iter().map(|trial| trial.block).max().unwrap_or_default();
        let is_live = begun.experiment.workload.live.is_some();
        let most = match begun.experiment.policy.what {
            _ if is_live => MOST_BLOCKS_OF_SLOTS,
            QuestionKind::Typical => MOST_BLOCKS,
            QuestionKind::Mean | QuestionKind::Tail => MOST_BLOCKS_OF_RARE,
        };
        let budget = budget.or(is_live.then_some(BUDGET_OF_SLOTS));
        let worse = budget.filter(|_| is_live).map(|budget| budget / 2);
        Self { blocks: done + most, budget, worse, rest: None, stop }
    }
}

/// Timing of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExperimentTime {
    /// Time since this session began.
    pub elapsed: Duration,
    /// Mean time of a trial, including its pause; `None` before the first.
    pub trial: Option<Duration>,
    /// Remaining budget; `None` without one.
    pub left: Option<Duration>,
}

/// Reason why an experiment's session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExperimentEnd {
    /// More runs would not change the verdict.
    Decided,
    /// The limit of blocks or runs was reached.
    Limit,
    /// The time was up.
    Budget,
    /// Enough time was spent on placements that look worse.
    Worse,
    /// It was asked to stop.
    Stopped,
    /// The workload is gone or cannot be measured, for this reason.
    Gone(String),
}

/// Continues an experiment after the earlier trials, and returns the design with all of them.
///
/// Every arm runs once before the first block of a session; those trials do not count. A trial that is cut off by the
/// end of the session is lost, and its block stays incomplete.
///
/// # Errors
/// Those of the watcher.
pub fn conduct_experiment<W: ExperimentObserver>(
    experiment: &Experiment,
    earlier: &[Trial],
    runner: &mut dyn TrialRunner,
    limits: ExperimentLimits<'_>,
    watcher: &mut W,
) -> Result<(TrialDesign, ExperimentEnd), W::Error> {
    let mut session = ExperimentSession::new(experiment, earlier, runner, limits, watcher);
    let ending = session.run_session()?;
    Ok((session.design, ending))
}

struct ExperimentSession<'a, W> {
    experiment: &'a Experiment,
    design: TrialDesign,
    /// Time of each arm's trials, in seconds.
    spent_s: Vec<f64>,
    trials: u64,
    /// Runs in a row in the latest block.
    repeats: Option<u32>,
    units: UnitLedger,
    runner: &'a mut dyn TrialRunner,
    limits: ExperimentLimits<'a>,
    watcher: &'a mut W,
    budget: SessionBudget<'a>,
    boot: Option<u32>,
    /// Time of this session's trials, including pauses.
    spent: Duration,
    made: u32,
    /// End of the latest run, when the rest began.
    rests_since: Instant,
    /// Time of the latest run of each arm.
    run_times: Vec<Duration>,
    /// Time of the latest run of each arm that gave a value.
    latest: Vec<Option<Duration>>,
}

/// Reason why there is no trial.
enum LostTrial<E> {
    /// The session is over.
    Over(ExperimentEnd),
    /// The watcher failed.
    Failed(E),
}

impl<'a, W: ExperimentObserver> ExperimentSession<'a, W> {
    fn new(
        experiment: &'a Experiment,
        earlier: &[Trial],
        runner: &'a mut dyn TrialRunner,
        limits: ExperimentLimits<'a>,
        watcher: &'a mut W,
    ) -> Self {
        Self {
            experiment,
            design: TrialDesign::from_trials(experiment, earlier),
            spent_s: spent_s(experiment, earlier),
            trials: earlier.len() as u64,
            units: UnitLedger::from_trials(&experiment.workload, earlier),
            repeats: earlier.iter().rfind(|trial| trial.block > 0).map(|trial| trial.repeats),
            runner,
            limits,
            watcher,
            budget: SessionBudget::new(limits.budget, limits.stop),
            boot: boot_hash(experiment),
            spent: Duration::ZERO,
            made: 0,
            rests_since: Instant::now(),
            run_times: vec![Duration::ZERO; experiment.arms.len()],
            latest: vec![None; experiment.arms.len()],
        }
    }

    fn run_session(&mut self) -> Result<ExperimentEnd, W::Error> {
        match self.try_to_go_on() {
            Ok(ending) | Err(LostTrial::Over(ending)) => Ok(ending),
            Err(LostTrial::Failed(error)) => Err(error),
        }
    }

    fn try_to_go_on(&mut self) -> Result<ExperimentEnd, LostTrial<W::Error>> {
        if !self.design.is_decided() {
            self.warm_up()?;
        }
        while !self.design.is_decided() {
            if self.design.block_count() >= self.limits.blocks {
                return Ok(ExperimentEnd::Limit);
            }
            if self.limits.worse.is_some_and(|most| self.all_look_worse_after(most)) {
                return Ok(ExperimentEnd::Worse);
            }
            self.run_block()?;
        }
        Ok(if self.design.is_undecided() { ExperimentEnd::Limit } else { ExperimentEnd::Decided })
    }

    /// Returns true if all remaining arms look worse and have taken this much time.
    fn all_look_worse_after(&self, most: Duration) -> bool {
        // Evaluating the arms costs more than a block.
        if self.spent_s.iter().skip(1).sum::<f64>() < most.as_secs_f64() {
            return false;
        }
        let arms = self.design.current_standing().arms;
        let mut tried = arms.iter().skip(1).filter(|arm| arm.state == ArmState::Alive);
        let worse = |arm: &ArmStanding| arm.effect.is_some_and(|effect| effect.estimate < 0.0);
        let worse_s: f64 = arms.iter().filter(|arm| worse(arm)).map(|arm| self.spent_s[arm.arm]).sum();
        worse_s >= most.as_secs_f64() && tried.all(worse)
    }

    /// Runs each live arm once; these trials do not count.
    fn warm_up(&mut self) -> Result<(), LostTrial<W::Error>> {
        self.runner.begin_block(0);
        let cold = if self.runner.is_running() { Vec::new() } else { self.design.alive_arms() };
        cold.into_iter().try_for_each(|arm| self.run_trial(0, arm as u32, arm, 1).map(drop))
    }

    /// Returns the number of runs in a row for the trials of the next block. It is the same for all arms, so that they
    /// are comparable.
    fn plan_repeats(&mut self, arms: &[usize]) -> u32 {
        let planned = match self.experiment.stretch {
            Some(stretch) => stretch.runs - stretch.skipped,
            None if self.runner.is_running() => 1,
            // The mean of several runs would hide the slow ones among them.
            None if self.experiment.policy.what == QuestionKind::Tail => 1,
            None => {
                let latest: Vec<Duration> = arms.iter().filter_map(|arm| self.latest[*arm]).collect();
                revise_repeats(&latest, self.repeats)
            }
        };
        self.repeats = Some(planned);
        planned
    }

    fn run_block(&mut self) -> Result<(), LostTrial<W::Error>> {
        let order = self.design.next_block(self.experiment.seed);
        let (number, repeats) = (self.design.block_count() + 1, self.plan_repeats(&order));
        self.runner.begin_block(number);
        self.rests_since = Instant::now();
        let mut trials = Vec::new();
        let mut lost = None;
        for (place, arm) in order.into_iter().enumerate() {
            match self.run_trial(number, place as u32, arm, repeats) {
                Ok(trial) => trials.push(trial),
                Err(why) => {
                    lost = Some(why);
                    break;
                }
            }
        }
        self.design.add_block(&trials.iter().collect::<Vec<_>>());
        if let Some(why) = lost {
            return Err(why);
        }
        self.watcher.show_standing(&self.design);
        Ok(())
    }

    /// Rests, runs, and passes the result on.
    fn run_trial(&mut self, block: u32, place: u32, arm: usize, repeats: u32) -> Result<Trial, LostTrial<W::Error>> {
        let time = self.session_time();
        self.watcher.begin_trial(block, arm, &time);
        let begun = Instant::now();
        self.rest_before_trial()?;
        let started_unix_ms = unix_ms();
        let ran = self.run(arm, if block > 0 { self.skipped_runs() } else { 0 }, repeats);
        let TrialResult { repeats, outcome, guards, readings, observed } = ran.map_err(|ended| {
            LostTrial::Over(match ended {
                RunnerEnd::Stopped => ExperimentEnd::Stopped,
                RunnerEnd::OutOfTime => ExperimentEnd::Budget,
                RunnerEnd::Gone(why) => ExperimentEnd::Gone(why),
            })
        })?;
        self.rests_since = Instant::now();
        self.run_times[arm] = Duration::from_secs_f64(observed.wall_s.max(0.0));
        if matches!(outcome, TrialOutcome::Value(_)) {
            self.latest[arm] = Some(self.run_times[arm]);
        }
        let boot = self.boot;
        let mut trial =
            Trial { block, place, arm, started_unix_ms, boot, repeats, outcome, guards, readings, observed };
        self.units.unify_units(&mut trial);
        self.trials += 1;
        self.spent_s[arm] += trial.observed.wall_s;
        self.made += 1;
        self.spent += begun.elapsed();
        self.watcher.keep_trial(&trial).map_err(LostTrial::Failed)?;
        Ok(trial)
    }

    /// Returns the number of runs of a trial that do not count.
    fn skipped_runs(&self) -> u32 {
        self.experiment.stretch.map_or(0, |stretch| stretch.skipped)
    }

    /// Runs an arm. If one of the initial runs that do not count fails, that is the outcome.
    fn run(&mut self, arm: usize, skipped: u32, repeats: u32) -> Result<TrialResult, RunnerEnd> {
        let place = &self.experiment.arms[arm];
        let request = TrialRequest {
            repeats,
            trial: self.trials,
            longest: self.experiment.stretch.is_none().then_some(LONGEST_TRIAL),
            until: self.budget.time_left().map(|left| Instant::now() + left),
        };
        if skipped > 0 {
            let first = self.runner.run(place, arm, TrialRequest { repeats: skipped, ..request })?;
            if matches!(first.outcome, TrialOutcome::Failed { .. }) {
                return Ok(first);
            }
            if request.is_out_of_time() {
                return Err(RunnerEnd::OutOfTime);
            }
        }
        self.runner.run(place, arm, request)
    }

    fn session_time(&self) -> ExperimentTime {
        ExperimentTime {
            elapsed: self.budget.elapsed_time(),
            trial: (self.made > 0).then(|| self.spent / self.made),
            left: self.budget.time_left(),
        }
    }

    /// Rests before a trial; ends the session if it is stopped or out of time.
    fn rest_before_trial(&self) -> Result<(), LostTrial<W::Error>> {
        let run = self.run_times.iter().max().copied().unwrap_or_default();
        // Work since the last run, such as storing it, is part of the rest.
        let until = self.rests_since + self.limits.rest.unwrap_or_else(|| self.runner.pause_before(run));
        loop {
            if self.budget.is_stopped() {
                return Err(LostTrial::Over(ExperimentEnd::Stopped));
            }
            if self.budget.time_left().is_some_and(|left| left.is_zero()) {
                return Err(LostTrial::Over(ExperimentEnd::Budget));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(PAUSE_STEP));
        }
    }
}

/// Sums the time that was spent on each arm, in seconds.
fn spent_s(experiment: &Experiment, trials: &[Trial]) -> Vec<f64> {
    let mut spent = vec![0.0; experiment.arms.len()];
    trials.iter().for_each(|trial| spent[trial.arm] += trial.observed.wall_s);
    spent
}

/// Returns a number for this boot of the machine: a hash of the kernel's boot id and the experiment's seed. So no
/// document contains the boot id, and two experiments cannot be matched.
fn boot_hash(experiment: &Experiment) -> Option<u32> {
    let name = boot_id().ok()?;
    let bytes = name.bytes().chain(experiment.seed.to_le_bytes());
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    Some((hash >> 32) as u32 ^ hash as u32)
}

#[cfg(test)]
mod tests;
