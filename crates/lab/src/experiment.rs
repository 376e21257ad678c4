//! Experiments: run a workload on its placements, block by block, until the verdict is clear or the time is up.

mod builder;
mod candidates;
mod choice;
mod conduct;
mod confirmation;
mod context;
mod energy;
mod error;
pub mod live;
pub mod parts;
pub mod process;
pub mod simulated;
mod subject;
pub mod talk;
mod thread_placer;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use corewise_machine::Machine;
use corewise_model::sample::MetricReading;
use corewise_model::trial::{
    Experiment, PlacementArm, SHORTEST_TRIAL, Trial, TrialDesign, TrialObservations, TrialOutcome, TriedWorkload,
    usual_rest,
};
use corewise_statistics::experiment::{JudgingPolicy, QuestionKind};

use crate::session::{seed_from_clock, unix_ms};
pub use builder::ExperimentBuilder;
pub use candidates::{
    CandidateNote, CandidatePlanner, CandidateRequest, ExperimentKnowledge, ThreadCounts, ThreadPinning,
    refuse_memory_of_others,
};
pub use choice::PlacementChoice;
pub use conduct::conduct_experiment;
pub use confirmation::WinnerConfirmation;
pub use context::{ExperimentContext, NoKnowledge, PreparationEvent};
pub use error::ExperimentError;
pub use subject::{
    ClosureSubject, CommandSubject, ExperimentSubject, ProcessesSubject, ServicesSubject, SimulatedSubject,
    ThreadsSubject,
};

/// Maximum number of blocks in a session of typical runs; an undecided experiment can be continued.
const MOST_BLOCKS: u32 = 60;
/// The same with guards, of which slow runs are counted.
const MOST_BLOCKS_OF_GUARDS: u32 = 100;
/// Maximum number of blocks for means and slow runs, which need more.
const MOST_BLOCKS_OF_RARE: u32 = 200;
/// Maximum number of blocks if a budget limits the session.
const MOST_BLOCKS_IN_BUDGET: u32 = 1_000;
/// Usual budget of a session with running processes, since it disturbs their users.
pub const BUDGET_OF_SLOTS: Duration = Duration::from_mins(10);
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
        origin: corewise_model::artifact::ArtifactOrigin::Measured,
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

    fn show_forecast(&mut self, forecast: &SessionForecast) {
        self.watcher.show_forecast(forecast);
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
    /// End of the budget, `None` without one. It ends a run that is not finished, and there is no trial.
    pub until: Option<Instant>,
}

impl TrialRequest {
    /// Returns the time to the end of the budget, `None` without one.
    pub fn time_left(&self) -> Option<Duration> {
        self.until.map(|until| until.saturating_duration_since(Instant::now()))
    }

    /// Checks whether the budget is spent.
    pub fn is_out_of_time(&self) -> bool {
        self.time_left().is_some_and(|left| left.is_zero())
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

    /// Called after a warm-up with what the earliest verdict takes.
    fn show_forecast(&mut self, _forecast: &SessionForecast) {}

    /// Called after each block. Evaluating the design costs more than the call, so an implementation does that only if
    /// needed.
    fn show_standing(&mut self, design: &TrialDesign);
}

/// Limits of an experiment's session.
#[derive(Clone, Copy, Debug)]
pub struct ExperimentLimits<'a> {
    /// Maximum number of blocks, including earlier sessions.
    pub blocks: u32,
    /// Minimum number of blocks in this session, also of a decided experiment.
    pub least_blocks: u32,
    /// Maximum time of this session; `None` for no limit.
    pub budget: Option<Duration>,
    /// Time beyond the budget that is used if the earliest verdict needs it. The session ends after the warm-up if both
    /// together are too short for a verdict. `None`: it goes on in any case.
    pub reserve: Option<Duration>,
    /// Maximum time on placements that look worse, including earlier sessions. Applies if all remaining ones look
    /// worse.
    pub worse: Option<Duration>,
    /// Rest of the machine before each trial; the runner's if `None`.
    pub rest: Option<Duration>,
    /// Minimum duration of a trial of a command, reached by consecutive runs.
    pub shortest_trial: Duration,
    /// Flag that ends the session once it is true.
    pub stop: &'a AtomicBool,
}

impl<'a> ExperimentLimits<'a> {
    /// Returns the usual limits of one more session: the budget, or else a number of blocks, which is larger if rare values decide.
    /// A benchmark of a suite has both. Running processes get a budget, of which half may be spent on placements that look worse.
    pub fn from_session(begun: &OpenExperiment, budget: Option<Duration>, stop: &'a AtomicBool) -> Self {
        let done = begun.trials.iter().map(|trial| trial.block).max().unwrap_or_default();
        let is_live = begun.experiment.workload.live.is_some();
        let budget = budget.or(is_live.then_some(BUDGET_OF_SLOTS));
        let most = match begun.experiment.policy.what {
            _ if budget.is_some() && begun.experiment.suite.is_none() => MOST_BLOCKS_IN_BUDGET,
            QuestionKind::Typical if begun.experiment.workload.guards.is_empty() => MOST_BLOCKS,
            QuestionKind::Typical => MOST_BLOCKS_OF_GUARDS,
            QuestionKind::Mean | QuestionKind::Tail => MOST_BLOCKS_OF_RARE,
        };
        let worse = budget.filter(|_| is_live).map(|budget| budget / 2);
        let Experiment { policy, arms, .. } = &begun.experiment;
        let least_blocks = policy.boots.map_or(0, |_| policy.blocks_of_a_win(arms.len() - 1));
        Self {
            blocks: done + most,
            least_blocks,
            budget,
            reserve: None,
            worse,
            rest: None,
            shortest_trial: SHORTEST_TRIAL,
            stop,
        }
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

/// The least that a session takes, known after its warm-up, or when the time is up in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionForecast {
    /// Longest of the latest runs.
    pub run: Duration,
    /// Trials before a verdict is possible.
    pub trials: u32,
    /// Time of these trials with their rests.
    pub earliest: Duration,
    /// The budget and what is left of it; `None` without one.
    pub budget: Option<[Duration; 2]>,
}

impl SessionForecast {
    /// Returns true if a verdict is possible within the budget.
    pub fn fits_budget(&self) -> bool {
        self.budget.is_none_or(|[_, left]| self.earliest <= left)
    }
}

/// Reason why an experiment's session ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ExperimentEnd {
    /// More runs would not change the verdict.
    Decided,
    /// The limit of blocks or runs was reached.
    Limit,
    /// The time was up.
    Budget,
    /// The earliest verdict takes longer than the budget and its reserve.
    TooShort(SessionForecast),
    /// Enough time was spent on placements that look worse.
    Worse,
    /// It was asked to stop.
    Stopped,
    /// The workload is gone or cannot be measured, for this reason.
    Gone(String),
}

#[cfg(test)]
mod tests;
