//! The second experiment on a winner: it alone against the OS default, later, and in stretches of runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::trial::{
    ConfirmationStretch, Experiment, FirstWin, LEAST_SPAN_S, StretchLength, experiment_standing, span_of_trials,
};
use corewise_statistics::experiment::{JudgingPolicy, QuestionKind, Verdict};
use corewise_statistics::order::median;

use super::{ExperimentSubject, PAUSE_STEP, create_experiment};
use crate::session::unix_ms;

/// A winner that is to be tried again. [`Self::begin`] gives the experiment; its runs are made as any other's.
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
        let standing = experiment_standing(&first.experiment, &first.trials);
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
        // After-effects matter less for stretches than for single slots, and a stretch has less noise than a run.
        let policy =
            JudgingPolicy { most_runs: None, least_blocks: 0, boots: None, expected_noise: None, ..policy.clone() };
        let again = create_experiment(corewise, machine.clone(), workload.clone(), arms, policy, seed.checked_add(1));
        let elapsed_s = self.elapsed_s(again.started_unix_ms);
        let won = FirstWin {
            runs: self.runs,
            span_s: span_of_trials(&self.first.trials),
            // A simulated minute takes no time.
            after_s: if self.takes_time { elapsed_s.max(0.0) } else { elapsed_s.max(LEAST_SPAN_S) },
        };
        let stretch = Some(ConfirmationStretch { won: Some(won), ..self.stretch });
        Experiment { stretch, origin: self.first.experiment.origin.clone(), ..again }
    }
}

#[cfg(test)]
mod tests {
    use corewise_machine::{CpuSet, generate};
    use corewise_model::Artifact as _;
    use corewise_model::trial::{PlacementArm, Trial, TrialMetric, TrialOutcome, TriedWorkload};
    use corewise_statistics::simulate::ProgramEffects;
    use corewise_statistics::simulate::noise::RunNoise;

    use super::*;
    use crate::experiment::simulated::SimulatedTruth;
    use crate::experiment::{ClosureSubject, ExperimentBuilder, SimulatedSubject};

    const BEGAN_MS: i64 = 1_000_000;

    /// An experiment of runs of half a second, which candidate 2 wins.
    fn won() -> ExperimentRecord {
        let arm = |name: &str| PlacementArm::new(name, Some(CpuSet::first_cpus(1)), "");
        let experiment = Experiment {
            corewise: "test".to_owned(),
            started_unix_ms: BEGAN_MS - 9_000,
            seed: 1,
            machine: generate::one_package_machine(4, false, &[(CpuSet::first_cpus(4), 32)]),
            workload: TriedWorkload::new(vec!["made-up".to_owned()], "/".into(), TrialMetric::wall_time()),
            arms: vec![PlacementArm::new("OS default", None, ""), arm("0-1"), arm("0")],
            policy: JudgingPolicy { most_runs: Some(99), boots: Some(2), ..JudgingPolicy::default() },
            suite: None,
            stretch: None,
            origin: corewise_model::artifact::ArtifactOrigin::Measured,
        };
        let made = |number: u32| {
            let (block, arm) = (number / 3 + 1, [0, 1, 2, 0, 2, 1][number as usize % 6]);
            let noise = 1.0 + 0.001 * f64::from(number * 7 % 5);
            let trial = Trial::new(block, number % 3, arm, TrialOutcome::Value(noise * [1.0, 1.0, 0.5][arm]));
            let mut trial = Trial { started_unix_ms: BEGAN_MS + 500 * i64::from(number), ..trial };
            trial.observed.wall_s = 0.5;
            trial
        };
        ExperimentRecord { experiment, trials: (0..36).map(made).collect() }
    }

    fn plan(first: &ExperimentRecord, length: StretchLength) -> WinnerConfirmation<'_> {
        let subject = ClosureSubject::timed(|| ());
        WinnerConfirmation::plan(first, Some(7), &subject, length).unwrap()
    }

    #[test]
    fn short_stretches_begin_a_minute_after_the_first_run() {
        let first = won();
        let again = plan(&first, StretchLength::Short);
        let pause = |seconds: i64| again.pause_at(BEGAN_MS + 1_000 * seconds).as_secs();
        assert_eq!([-50, 0, 17, 60, 3_600].map(pause), [60, 60, 43, 0, 0], "the clock may have been set back");
        assert_eq!(plan(&first, StretchLength::Long).pause_at(BEGAN_MS), Duration::ZERO);
        // Long ago, so there is nothing to wait for but an order to stop.
        let mut heard = 0;
        assert!(again.wait(&AtomicBool::new(false), |_| heard += 1) && heard == 0);
        assert!(!again.wait(&AtomicBool::new(true), |_| heard += 1));
    }

    #[test]
    fn it_is_the_winner_against_the_os_default_with_what_it_had_won() {
        let first = won();
        let again = plan(&first, StretchLength::Short);
        assert_eq!(again.winner(), 2);
        let made = again.begin("test");
        assert_eq!(made.arms.iter().map(|arm| &arm.name[..]).collect::<Vec<_>>(), ["OS default", "0"]);
        assert_eq!((made.policy.most_runs, made.policy.boots), (None, None));
        let stretch = made.stretch.unwrap();
        assert_eq!((stretch.runs, stretch.skipped, stretch.of), (2, 1, Some(7)));
        let before = stretch.won.unwrap();
        assert_eq!((before.runs, before.span_s), (36, 18.0));
        assert!(before.after_s > 1e6, "{before:?}");
        assert_eq!(plan(&first, StretchLength::Long).begin("test").stretch.unwrap().runs, 20);
        assert_eq!(again.least_time(), Duration::from_secs(10), "five blocks of two stretches of a second");
        assert_eq!([19, 20, 47].map(|left| again.trials_within(left)), [None, Some(10), Some(23)]);
    }

    #[test]
    fn stretches_of_short_runs_have_many() {
        let mut first = won();
        first.trials.iter_mut().for_each(|trial| trial.observed.wall_s = 0.01);
        let stretch = plan(&first, StretchLength::Short).begin("test").stretch.unwrap();
        assert_eq!((stretch.runs, stretch.skipped), (100, 25));
    }

    /// What another program does that embeds this crate. Simulated experiments wait for nothing.
    #[test]
    fn a_builder_confirms_a_winner_and_denies_one() {
        let confirmed = |effects: ProgramEffects| {
            let simulation = SimulatedTruth { effects, noise: RunNoise::Typical };
            let subject = SimulatedSubject { name: "simulated".to_owned(), simulation };
            let builder = ExperimentBuilder::new().seed(5);
            let first = builder.run(&subject).unwrap();
            assert!(!first.draw_conclusions().standing.open_points.is_empty(), "it is a winner only so far");
            let again = builder.confirm(&subject, &first).unwrap().unwrap().draw_conclusions().standing;
            assert!(again.open_points.is_empty(), "{again:?}");
            again.verdict == Verdict::Wins { arm: 1 }
        };
        assert!(confirmed(ProgramEffects::from_gains(&[0.0, 0.2])));
        let spoils = ProgramEffects {
            carry_over: 0.1,
            carry_over_hits: corewise_statistics::simulate::CarryOverVictims::Baseline,
            ..ProgramEffects::from_gains(&[0.0])
        };
        assert!(!confirmed(spoils));
        let simulation = SimulatedTruth { effects: ProgramEffects::from_gains(&[-0.2]), noise: RunNoise::Typical };
        let subject = SimulatedSubject { name: "simulated".to_owned(), simulation };
        let builder = ExperimentBuilder::new().seed(5);
        let lost = builder.run(&subject).unwrap();
        assert_eq!(builder.confirm(&subject, &lost).unwrap(), None);
    }
}
