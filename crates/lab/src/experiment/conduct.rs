//! The engine of a session: rests, runs and keeps trials, block by block.

use std::time::{Duration, Instant};

use corewise_model::trial::{Experiment, LONGEST_TRIAL, Trial, TrialDesign, TrialOutcome, UnitLedger, revise_repeats};
use corewise_statistics::experiment::{ArmStanding, ArmState, QuestionKind};
use corewise_sys::process::boot_id;

use super::{
    ExperimentEnd, ExperimentLimits, ExperimentObserver, ExperimentTime, PAUSE_STEP, RunnerEnd, SessionForecast,
    TrialRequest, TrialResult, TrialRunner,
};
use crate::session::{SessionBudget, unix_ms};

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
        let least = self.design.block_count() + self.limits.least_blocks;
        if !self.is_done(least) {
            self.warm_up()?;
            self.weigh_budget()?;
        }
        while !self.is_done(least) {
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

    /// Returns true if it is decided and has this many blocks, or cannot have them.
    fn is_done(&self, least_blocks: u32) -> bool {
        self.design.is_decided() && (self.design.block_count() >= least_blocks || self.design.is_over())
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

    /// Runs each live arm once; these trials do not count. If the time is up meanwhile, passes on what a verdict takes at least.
    fn warm_up(&mut self) -> Result<(), LostTrial<W::Error>> {
        self.runner.begin_block(0);
        let cold = if self.runner.is_running() { Vec::new() } else { self.design.alive_arms() };
        for arm in cold {
            let ran = self.run_trial(0, arm as u32, arm, 1);
            if matches!(ran, Err(LostTrial::Over(ExperimentEnd::Budget)))
                && let Some(forecast) = self.forecast_verdict()
            {
                self.watcher.show_forecast(&forecast);
            }
            ran?;
        }
        Ok(())
    }

    /// Passes on what the earliest verdict takes. With a reserve, extends the budget to it, or ends the session if it cannot.
    fn weigh_budget(&mut self) -> Result<(), LostTrial<W::Error>> {
        let Some(forecast) = self.forecast_verdict() else { return Ok(()) };
        let (Some(reserve), Some([_, left])) = (self.limits.reserve, forecast.budget) else {
            self.watcher.show_forecast(&forecast);
            return Ok(());
        };
        let missing = forecast.earliest.saturating_sub(left);
        if missing > reserve {
            return Err(LostTrial::Over(ExperimentEnd::TooShort(forecast)));
        }
        self.budget.extend_limit(missing);
        Ok(())
    }

    /// Estimates the earliest verdict by the runs of the warm-up; `None` if there were none, or enough blocks before.
    fn forecast_verdict(&mut self) -> Option<SessionForecast> {
        let arms = self.design.alive_arms();
        let policy = &self.experiment.policy;
        let needed = policy.blocks_of_a_win(self.experiment.arms.len() - 1).max(policy.least_blocks);
        let blocks = needed.checked_sub(self.design.block_count()).filter(|blocks| *blocks > 0)?;
        let run = arms.iter().filter_map(|arm| self.latest[*arm]).max()?;
        let repeats = self.plan_repeats(&arms) + self.skipped_runs();
        let rest = self.limits.rest.unwrap_or_else(|| self.runner.pause_before(run));
        let time_of = |arm: &usize| if self.run_times[*arm].is_zero() { run } else { self.run_times[*arm] };
        let of_block: Duration = arms.iter().map(|arm| time_of(arm) * repeats + rest).sum();
        let trials = blocks * arms.len() as u32;
        let budget = self.budget.limit().zip(self.budget.time_left()).map(<[Duration; 2]>::from);
        Some(SessionForecast { run, trials, earliest: of_block * blocks, budget })
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
                revise_repeats(&latest, self.repeats, self.limits.shortest_trial)
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
