//! What a store keeps, what it refuses, and what it leaves alone.

use std::fs;

use rusqlite::Connection;

use super::*;
use crate::sample::survey;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_survey_comes_back_as_it_was() {
    let folder = folder();
    let path = folder.path().join("made/on the way/history.db");
    let mut store = Store::open(&path).unwrap();
    let (first, second) = (survey(2, 1), survey(4, 2));
    assert_eq!(store.add(&first).unwrap(), 1);
    assert_eq!(store.add(&second).unwrap(), 2);
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.survey(1).unwrap(), first);
    assert_eq!(store.survey(2).unwrap(), second);
}

#[test]
fn lists_tell_each_machine_apart() {
    let folder = folder();
    let mut store = Store::open(folder.path().join("history.db")).unwrap();
    for (cpus, seed) in [(2, 1), (4, 2), (2, 3)] {
        store.add(&survey(cpus, seed)).unwrap();
    }
    let two_cpus = survey(2, 0).machine.fingerprint();
    let ids = |entries: Vec<Entry>| entries.iter().map(|entry| entry.id).collect::<Vec<_>>();
    assert_eq!(ids(store.list(None).unwrap()), [1, 2, 3]);
    assert_eq!(ids(store.list(Some(&two_cpus)).unwrap()), [1, 3]);
    assert!(store.list(Some("no such machine")).unwrap().is_empty());
    assert_eq!(store.list(Some(&two_cpus)).unwrap().last().unwrap().id, 3);
    let expected = Entry {
        id: 2,
        started_unix_ms: 1_760_000_000_002,
        elapsed_s: 30.0,
        fingerprint: survey(4, 0).machine.fingerprint(),
        model_name: Some("Simulated 9000".into()),
        kernel: Some("6.18.2".into()),
        microcode: Some("0x1".into()),
        corewise: "simulated".into(),
        cpus: 4,
        rounds: 2,
        partial: false,
        scope: Scope::Machine,
    };
    assert_eq!(store.list(None).unwrap()[1], expected);
}

#[test]
fn what_an_emulator_made_is_of_another_machine() {
    let folder = folder();
    let mut store = Store::open(folder.path().join("history.db")).unwrap();
    let mut emulated = survey(4, 2);
    emulated.machine.system.emulated = true;
    store.add(&survey(4, 1)).unwrap();
    store.add(&emulated).unwrap();
    assert_eq!(store.list(Some(&survey(4, 1).machine.fingerprint())).unwrap().last().unwrap().id, 1);
    assert_eq!(store.list(Some(&emulated.machine.fingerprint())).unwrap().last().unwrap().id, 2);
    assert!(store.survey(2).unwrap().machine.system.emulated);
}

#[test]
fn a_number_that_does_not_exist_is_told_with_those_that_do() {
    let folder = folder();
    let mut store = Store::open(folder.path().join("history.db")).unwrap();
    let path = store.path().display().to_string();
    let error = |store: &Store, id| store.survey(id).unwrap_err().to_string();
    assert_eq!(error(&store, 1), format!("there is no survey 1 in {path}; it has none yet"));
    for seed in 0..3 {
        store.add(&survey(2, seed)).unwrap();
    }
    assert_eq!(error(&store, 4), format!("there is no survey 4 in {path}; it holds 1-3"));
    assert_eq!(error(&store, -1), format!("there is no survey -1 in {path}; it holds 1-3"));
}

#[test]
fn a_number_is_not_given_twice() {
    let folder = folder();
    let mut store = Store::open(folder.path().join("history.db")).unwrap();
    store.add(&survey(2, 1)).unwrap();
    store.connection.execute("DELETE FROM survey", []).unwrap();
    assert_eq!(store.add(&survey(2, 2)).unwrap(), 2);
}

#[test]
fn numbers_that_json_has_not_are_refused_before_they_are_stored() {
    let folder = folder();
    let mut store = Store::open(folder.path().join("history.db")).unwrap();
    let mut odd = survey(2, 1);
    odd.clock.step_ns = f64::INFINITY;
    let error = store.add(&odd).unwrap_err();
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
    assert_eq!(store.list(None).unwrap(), []);
}

#[test]
fn a_stored_survey_that_makes_no_sense_is_named() {
    let folder = folder();
    let mut store = Store::open(folder.path().join("history.db")).unwrap();
    store.add(&survey(2, 1)).unwrap();
    store.connection.execute("UPDATE survey SET observed = '{\"cpus\": 7}'", []).unwrap();
    let error = store.survey(1).unwrap_err().to_string();
    assert!(error.starts_with("survey 1 in ") && error.contains("cannot be read by this corewise"), "{error}");
}

#[test]
fn opening_to_read_creates_nothing() {
    let folder = folder();
    let path = folder.path().join("below/history.db");
    assert!(Store::open_to_read(&path).unwrap().is_none());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    Store::open(&path).unwrap().add(&survey(2, 1)).unwrap();
    let mut reader = Store::open_to_read(&path).unwrap().unwrap();
    assert_eq!(reader.list(None).unwrap().len(), 1);
    let error = reader.add(&survey(2, 2)).unwrap_err();
    assert!(matches!(error, StoreError::NotWritable { .. }), "{error}");
}

#[test]
fn a_full_disk_is_an_error_and_what_was_stored_stays() {
    let folder = folder();
    let path = folder.path().join("history.db");
    let mut store = Store::open(&path).unwrap();
    store.add(&survey(2, 1)).unwrap();
    let pages: i64 = store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let _: i64 = store.connection.pragma_update_and_check(None, "max_page_count", pages, |row| row.get(0)).unwrap();
    let error = store.add(&survey(64, 2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{} cannot grow: the disk is full; nothing was stored", store.path().display())
    );
    drop(store);
    assert_eq!(Store::open(&path).unwrap().list(None).unwrap().len(), 1);
}

#[test]
fn special_names_of_sqlite_are_files() {
    let folder = folder();
    let path = folder.path().join("history?mode=memory&x=%41#é.db");
    Store::open(&path).unwrap().add(&survey(2, 1)).unwrap();
    assert!(path.is_file());
    assert_eq!(Store::open(&path).unwrap().list(None).unwrap().len(), 1);
    assert!(Store::open("").is_err(), "SQLite would make a database that vanishes");
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
    let error = Store::open(&path).unwrap_err().to_string();
    assert_eq!(Store::open_to_read(&path).unwrap_err().to_string(), error);
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
    let error = Store::open(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::NotADatabase { .. }), "{error}");
}

#[test]
fn another_programs_database_is_left_alone() {
    let make = |sql: &'static str| move |path: &Path| Connection::open(path).unwrap().execute_batch(sql).unwrap();
    let left = "was not changed: choose another store";
    assert_eq!(
        refused(make("CREATE TABLE cookies (name); PRAGMA application_id = 77; PRAGMA user_version = 1")),
        format!("FILE is a database of another program (application id 0x0000004d); {left}")
    );
    assert_eq!(
        refused(make("CREATE TABLE cookies (name)")),
        format!("FILE is a database of another program (application id 0x00000000); {left}")
    );
    assert_eq!(
        refused(make("PRAGMA journal_mode = WAL; CREATE TABLE cookies (name); PRAGMA application_id = 77")),
        format!("FILE is a database of another program (application id 0x0000004d); {left}")
    );
}

/// A store whose connections are closed, so that everything is in the one file.
fn closed_store(path: &Path) {
    let mut store = Store::open(path).unwrap();
    for seed in 0..20 {
        store.add(&survey(8, seed)).unwrap();
    }
}

#[test]
fn a_newer_store_is_left_alone() {
    let error = refused(|path| {
        closed_store(path);
        let connection = Connection::open(path).unwrap();
        connection.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA user_version = 1000").unwrap();
    });
    let known = MIGRATIONS.len();
    assert_eq!(
        error,
        format!(
            "FILE has schema 1000, but this corewise supports schemas up to {known}; it was not changed: use the \
                newer corewise that wrote it, or choose another store"
        )
    );
}

#[test]
fn a_damaged_store_is_left_alone() {
    let error = refused(|path| {
        closed_store(path);
        Connection::open(path).unwrap().execute_batch("PRAGMA journal_mode = DELETE").unwrap();
        let mut bytes = fs::read(path).unwrap();
        for page in 1..bytes.len() / 4096 {
            bytes[page * 4096..page * 4096 + 64].fill(0xee);
        }
        fs::write(path, bytes).unwrap();
    });
    assert!(error.starts_with("FILE is damaged (") && error.contains("was not changed"), "{error}");
    let truncated = refused(|path| {
        closed_store(path);
        Connection::open(path).unwrap().execute_batch("PRAGMA journal_mode = DELETE").unwrap();
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    });
    assert!(truncated.starts_with("FILE is damaged ("), "{truncated}");
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
        assert!(Store::open_to_read(&path).unwrap().is_none());
        assert_eq!(Store::open(&path).unwrap().add(&survey(2, 1)).unwrap(), 1);
    }
}
