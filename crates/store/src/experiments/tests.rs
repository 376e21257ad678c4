//! Experiments are stored once, their trials one by one, by several writers, and come back as they were.

use corewise_model::CpuSet;
use corewise_model::experiment::Policy;
use corewise_model::simulate;
use corewise_model::trial::{Arm, Experiment, Metric, Observed, Outcome, Trial, Workload};

use crate::{Store, StoreError};

fn experiment(cpus: u32) -> Experiment {
    let arm = |name: &str, cpus| Arm { name: name.to_owned(), cpus, threads: None, reason: "a test".to_owned() };
    Experiment {
        corewise: "0.1.0".to_owned(),
        started_unix_ms: 1_760_000_000_000,
        seed: 42,
        machine: simulate::machine(cpus, false, &[(CpuSet::first(cpus), 32)]),
        workload: Workload {
            command: vec!["./app".to_owned(), "a b".to_owned()],
            folder: "/tmp".to_owned(),
            metric: Metric { name: "rate".into(), pattern: Some("([0-9]+)".into()), higher_is_better: true },
            guards: vec![Metric::wall_time()],
            timeout_s: Some(1.5),
            threads_as: Vec::new(),
            pins_as: Vec::new(),
        },
        arms: vec![arm("OS default", None), arm("0", Some(CpuSet::of(0)))],
        policy: Policy::default(),
        suite: None,
    }
}

fn trial(block: u32, value: f64) -> Trial {
    Trial {
        block,
        place: 1,
        arm: 1,
        started_unix_ms: 1_760_000_000_001,
        repeats: 1,
        outcome: Outcome::Value(value),
        guards: vec![Some(0.5), None],
        observed: Observed { wall_s: 0.5, used: CpuSet::of(0), migrations: Some(3), ..Observed::default() },
    }
}

#[test]
fn they_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let mut store = Store::open(&path).unwrap();
    let (first, second) = (store.begin(&experiment(2)).unwrap(), store.begin(&experiment(4)).unwrap());
    let failed = Outcome::Failed { why: "exit status 1".into(), output: "no\nluck".into() };
    let trials = [trial(0, 1.0), trial(1, 2.5), Trial { outcome: failed, ..trial(1, 0.0) }];
    // Written by two, as by a session and by the one that goes on.
    store.add_trial(first, &trials[0]).unwrap();
    store.add_trial(second, &trial(9, 9.0)).unwrap();
    let mut other = Store::open(&path).unwrap();
    other.add_trial(first, &trials[1]).unwrap();
    store.add_trial(first, &trials[2]).unwrap();
    let reader = Store::open_to_read(&path).unwrap().unwrap();
    assert_eq!(reader.experiment(first).unwrap(), (experiment(2), trials.to_vec()));
    let entries = reader.experiments(None).unwrap();
    assert_eq!(entries.iter().map(|entry| (entry.id, entry.trials)).collect::<Vec<_>>(), [(1, 3), (2, 1)]);
    assert_eq!(entries[0].command, "./app a b");
    let of_one = reader.experiments(Some(&experiment(4).machine.fingerprint())).unwrap();
    assert_eq!(of_one, entries[1..]);
}

#[test]
fn what_is_not_there_or_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("history.db")).unwrap();
    store.begin(&experiment(2)).unwrap();
    let words = store.experiment(7).unwrap_err().to_string();
    assert!(words.starts_with("there is no experiment 7 in ") && words.ends_with("; it holds 1"), "{words}");
    assert!(store.add_trial(7, &trial(0, 1.0)).is_err(), "a trial of an experiment that is not there");
    assert!(matches!(store.add_trial(1, &trial(0, f64::NAN)), Err(StoreError::Unwritable { .. })));
    assert!(store.experiment(1).unwrap().1.is_empty());
}
