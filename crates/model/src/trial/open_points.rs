//! Reasons why a winner is provisional.

use std::collections::BTreeSet;

use super::{ConfirmationStretch, Trial};
use corewise_statistics::experiment::{
    CarryOverCheck, ExperimentStanding, JudgingPolicy, OpenPoint, QuestionKind, Verdict,
};

/// Time over which a winner's runs must be spread, in seconds: a machine's state at one moment is no property of it.
pub const LEAST_SPAN_S: f64 = 60.0;

/// Time over which an experiment's runs are spread.
#[derive(Clone, Debug, Default)]
pub(super) struct RunSpan {
    /// True if the trials are stretches, so that no run that counts follows one of another arm.
    is_in_stretches: bool,
    /// Time from the beginning of the experiment that this one confirms, in seconds.
    earlier_s: f64,
    /// Start of the first run and end of the last, in milliseconds since 1970-01-01 UTC.
    clock_ms: Option<[f64; 2]>,
    /// Time of all runs together, in seconds.
    runs_s: f64,
    boots: BTreeSet<u32>,
}

impl RunSpan {
    pub(super) fn new(stretch: Option<ConfirmationStretch>) -> Self {
        let earlier_s = stretch.and_then(|stretch| stretch.won).map_or(0.0, |won| won.after_s);
        Self { is_in_stretches: stretch.is_some(), earlier_s, ..Self::default() }
    }

    pub(super) fn add_trials(&mut self, trials: &[&Trial]) {
        for trial in trials {
            let start_ms = trial.started_unix_ms as f64;
            let end_ms = start_ms + 1e3 * trial.observed.wall_s;
            let [first, last] = self.clock_ms.unwrap_or([start_ms, end_ms]);
            self.clock_ms = Some([first.min(start_ms), last.max(end_ms)]);
            self.runs_s += trial.observed.wall_s;
            self.boots.extend(trial.boot);
        }
    }

    /// Returns the time from the first run to the end of the last, in seconds. It is never less than the runs took
    /// together: the clock may have been set back.
    pub(super) fn span_s(&self) -> f64 {
        self.clock_ms.map_or(0.0, |[first, last]| (last - first) / 1e3).max(self.runs_s)
    }

    /// Returns the reasons why the winner of a standing is provisional.
    pub(super) fn list_open_points(
        &self,
        standing: &ExperimentStanding,
        carry_over: &CarryOverCheck,
        policy: &JudgingPolicy,
    ) -> Vec<OpenPoint> {
        let Verdict::Wins { arm } = standing.verdict else { return Vec::new() };
        let estimate = standing.arms.get(arm).and_then(|arm| arm.effect).map_or(0.0, |effect| effect.estimate);
        // A difference of shares says nothing about the size of a carry-over.
        let effect = if policy.what == QuestionKind::Tail { policy.margin_of(QuestionKind::Typical) } else { estimate };
        let visible = match carry_over {
            CarryOverCheck::NotFound { visible, .. } => Some(*visible),
            _ => None,
        };
        let is_unseen = !self.is_in_stretches && visible.is_none_or(|visible| visible > effect / 2.0);
        let seconds = self.span_s();
        let boots = u32::try_from(self.boots.len()).unwrap_or(u32::MAX);
        let few_boots = policy.boots.filter(|wanted| boots < *wanted);
        [
            is_unseen.then_some(OpenPoint::CarryOverUnseen { visible }),
            (self.earlier_s + seconds < LEAST_SPAN_S).then_some(OpenPoint::ShortSpan { seconds }),
            few_boots.map(|wanted| OpenPoint::FewBoots { boots, wanted }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Returns the time over which the trials of an experiment that count are spread, in seconds.
pub fn span_of_trials(trials: &[Trial]) -> f64 {
    let mut span = RunSpan::default();
    span.add_trials(&trials.iter().filter(|trial| trial.block > 0).collect::<Vec<_>>());
    span.span_s()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::ArtifactOrigin;
    use crate::trial::{
        Experiment, FirstWin, PlacementArm, StretchLength, TrialMetric, TrialOutcome, TriedWorkload,
        experiment_standing,
    };

    fn two_arms() -> Experiment {
        Experiment {
            corewise: String::new(),
            started_unix_ms: 0,
            seed: 1,
            machine: corewise_machine::generate::one_package_machine(2, false, &[]),
            workload: TriedWorkload::new(vec!["app".into()], "/".into(), TrialMetric::wall_time()),
            arms: vec![PlacementArm::new("0", None, ""); 2],
            policy: JudgingPolicy::default(),
            suite: None,
            stretch: None,
            origin: ArtifactOrigin::Measured,
        }
    }

    /// Trials of which each begins this many milliseconds after the one before; the candidate is a tenth faster.
    fn trials(blocks: u32, each_ms: i64, boots: u32) -> Vec<Trial> {
        let made = |number: u32| {
            let (block, place) = (number / 2 + 1, number % 2);
            let arm = ((block + place) % 2) as usize;
            let noise = 1.0 + 0.001 * f64::from(number * 7 % 5);
            let trial = Trial::new(block, place, arm, TrialOutcome::Value(noise * if arm == 1 { 0.9 } else { 1.0 }));
            let started_unix_ms = 1_000_000 + each_ms * i64::from(number);
            let mut trial = Trial { started_unix_ms, boot: Some(number * boots / (2 * blocks)), ..trial };
            trial.observed.wall_s = 0.5;
            trial
        };
        (0..2 * blocks).map(made).collect()
    }

    fn open_points(experiment: &Experiment, trials: &[Trial]) -> Vec<OpenPoint> {
        let standing = experiment_standing(experiment, trials);
        assert_eq!(standing.verdict, Verdict::Wins { arm: 1 });
        standing.open_points
    }

    #[test]
    fn a_quick_win_is_one_only_so_far() {
        let unseen = OpenPoint::CarryOverUnseen { visible: None };
        assert_eq!(
            open_points(&two_arms(), &trials(8, 600, 1)),
            [unseen, OpenPoint::ShortSpan { seconds: 9.5 }],
            "15 times 0.6 s, and the last run"
        );
        assert_eq!(open_points(&two_arms(), &trials(8, 4_000, 1)), [unseen]);
        assert!(
            matches!(open_points(&two_arms(), &trials(8, -600, 1))[..], [_, OpenPoint::ShortSpan { .. }]),
            "the clock was set back"
        );
    }

    #[test]
    fn stretches_need_no_check_of_the_next_run_and_continue_the_first_experiment() {
        let won = |after_s| Some(FirstWin { runs: 10, span_s: 6.0, after_s });
        let stretch = |after_s| {
            let stretch = ConfirmationStretch::of_runs(StretchLength::Short, 0.5);
            Experiment { stretch: Some(ConfirmationStretch { won: won(after_s), ..stretch }), ..two_arms() }
        };
        assert_eq!(open_points(&stretch(60.0), &trials(8, 600, 1)), []);
        assert!(matches!(open_points(&stretch(20.0), &trials(8, 600, 1))[..], [OpenPoint::ShortSpan { .. }]));
    }

    #[test]
    fn a_win_over_several_boots_needs_runs_in_each() {
        let mut experiment = two_arms();
        experiment.policy.boots = Some(3);
        let few = |boots| {
            open_points(&experiment, &trials(8, 4_000, boots)).contains(&OpenPoint::FewBoots { boots, wanted: 3 })
        };
        assert_eq!([1, 2, 3].map(few), [true, true, false]);
    }
}
