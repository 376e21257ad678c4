//! The second experiment on a winner: it alone against the OS default, later, and in stretches of runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corewise_model::Artifact as _;
use corewise_model::experiment::{JudgingPolicy, QuestionKind, Verdict};
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::stats::order::median;
use corewise_model::trial::{ConfirmationStretch, Experiment, FirstWin, LEAST_SPAN_S, StretchLength, span_of_trials};

use super::{ExperimentSubject, PAUSE_STEP, create_experiment};
use crate::session::unix_ms;

/// A winner that is to be tried again. [`Self::begin`] gives the experiment; its runs are made as those of any other.
#[derive(Clone, Debug, PartialEq)]
pub struct WinnerConfirmation<'a> {
    first: &'a ExperimentRecord,
    winner: usize,
    runs: u32,
    /// Start of the first experiment's first run, in milliseconds since 1970-01-01 UTC.
    began_unix_ms: i64,
    length: StretchLength,
    stretch: ConfirmationStretch,
    /// Median time of a run.
    run: Duration,
    takes_time: bool,
}

impl<'a> WinnerConfirmation<'a> {
    /// Plans to try the winner of an experiment again; `None` if it has none. `stored` is its number in the store.
    pub fn plan(
        first: &'a ExperimentRecord,
        stored: Option<i64>,
        subject: &dyn ExperimentSubject,
        length: StretchLength,
    ) -> Option<Self> {
        let standing = first.draw_conclusions().standing;
        let Verdict::Wins { arm } = standing.verdict else { return None };
        let times = first.trials.iter().map(|trial| trial.observed.wall_s).filter(|seconds| *seconds > 0.0);
        let times: Vec<f64> = times.collect();
        let run_s = if times.is_empty() { 1.0 } else { median(&times) };
        let stretch = match (length, first.experiment.policy.what) {
            (StretchLength::Short, QuestionKind::Tail) => ConfirmationStretch::of_single_runs(),
            _ => ConfirmationStretch::of_runs(length, run_s),
        };
        let counted = first.trials.iter().filter(|trial| trial.block > 0);
        let began = counted.map(|trial| trial.started_unix_ms).min();
        Some(Self {
            first,
            winner: arm,
            runs: standing.runs,
            began_unix_ms: began.unwrap_or(first.experiment.started_unix_ms),
            length,
            stretch: ConfirmationStretch { of: stored, ..stretch },
            run: Duration::from_secs_f64(run_s),
            takes_time: subject.takes_time(),
        })
    }

    /// Returns the winner's arm in the first experiment; it is arm 1 of the confirmation.
    pub fn winner(&self) -> usize {
        self.winner
    }

    /// Returns the time to wait if it is `now_unix_ms` now. Short stretches begin a minute after the first experiment
    /// began, since what favours a placement for a moment would favour it again.
    pub fn pause_at(&self, now_unix_ms: i64) -> Duration {
        match self.length {
            StretchLength::Short if self.takes_time => {
                // The clock may have been set back.
                Duration::from_secs_f64((LEAST_SPAN_S - self.elapsed_s(now_unix_ms)).clamp(0.0, LEAST_SPAN_S))
            }
            StretchLength::Short | StretchLength::Long => Duration::ZERO,
        }
    }

    /// Returns the time for the pause and for the fewest runs that can prove anything.
    pub fn least_time(&self) -> Duration {
        self.pause_at(unix_ms()) + self.run * (self.least_trials() * self.stretch.runs)
    }

    /// Returns the number of trials that it may make if `left` more runs are allowed; `None` if these prove nothing.
    pub fn trials_within(&self, left: u32) -> Option<u32> {
        Some(left / self.stretch.runs).filter(|trials| *trials >= self.least_trials())
    }

    fn least_trials(&self) -> u32 {
        2 * self.first.experiment.policy.blocks_of_a_win(1)
    }

    fn elapsed_s(&self, now_unix_ms: i64) -> f64 {
        (now_unix_ms - self.began_unix_ms) as f64 / 1e3
    }

    /// Waits until it may begin, and reports the remaining time; returns false if it was stopped.
    pub fn wait(&self, stop: &AtomicBool, mut report: impl FnMut(Duration)) -> bool {
        loop {
            let left = self.pause_at(unix_ms());
            match () {
                () if stop.load(Ordering::SeqCst) => return false,
                () if left.is_zero() => return true,
                () => {
                    report(left);
                    std::thread::sleep(left.min(PAUSE_STEP));
                }
            }
        }
    }

    /// Returns the experiment, which begins now.
    pub fn begin(&self, corewise: &str) -> Experiment {
        let Experiment { machine, workload, arms, policy, seed, .. } = &self.first.experiment;
        let arms = vec![arms[0].clone(), arms[self.winner].clone()];
        // After-effects matter less for stretches than for single slots.
        let policy = JudgingPolicy { most_runs: None, least_blocks: 0, boots: None, ..policy.clone() };
        let again = create_experiment(corewise, machine.clone(), workload.clone(), arms, policy, seed.checked_add(1));
        let elapsed_s = self.elapsed_s(again.started_unix_ms);
        let won = FirstWin {
            runs: self.runs,
            span_s: span_of_trials(&self.first.trials),
            // A simulated minute takes no time.
            after_s: if self.takes_time { elapsed_s.max(0.0) } else { elapsed_s.max(LEAST_SPAN_S) },
        };
        Experiment { stretch: Some(ConfirmationStretch { won: Some(won), ..self.stretch }), ..again }
    }
}
