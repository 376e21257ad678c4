//! Stores of every former schema, each written by the last version that had it, are opened, and nothing is lost.
//!
//! Schema 4 was filled by the program itself; schemas 1 to 3 by programs that called that version's store with simulated surveys.
//! To make one: check out the last commit before the next schema, and store a few of each kind.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::copy;
use std::path::Path;

use corewise_model::conducted::Conducted;
use corewise_model::links::map::LinkMap;
use corewise_model::trial::{Experiment, Trial};
use corewise_model::{Artifact, Survey};
use corewise_store::{Entry, Store};
use flate2::read::GzDecoder;
use rusqlite::Connection;

/// What a table of a former schema holds: numbers and JSON. Nothing where the schema had no such table.
fn rows(raw: &Connection, table: &str, json: &str) -> Vec<(i64, String)> {
    let Ok(mut found) = raw.prepare(&format!("SELECT id, {json} FROM {table} ORDER BY id")) else { return Vec::new() };
    found.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

fn trials(raw: &Connection) -> BTreeMap<i64, Vec<Trial>> {
    let mut of = BTreeMap::<i64, Vec<Trial>>::new();
    let Ok(mut found) = raw.prepare("SELECT experiment, observed FROM trial ORDER BY experiment, number") else {
        return of;
    };
    let rows = found.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?))).unwrap();
    rows.map(Result::unwrap)
        .for_each(|(id, text)| of.entry(id).or_default().push(serde_json::from_str(&text).unwrap()));
    of
}

/// The artifact that had a number among its kind, by its old number and by its new one.
fn found<T: Artifact>(store: &Store, old: i64) -> (Entry, T) {
    let number = store.renumbered_to(T::KIND, old).unwrap().unwrap_or(old);
    (store.entry(number).unwrap(), store.get(number).unwrap())
}

/// Opens a store of a schema; gives how many surveys, experiments, maps and trials it had, and which got other numbers.
fn migrated(schema: u32) -> ([usize; 4], Vec<(String, i64, i64)>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/stores/schema-{schema}.db.gz"));
    copy(&mut GzDecoder::new(File::open(packed).unwrap()), &mut File::create(&path).unwrap()).unwrap();
    let raw = Connection::open(&path).unwrap();
    assert_eq!(raw.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0)).unwrap(), schema);
    let (surveys, maps) = (rows(&raw, "survey", "observed"), rows(&raw, "link_map", "observed"));
    let (experiments, mut trials) = (rows(&raw, "experiment", "plan"), trials(&raw));
    let made = trials.values().map(Vec::len).sum();
    drop(raw);
    let store = Store::open_to_read(&path).unwrap().unwrap();
    store.check().unwrap();
    let entries = store.entries(None).unwrap();
    assert_eq!(entries.len(), surveys.len() + experiments.len() + maps.len());
    assert!(entries.is_sorted_by_key(|entry| entry.started_unix_ms));
    for (id, text) in &surveys {
        let (entry, survey) = found::<Survey>(&store, *id);
        assert_eq!((entry.number, &survey), (*id, &serde_json::from_str(text).unwrap()), "surveys keep their numbers");
        assert_eq!(entry.summary, Some(survey.summary()));
        assert_eq!(entry.fingerprint, Some(survey.machine.fingerprint()));
    }
    for (id, text) in &experiments {
        let (entry, made) = found::<Conducted>(&store, *id);
        let experiment: Experiment = serde_json::from_str(text).unwrap();
        let trials = trials.remove(id).unwrap_or_default();
        assert_eq!((&entry.summary, entry.trials as usize), (&Some(made.summary()), trials.len()));
        assert_eq!(made, Conducted { experiment, trials });
    }
    for (id, text) in &maps {
        let (entry, map) = found::<LinkMap>(&store, *id);
        assert_eq!(entry.summary, Some(map.summary()));
        assert_eq!(map, serde_json::from_str::<LinkMap>(text).unwrap());
    }
    let renumbered = store.renumbered().iter();
    let renumbered = renumbered.map(|entry| (entry.kind.clone(), entry.was.unwrap(), entry.number)).collect();
    drop(store);
    assert_eq!(Store::open(&path).unwrap().renumbered(), [], "that is said once");
    ([surveys.len(), experiments.len(), maps.len(), made], renumbered)
}

#[test]
fn a_store_of_schema_1_loses_nothing() {
    assert_eq!(migrated(1), ([3, 0, 0, 0], vec![]));
}

#[test]
fn a_store_of_schema_2_loses_nothing() {
    let (counts, renumbered) = migrated(2);
    assert_eq!(counts, [3, 5, 0, 4]);
    assert_eq!(renumbered, [1, 2, 3].map(|old| ("experiment".to_owned(), old, old + 5)));
}

#[test]
fn a_store_of_schema_3_loses_nothing() {
    let (counts, renumbered) = migrated(3);
    assert_eq!(counts, [4, 5, 0, 4]);
    assert_eq!(renumbered, [1, 2, 3, 4].map(|old| ("experiment".to_owned(), old, old + 5)));
}

#[test]
fn a_store_of_schema_4_loses_nothing() {
    let (counts, renumbered) = migrated(4);
    assert_eq!(counts, [3, 2, 1, 16]);
    assert_eq!(
        renumbered,
        [("links", 1, 4), ("experiment", 1, 5), ("experiment", 2, 6)].map(|(kind, old, new)| (
            kind.to_owned(),
            old,
            new
        ))
    );
}
