//! Report on an experiment with numbers of threads, beyond one answer: the table, the law, and the occupancy of one
//! thread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::design::TrialDesign;
use super::{Experiment, Trial, TrialOutcome};
use corewise_statistics::experiment::{LawFit, ThreadsStanding};
use corewise_statistics::order::median;

/// Report on an experiment with numbers of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadsReport {
    /// The answers, and the state of each cell.
    #[serde(flatten)]
    pub standing: ThreadsStanding,
    /// The Universal Scalability Law.
    pub law: LawFit,
    /// Occupancy of one thread; absent if no run had one thread, and with services.
    pub occupancy: Option<ThreadOccupancy>,
}

/// Share of its time in which one thread computes: user and system time over wall time, in the runs with one thread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadOccupancy {
    /// True if these runs were pinned to one cpu, so that helpers of the program had no cpu of their own.
    pub pinned: bool,
    /// Number of runs.
    pub runs: usize,
    /// The median share; above 1 if more than one cpu was used at a time.
    pub median: f64,
    /// The least share.
    pub least: f64,
    /// The largest share.
    pub most: f64,
}

/// Builds the report on an experiment with numbers of threads; `None` for other experiments.
pub fn threads_report(experiment: &Experiment, trials: &[Trial]) -> Option<ThreadsReport> {
    let design = TrialDesign::from_trials(experiment, trials);
    let threads = design.threads_race()?;
    let occupancy = thread_occupancy(experiment, trials, true).or_else(|| thread_occupancy(experiment, trials, false));
    Some(ThreadsReport { standing: design.threads_standing()?, law: threads.fit_law(), occupancy })
}

/// Share of the machine used by other programs beyond which a run may have waited for a cpu for an unknown time.
const OTHERS_BUSY: f64 = 0.1;
/// Preemptions per second beyond which a run may have waited for a cpu for an unknown time.
const PREEMPTED_A_SECOND: f64 = 20.0;

/// Returns true if a run's idle time was spent waiting for something other than a cpu.
fn is_undisturbed(trial: &Trial) -> bool {
    let seen = &trial.observed;
    let seconds = f64::from(trial.repeats.max(1)) * seen.wall_s;
    seen.others_busy.is_none_or(|busy| busy <= OTHERS_BUSY)
        && seen.involuntary_switches as f64 <= PREEMPTED_A_SECOND * seconds.max(1.0)
}

fn thread_occupancy(experiment: &Experiment, trials: &[Trial], pinned: bool) -> Option<ThreadOccupancy> {
    // Only the load's time is known, and the threads are the services'.
    if experiment.workload.parts.is_some() {
        return None;
    }
    let is_of = |trial: &&Trial| {
        let arm = &experiment.arms[trial.arm];
        let is_placed = if pinned { arm.cpus.as_ref().is_some_and(|cpus| cpus.len() == 1) } else { arm.cpus.is_none() };
        let is_whole = trial.block > 0 && matches!(trial.outcome, TrialOutcome::Value(_));
        arm.threads == Some(1) && is_placed && is_whole && is_undisturbed(trial)
    };
    let share = |trial: &Trial| {
        let seen = &trial.observed;
        (seen.user_s + seen.system_s) / f64::from(trial.repeats.max(1)) / seen.wall_s
    };
    let shares: Vec<f64> = trials.iter().filter(is_of).map(share).filter(|share| share.is_finite()).collect();
    (!shares.is_empty()).then(|| ThreadOccupancy {
        pinned,
        runs: shares.len(),
        median: median(&shares),
        least: shares.iter().copied().fold(f64::INFINITY, f64::min),
        most: shares.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}
