//! Experiments that come from files.

use corewise_statistics::experiment::{
    ArmState, BaselineEffect, BlockRun, ExpectedNoise, ExperimentStanding, JudgingPolicy, OutReason, PlacementRace,
    RunBlock, Verdict,
};
use proptest::prelude::*;

use super::*;
use crate::trial::{ConfirmationStretch, PlacementArm, StretchLength, TrialMetric, TrialOutcome};

fn conducted() -> ExperimentRecord {
    let experiment = Experiment {
        corewise: String::new(),
        started_unix_ms: 0,
        seed: u64::MAX,
        machine: corewise_machine::generate::one_package_machine(2, false, &[]),
        workload: TriedWorkload {
            guards: vec![TrialMetric::wall_time()],
            ..TriedWorkload::new(vec!["app".into()], "/".into(), TrialMetric::wall_time())
        },
        arms: vec![PlacementArm::new("0", None, ""); 3],
        policy: JudgingPolicy::default(),
        suite: None,
        stretch: None,
        origin: crate::artifact::ArtifactOrigin::Measured,
    };
    let trial = |number: u32| Trial::new(number / 3 + 1, number % 3, number as usize % 3, TrialOutcome::Value(1.0));
    ExperimentRecord { experiment, trials: (0..30).map(trial).collect() }
}

#[test]
fn trials_that_would_take_too_long_to_judge_are_refused() {
    let refused = |change: fn(&mut ExperimentRecord)| {
        let mut changed = conducted();
        change(&mut changed);
        changed.check_loaded().unwrap_err()
    };
    assert_eq!(conducted().check_loaded(), Ok(()));
    refused(|conducted| conducted.trials[3].arm = 3);
    for gain_deviation in [0.0, -0.1, 1.1, f64::NAN] {
        let mut changed = conducted();
        changed.experiment.policy.expected_noise = Some(ExpectedNoise { gain_deviation, experiment: None });
        assert!(changed.check_loaded().is_err(), "{gain_deviation}");
    }
    refused(|conducted| conducted.trials[3].block = 1_000_000);
    refused(|conducted| conducted.trials[3].observed.minor_faults = u64::MAX);
    refused(|conducted| conducted.trials = vec![conducted.trials[0].clone(); 8_000]);
    refused(|conducted| conducted.experiment.workload.guards = vec![TrialMetric::wall_time(); 10_000]);
    refused(|conducted| conducted.experiment.arms = vec![PlacementArm::new("0", None, ""); 2_000]);
}

/// Every fourth run is 10 % slower, so that gains vary.
fn varied() -> ExperimentRecord {
    let mut varied = conducted();
    for (number, trial) in varied.trials.iter_mut().enumerate() {
        trial.outcome = TrialOutcome::Value(if number % 4 == 0 { 1.1 } else { 1.0 });
    }
    varied
}

#[test]
fn noise_is_expected_from_the_same_measurement_on_the_same_machine_alone() {
    let next = varied().experiment;
    let noise = varied().noise_for(&next).expect("ten blocks");
    // Ten gains of each candidate, six of one and five of the other ln(1.1) in size, the others 0. So the median deviations
    // are ln(1.1) and half of it, and the noise is the mean of both.
    assert!((noise - 1.4826 * (1.0 + 0.1) * 0.75 * 1.1_f64.ln()).abs() < 1e-9, "{noise}");
    let none = |change: fn(&mut ExperimentRecord, &mut Experiment)| {
        let (mut earlier, mut next) = (varied(), varied().experiment);
        change(&mut earlier, &mut next);
        earlier.noise_for(&next)
    };
    let stretch = Some(ConfirmationStretch::of_runs(StretchLength::Long, 1.0));
    let with_stretch = |made: &mut Experiment, stretch| made.stretch = stretch;
    for refused in [
        none(|earlier, _| earlier.experiment.origin = ArtifactOrigin::Simulated { file: "truth.toml".into() }),
        none(|earlier, _| earlier.trials.truncate(14)),
        none(|earlier, _| earlier.experiment.arms.iter_mut().for_each(|arm| arm.threads = Some(2))),
        none(|_, next| next.machine = corewise_machine::generate::one_package_machine(4, false, &[])),
        none(|_, next| next.workload.command.push("--fast".into())),
        none(|_, next| next.workload.metric.name = "fps".into()),
        none(|_, next| next.workload.folder = "/tmp".into()),
        none(|_, next| next.arms.iter_mut().for_each(|arm| arm.threads = Some(2))),
    ] {
        assert_eq!(refused, None);
    }
    let (mut earlier, mut later) = (varied(), varied().experiment);
    with_stretch(&mut earlier.experiment, stretch);
    assert_eq!(earlier.noise_for(&later), None);
    with_stretch(&mut later, stretch);
    assert_eq!(varied().noise_for(&later), None);
    assert_eq!(
        none(|_, next| (next.workload.guards, next.workload.timeout_s, next.seed) = (Vec::new(), Some(1.0), 1)),
        Some(noise)
    );
}

#[test]
fn the_expected_noise_is_stored_with_the_policy() {
    let expected_noise = Some(ExpectedNoise { gain_deviation: 0.018, experiment: Some(12) });
    let known = JudgingPolicy { expected_noise, ..JudgingPolicy::default() };
    let text = serde_json::to_string(&known).unwrap();
    assert!(text.contains(r#""expected_noise":{"gain_deviation":0.018,"experiment":12}"#), "{text}");
    assert_eq!(serde_json::from_str::<JudgingPolicy>(&text).unwrap(), known);
    let text = serde_json::to_string(&JudgingPolicy::default()).unwrap();
    assert!(!text.contains("expected_noise"), "{text}");
    assert_eq!(serde_json::from_str::<JudgingPolicy>(&text).unwrap(), JudgingPolicy::default());
}

/// Values of runs with ties, some failed.
fn run_value() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![6 => (-1.0..1.0).prop_map(Some), 3 => (0_i32..3).prop_map(|x| Some(f64::from(x) / 4.0)), 1 => Just(None)]
}

proptest! {
    /// No history of runs, however odd, gives a number that is not one, or a failed run that looks fast.
    #[test]
    fn any_blocks_give_a_standing(candidates in 0_usize..4, seed: u64, x in prop::collection::vec(run_value(), 0..150)) {
        let mut race = PlacementRace::new(candidates, &JudgingPolicy::default());
        let mut values = x.into_iter();
        while values.len() > 0 && !race.is_decided() {
            let arms = race.next_block(seed);
            let runs = arms.into_iter().zip(values.by_ref()).map(|(arm, x)| BlockRun { arm, x }).collect();
            race.add_block(&RunBlock { runs });
        }
        let standing = race.current_standing();
        let text = serde_json::to_string(&standing).unwrap();
        prop_assert_eq!(&serde_json::from_str::<ExperimentStanding>(&text).unwrap(), &standing);
        for arm in &standing.arms[1..] {
            prop_assert!(arm.e_better.is_finite() && arm.e_better_of_all <= arm.e_better);
            let wins = standing.verdict == Verdict::Wins { arm: arm.arm };
            let failed = matches!(arm.state, ArmState::Out { why: OutReason::Failures, .. });
            prop_assert!(!(failed && wins));
            if let Some(BaselineEffect { estimate, low, high }) = arm.effect {
                prop_assert!(low.is_none_or(|low| low <= estimate) || arm.e_better >= 20.0);
                prop_assert!(high.is_none_or(|high| high >= estimate) || arm.e_worse >= 20.0);
            }
        }
    }
}
