//! Experiments that come from files.

use super::*;
use crate::experiment::JudgingPolicy;
use crate::trial::{PlacementArm, TrialMetric, TrialOutcome};

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
    refused(|conducted| conducted.trials[3].block = 1_000_000);
    refused(|conducted| conducted.trials[3].observed.minor_faults = u64::MAX);
    refused(|conducted| conducted.trials = vec![conducted.trials[0].clone(); 8_000]);
    refused(|conducted| conducted.experiment.workload.guards = vec![TrialMetric::wall_time(); 10_000]);
    refused(|conducted| conducted.experiment.arms = vec![PlacementArm::new("0", None, ""); 2_000]);
}
