//! Experiments that come from files.

use super::*;
use crate::experiment::Policy;
use crate::trial::{Arm, Metric, Outcome};

fn conducted() -> Conducted {
    let experiment = Experiment {
        corewise: String::new(),
        started_unix_ms: 0,
        seed: u64::MAX,
        machine: corewise_machine::generate::machine(2, false, &[]),
        workload: Workload {
            guards: vec![Metric::wall_time()],
            ..Workload::new(vec!["app".into()], "/".into(), Metric::wall_time())
        },
        arms: vec![Arm::new("0", None, ""); 3],
        policy: Policy::default(),
        suite: None,
        stretch: None,
        imported: None,
    };
    let trial = |number: u32| Trial::new(number / 3 + 1, number % 3, number as usize % 3, Outcome::Value(1.0));
    Conducted { experiment, trials: (0..30).map(trial).collect() }
}

#[test]
fn trials_that_would_take_too_long_to_judge_are_refused() {
    let refused = |change: fn(&mut Conducted)| {
        let mut changed = conducted();
        change(&mut changed);
        changed.check().unwrap_err()
    };
    assert_eq!(conducted().check(), Ok(()));
    refused(|conducted| conducted.trials[3].arm = 3);
    refused(|conducted| conducted.trials[3].block = 1_000_000);
    refused(|conducted| conducted.trials[3].observed.minor_faults = u64::MAX);
    refused(|conducted| conducted.trials = vec![conducted.trials[0].clone(); 8_000]);
    refused(|conducted| conducted.experiment.workload.guards = vec![Metric::wall_time(); 10_000]);
    refused(|conducted| conducted.experiment.arms = vec![Arm::new("0", None, ""); 2_000]);
}
