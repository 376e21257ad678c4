//! What a store keeps, what it refuses, and what it leaves alone.

mod own;

use std::fs;

use corewise_machine::{CpuSet, generate};
use corewise_model::Survey;
use corewise_model::artifact::{ArtifactOrigin, ArtifactProvenance};
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::links::map::{CostUnit, LinkMap, LinkSeries, SpoiledSamples};
use corewise_model::links::{LinkFindings, LinkPair, TalkWay};
use corewise_model::simulate::layout::MachineLayout;
use corewise_model::survey::SurveyScope;
use corewise_model::trial::{
    Experiment, PlacementArm, Trial, TrialMetric, TrialObservations, TrialOutcome, TriedWorkload,
};
use corewise_statistics::experiment::JudgingPolicy;
use rusqlite::Connection;

use super::*;
use crate::sample::sample_survey;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn experiment(cpus: u32) -> ExperimentRecord {
    let arm = |name: &str, cpus| PlacementArm::new(name, cpus, "a test");
    ExperimentRecord::from(Experiment {
        corewise: "0.1.0".to_owned(),
        started_unix_ms: 1_760_000_000_000,
        seed: u64::MAX,
        machine: generate::one_package_machine(cpus, false, &[(CpuSet::first_cpus(cpus), 32)]),
        workload: TriedWorkload {
            guards: vec![TrialMetric::wall_time()],
            timeout_s: Some(1.5),
            ..TriedWorkload::new(
                vec!["./app".to_owned(), "a b".to_owned()],
                "/tmp".into(),
                TrialMetric {
                    name: "rate".into(),
                    pattern: Some("([0-9]+)".into()),
                    higher_is_better: true,
                    reading: None,
                },
            )
        },
        arms: vec![arm("OS default", None), arm("0", Some(CpuSet::from_cpu(0)))],
        policy: JudgingPolicy::default(),
        suite: None,
        stretch: None,
        origin: ArtifactOrigin::Measured,
    })
}

fn trial(block: u32, value: f64) -> Trial {
    Trial {
        started_unix_ms: 1_760_000_000_001,
        guards: vec![Some(0.1 + 0.2), None],
        observed: TrialObservations {
            wall_s: 5e-324,
            used: CpuSet::from_cpu(0),
            migrations: Some(3),
            ..TrialObservations::default()
        },
        ..Trial::new(block, 1, 1, TrialOutcome::Value(value))
    }
}

fn links(origin: ArtifactOrigin) -> LinkMap {
    let machine = MachineLayout { packages: 1, caches: 2, cores: 2, threads: 1, adjacent: false }.build_machine();
    let pair = LinkPair::of_both(0, 2, vec![80.5, 81.25], vec![79.0]);
    LinkMap {
        provenance: ArtifactProvenance {
            origin,
            corewise: "0.1.0".into(),
            started_unix_ms: 1_795_000_000_000,
            elapsed_s: 1.5,
            budget_s: 60.0,
            seed: 7,
            partial: false,
        },
        cpus: machine.allowed.clone(),
        machine: Some(machine),
        clock: None,
        searched: Vec::new(),
        unfinished: false,
        unit: CostUnit::Nanoseconds,
        series: vec![LinkSeries {
            what: TalkWay::Channel { bound: Some(64) },
            links: LinkFindings { pairs: vec![pair], possible_pairs: 6, gaps: Vec::new() },
            held_out: Vec::new(),
        }],
        clocks: Vec::new(),
        spoiled: SpoiledSamples::default(),
        parallel: None,
        gaps: Vec::new(),
    }
}

fn numbers(entries: &[StoredEntry]) -> Vec<i64> {
    entries.iter().map(|entry| entry.number).collect()
}

#[test]
fn every_kind_comes_back_as_it_was_under_one_series_of_numbers() {
    let folder = folder();
    let path = folder.path().join("made/on the way/history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    assert_eq!(store.add_artifact(&sample_survey(2, 1)).unwrap(), 1);
    assert_eq!(store.add_artifact(&experiment(2)).unwrap(), 2);
    assert_eq!(store.add_artifact(&links(ArtifactOrigin::Measured)).unwrap(), 3);
    assert_eq!(store.add_artifact(&sample_survey(4, 2)).unwrap(), 4);
    drop(store);
    let store = ArtifactStore::open(&path).unwrap();
    assert_eq!(store.get_artifact::<Survey>(1).unwrap(), sample_survey(2, 1));
    assert_eq!(store.get_artifact::<ExperimentRecord>(2).unwrap(), experiment(2));
    assert_eq!(store.get_artifact::<LinkMap>(3).unwrap(), links(ArtifactOrigin::Measured));
    assert_eq!(store.get_artifact::<Survey>(4).unwrap(), sample_survey(4, 2));
}

#[test]
fn trials_are_added_one_by_one() {
    let folder = folder();
    let path = folder.path().join("history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    let (first, second) = (store.add_artifact(&experiment(2)).unwrap(), store.add_artifact(&experiment(4)).unwrap());
    let failed = TrialOutcome::Failed { why: "exit status 1".into(), output: "no\nluck \u{1f980}".into() };
    let trials = [trial(0, 1.0 / 3.0), trial(1, 1e99), Trial { outcome: failed, ..trial(1, 0.0) }];
    // Written by two, as by a session and by its continuation.
    store.add_trial(first, &trials[0]).unwrap();
    store.add_trial(second, &trial(9, 9.0)).unwrap();
    let mut other = ArtifactStore::open(&path).unwrap();
    other.add_trial(first, &trials[1]).unwrap();
    store.add_trial(first, &trials[2]).unwrap();
    let reader = ArtifactStore::open_to_read(&path).unwrap().unwrap();
    assert_eq!(
        reader.get_artifact::<ExperimentRecord>(first).unwrap(),
        ExperimentRecord { trials: trials.to_vec(), ..experiment(2) }
    );
    let entries = reader.list_entries().unwrap();
    assert_eq!(entries.iter().map(|entry| (entry.number, entry.trials)).collect::<Vec<_>>(), [(1, 3), (2, 1)]);
    assert_eq!(entries[0].summary.as_ref().unwrap().what, "./app a b");
    let machine = experiment(4).experiment.machine;
    let of_one = reader.own_artifacts::<ExperimentRecord>(&machine, |_| true).unwrap();
    assert_eq!(of_one.map(|read| read.unwrap().0).collect::<Vec<_>>(), [2]);
    assert!(matches!(store.add_trial(7, &trial(0, 1.0)), Err(StoreError::Missing { number: 7, .. })));
    assert!(matches!(store.add_trial(1, &trial(0, f64::NAN)), Err(StoreError::Unwritable { .. })));
}

#[test]
fn lists_say_what_is_what_and_tell_machines_apart() {
    let folder = folder();
    let mut store = ArtifactStore::open(folder.path().join("history.db")).unwrap();
    for (cpus, seed) in [(2, 1), (4, 2), (2, 3)] {
        store.add_artifact(&sample_survey(cpus, seed)).unwrap();
    }
    assert_eq!(numbers(&store.list_entries().unwrap()), [1, 2, 3]);
    assert_eq!(own(&store, 2), [3, 1]);
    assert!(own(&store, 3).is_empty());
    let mut emulated = sample_survey(4, 9);
    emulated.machine.system.emulated = true;
    emulated.provenance.scope = SurveyScope::Tail;
    emulated.provenance.partial = true;
    store.add_artifact(&emulated).unwrap();
    store
        .add_artifact(&links(ArtifactOrigin::Imported {
            file: "a,b.csv".into(),
            format: "csv".into(),
            remarks: Vec::new(),
        }))
        .unwrap();
    assert_eq!(own(&store, 4), [2], "what an emulator made is of another machine");
    let expected = StoredEntry {
        number: 2,
        kind: "survey".into(),
        started_unix_ms: 1_760_000_000_002,
        fingerprint: Some(sample_survey(4, 0).machine.fingerprint()),
        deleted_unix_ms: None,
        trials: 0,
        summary: Some(ArtifactSummary {
            what: "4 cpus, 2 rounds in 30 s".into(),
            origin: ArtifactOrigin::Measured,
            partial: false,
            processor: Some("Simulated 9000".into()),
            kernel: Some("6.18.2".into()),
            microcode: Some("0x1".into()),
            corewise: "simulated".into(),
            seed: 2,
        }),
    };
    let entries = store.list_entries().unwrap();
    assert_eq!(entries[1], expected);
    let said = |place: usize| {
        let summary = entries[place].summary.as_ref().unwrap();
        (summary.what.as_str(), summary.origin.describe_origin(), summary.partial)
    };
    assert_eq!(said(3), ("tail: 4 cpus, 2 rounds in 30 s", None, true));
    assert_eq!(said(4), ("1 pair of 4 cpus (channel)", Some("imported from a,b.csv".to_owned()), false));
}

/// The numbers of the surveys of a machine with this number of cpus, the latest first.
fn own(store: &ArtifactStore, cpus: u32) -> Vec<i64> {
    let machine = sample_survey(cpus, 0).machine;
    let own = store.own_artifacts::<Survey>(&machine, |_| true).unwrap();
    own.map(|read| read.unwrap().0).collect()
}

#[test]
fn a_number_that_is_no_survey_says_what_it_is() {
    let folder = folder();
    let mut store = ArtifactStore::open(folder.path().join("history.db")).unwrap();
    let path = store.path().display().to_string();
    let error = |store: &ArtifactStore, number| store.get_artifact::<Survey>(number).unwrap_err().to_string();
    assert_eq!(error(&store, 1), format!("there is no number 1 in {path}; it has nothing yet"));
    for seed in 0..3 {
        store.add_artifact(&sample_survey(2, seed)).unwrap();
    }
    store.add_artifact(&experiment(2)).unwrap();
    assert_eq!(error(&store, 5), format!("there is no number 5 in {path}; it has 1-4"));
    assert_eq!(error(&store, -1), format!("there is no number -1 in {path}; it has 1-4"));
    assert_eq!(error(&store, 4), format!("number 4 in {path} is of the kind experiment, not survey"));
    store.delete_artifacts(&[2]).unwrap();
    assert_eq!(error(&store, 2), format!("survey 2 in {path} was deleted"));
    assert_eq!(error(&store, 5), format!("there is no number 5 in {path}; it has 1, 3-4"));
}

#[test]
fn what_is_deleted_leaves_its_line_and_gives_back_the_room() {
    let folder = folder();
    let path = folder.path().join("history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    store.add_artifact(&sample_survey(2, 1)).unwrap();
    store.add_artifact(&experiment(2)).unwrap();
    store.add_trial(2, &trial(0, 1.0)).unwrap();
    for seed in 0..30 {
        store.add_artifact(&sample_survey(64, seed)).unwrap();
    }
    drop(store);
    let full = fs::metadata(&path).unwrap().len();
    let mut store = ArtifactStore::open(&path).unwrap();
    let all = store.list_entries().unwrap();
    assert!(matches!(store.delete_artifacts(&[2, 99]), Err(StoreError::Missing { number: 99, .. })));
    assert_eq!(store.list_entries().unwrap(), all, "all or none");
    let most: Vec<i64> = (2..32).chain([2]).collect();
    let gone = store.delete_artifacts(&most).unwrap();
    assert_eq!(numbers(&gone), (2..32).collect::<Vec<_>>());
    assert_eq!(gone[0].summary.as_ref().unwrap().what, "./app a b");
    let left = store.find_entry(2).unwrap();
    assert_eq!((left.kind.as_str(), left.started_unix_ms, left.trials), ("experiment", 1_760_000_000_000, 0));
    assert!(left.deleted_unix_ms.unwrap() > 1_760_000_000_000 && left.summary.is_none());
    assert!(matches!(store.delete_artifacts(&[1, 2]), Err(StoreError::Deleted { number: 2, .. })));
    let late = store.add_trial(2, &trial(0, 1.0)).unwrap_err().to_string();
    assert!(late.starts_with("experiment 2 in ") && late.ends_with(" was deleted"), "{late}");
    assert_eq!(store.add_artifact(&sample_survey(2, 2)).unwrap(), 33, "a number is not given twice");
    drop(store);
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.len() as u64 * 4 < full, "{} of {full} bytes", bytes.len());
    assert!(!bytes.windows(5).any(|window| window == b"./app"), "what was deleted is still in the file");
}

/// A store may come from anybody: what is in it is checked before anything is computed of it.
#[test]
fn what_no_corewise_writes_is_refused_where_it_is_read() {
    let folder = folder();
    let path = folder.path().join("history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    let wrong = [Trial { arm: 99, ..trial(1, 1.0) }, Trial { block: u32::MAX, ..trial(1, 1.0) }];
    for trial in wrong {
        let number = store.add_artifact(&experiment(2)).unwrap();
        store.add_trial(number, &trial).unwrap();
        let error = store.get_artifact::<ExperimentRecord>(number).unwrap_err().to_string();
        assert!(error.contains("trial 0 is none of its placements or blocks"), "{error}");
    }
    let mut experiments = [experiment(2), experiment(2), experiment(2)];
    experiments[0].experiment.arms.clear();
    experiments[1].experiment.policy.error_rate = 0.0;
    experiments[2].experiment.workload.timeout_s = Some(1e300);
    for experiment in experiments {
        let number = store.add_artifact(&experiment).unwrap();
        assert!(matches!(store.get_artifact::<ExperimentRecord>(number), Err(StoreError::Unreadable { .. })));
    }
    drop(store);
    let direct = Connection::open(&path).unwrap();
    direct.execute_batch("CREATE TRIGGER t AFTER INSERT ON artifact BEGIN DELETE FROM artifact; END").unwrap();
    drop(direct);
    let error = ArtifactStore::open(&path).unwrap_err().to_string();
    assert!(error.contains("it has a trigger t"), "{error}");
}

#[test]
fn numbers_that_json_has_not_are_refused_before_they_are_stored() {
    let folder = folder();
    let mut store = ArtifactStore::open(folder.path().join("history.db")).unwrap();
    let mut odd = sample_survey(2, 1);
    odd.clock.step_ns = f64::INFINITY;
    let error = store.add_artifact(&odd).unwrap_err();
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
    assert_eq!(store.list_entries().unwrap(), []);
}

#[test]
fn a_stored_survey_that_makes_no_sense_is_named() {
    let folder = folder();
    let mut store = ArtifactStore::open(folder.path().join("history.db")).unwrap();
    store.add_artifact(&sample_survey(2, 1)).unwrap();
    store.connection.execute("UPDATE artifact SET observed = '{\"cpus\": 7}'", []).unwrap();
    let error = store.get_artifact::<Survey>(1).unwrap_err().to_string();
    assert!(error.starts_with("survey 1 in ") && error.contains("cannot be read by this corewise"), "{error}");
}

#[test]
fn opening_to_read_creates_nothing() {
    let folder = folder();
    let path = folder.path().join("below/history.db");
    assert!(ArtifactStore::open_to_read(&path).unwrap().is_none());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    ArtifactStore::open(&path).unwrap().add_artifact(&sample_survey(2, 1)).unwrap();
    let mut reader = ArtifactStore::open_to_read(&path).unwrap().unwrap();
    assert_eq!(reader.list_entries().unwrap().len(), 1);
    let error = reader.add_artifact(&sample_survey(2, 2)).unwrap_err();
    assert!(matches!(error, StoreError::NotWritable { .. }), "{error}");
}

#[test]
fn a_full_disk_is_an_error_and_what_was_stored_stays() {
    let folder = folder();
    let path = folder.path().join("history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    store.add_artifact(&sample_survey(2, 1)).unwrap();
    let pages: i64 = store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let _: i64 = store.connection.pragma_update_and_check(None, "max_page_count", pages, |row| row.get(0)).unwrap();
    let error = store.add_artifact(&sample_survey(64, 2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{} cannot grow: the disk is full; nothing was stored", store.path().display())
    );
    drop(store);
    assert_eq!(ArtifactStore::open(&path).unwrap().list_entries().unwrap().len(), 1);
}

#[test]
fn special_names_of_sqlite_are_files() {
    let folder = folder();
    let path = folder.path().join("history?mode=memory&x=%41#é.db");
    ArtifactStore::open(&path).unwrap().add_artifact(&sample_survey(2, 1)).unwrap();
    assert!(path.is_file());
    assert_eq!(ArtifactStore::open(&path).unwrap().list_entries().unwrap().len(), 1);
    assert!(ArtifactStore::open("").is_err(), "SQLite would make a database that vanishes");
}

/// What a database looks like to the file system: each file of the folder with its bytes.
fn contents(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap())
        .map(|file| (file.file_name(), fs::read(file.path()).unwrap()))
        .collect();
    files.sort();
    files
}

/// Opens a file that a function makes, both ways; gives the words of the error, and checks that nothing was changed.
fn refused(make: impl FnOnce(&Path)) -> String {
    let folder = folder();
    let path = folder.path().join("history.db");
    make(&path);
    let before = contents(folder.path());
    let error = ArtifactStore::open(&path).unwrap_err().to_string();
    assert_eq!(ArtifactStore::open_to_read(&path).unwrap_err().to_string(), error);
    assert!(contents(folder.path()) == before, "the folder was changed");
    error.replace(&path.display().to_string(), "FILE")
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let words = "FILE is not a database and was not changed: move it away, or choose another store";
    assert_eq!(refused(|path| fs::write(path, "dear diary\n").unwrap()), words);
    assert_eq!(refused(|path| fs::write(path, vec![0; 8192]).unwrap()), words);
    assert_eq!(refused(|path| fs::write(path, b"SQLite format 3\0 or so").unwrap()), words);
}

#[test]
fn a_folder_is_no_store() {
    let folder = folder();
    let error = ArtifactStore::open(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::NotADatabase { .. }), "{error}");
}

#[test]
fn another_programs_database_is_left_alone() {
    let make = |sql: &'static str| move |path: &Path| Connection::open(path).unwrap().execute_batch(sql).unwrap();
    let left = "was not changed: choose another store";
    assert_eq!(
        refused(make("CREATE TABLE cookies (name); PRAGMA application_id = 77; PRAGMA user_version = 1")),
        format!("FILE is a database of another program (application id 0x0000004d) and {left}")
    );
    assert_eq!(
        refused(make("CREATE TABLE cookies (name)")),
        format!("FILE is a database of another program (application id 0x00000000) and {left}")
    );
    assert_eq!(
        refused(make("PRAGMA journal_mode = WAL; CREATE TABLE cookies (name); PRAGMA application_id = 77")),
        format!("FILE is a database of another program (application id 0x0000004d) and {left}")
    );
}

/// A store whose connections are closed, so that everything is in the one file.
fn closed_store(path: &Path) {
    let mut store = ArtifactStore::open(path).unwrap();
    for seed in 0..20 {
        store.add_artifact(&sample_survey(8, seed)).unwrap();
    }
}

#[test]
fn a_store_of_another_layout_is_left_alone() {
    for version in [0, 2, 5, 1000] {
        let error = refused(|path| {
            closed_store(path);
            let sql = format!("PRAGMA journal_mode = DELETE; PRAGMA user_version = {version}");
            Connection::open(path).unwrap().execute_batch(&sql).unwrap();
        });
        assert_eq!(
            error,
            format!(
                "FILE has layout {version}, but this corewise reads layout 1; it was not changed: use the corewise that \
                    wrote it, or choose another store"
            )
        );
    }
}

/// Damages a store; gives the words of the check, or of the refusal.
fn damaged(damage: impl Fn(Vec<u8>) -> Vec<u8>) -> String {
    let folder = folder();
    let path = folder.path().join("history.db");
    closed_store(&path);
    Connection::open(&path).unwrap().execute_batch("PRAGMA journal_mode = DELETE").unwrap();
    fs::write(&path, damage(fs::read(&path).unwrap())).unwrap();
    let before = contents(folder.path());
    let error = match ArtifactStore::open_to_read(&path) {
        Ok(store) => store.unwrap().check_database().unwrap_err(),
        Err(error) => error,
    };
    assert!(contents(folder.path()) == before, "the folder was changed");
    error.to_string().replace(&path.display().to_string(), "FILE")
}

#[test]
fn damage_is_found_by_the_check() {
    let overwritten = |mut bytes: Vec<u8>| {
        for page in 1..bytes.len() / 4096 {
            bytes[page * 4096..page * 4096 + 64].fill(0xee);
        }
        bytes
    };
    let truncated = |bytes: Vec<u8>| bytes[..bytes.len() / 2].to_owned();
    let error = damaged(overwritten);
    assert!(error.starts_with("FILE is damaged (") && error.contains("was not changed"), "{error}");
    assert!(damaged(truncated).starts_with("FILE is damaged ("));
}

#[test]
fn what_is_damaged_is_an_error_where_it_is_read() {
    let folder = folder();
    let path = folder.path().join("history.db");
    closed_store(&path);
    let mut bytes = fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0xee);
    fs::write(&path, bytes).unwrap();
    let mut store = ArtifactStore::open(&path).unwrap();
    let read =
        (1..=20).map(|number| store.get_artifact::<Survey>(number)).filter_map(StoreResult::err).next_back().unwrap();
    assert!(matches!(read, StoreError::Damaged { .. } | StoreError::Unreadable { .. }), "{read}");
    let deleted = store.delete_artifacts(&(1..=20).collect::<Vec<_>>()).unwrap_err();
    assert!(matches!(deleted, StoreError::Damaged { .. }), "{deleted}");
}

#[test]
fn an_empty_file_and_a_database_without_tables_become_stores() {
    for sql in [None, Some("VACUUM")] {
        let folder = folder();
        let path = folder.path().join("history.db");
        fs::write(&path, "").unwrap();
        if let Some(sql) = sql {
            Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        }
        assert!(ArtifactStore::open_to_read(&path).unwrap().is_none());
        assert_eq!(ArtifactStore::open(&path).unwrap().add_artifact(&sample_survey(2, 1)).unwrap(), 1);
    }
}
