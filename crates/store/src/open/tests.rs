//! Schemas old and new, crashes, and processes that open the same file at the same time.

use std::fs;

use corewise_model::Survey;

use super::*;
use crate::schema::MIGRATIONS;

const FIRST: &str = "CREATE TABLE survey (id INTEGER PRIMARY KEY, note TEXT) STRICT;";
const SECOND: &str = "ALTER TABLE survey ADD COLUMN colour TEXT; UPDATE survey SET colour = 'unknown';";

fn notes(connection: &Connection, column: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("SELECT {column} FROM survey ORDER BY id")).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn an_older_schema_is_brought_up_to_date_with_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let old = for_writing(&place(&path), &[FIRST]).unwrap().connection;
    old.execute_batch("INSERT INTO survey (note) VALUES ('one'), ('two')").unwrap();
    drop(old);
    let OpenDatabase { connection: new, schema_before: schema, .. } =
        for_reading(&place(&path), &[FIRST, SECOND]).unwrap().unwrap();
    assert_eq!(schema, 1);
    assert_eq!(notes(&new, "note"), ["one", "two"]);
    assert_eq!(notes(&new, "colour"), ["unknown", "unknown"]);
    assert_eq!(pragma(&new, "user_version").unwrap(), 2);
    let error = for_writing(&place(&path), &[FIRST]).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 2, known: 1, .. }), "{error}");
}

#[test]
fn a_migration_that_fails_leaves_the_old_schema_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let old = for_writing(&place(&path), &[FIRST]).unwrap().connection;
    old.execute_batch("INSERT INTO survey (note) VALUES ('one')").unwrap();
    drop(old);
    let broken = "ALTER TABLE survey ADD COLUMN colour TEXT; ALTER TABLE nowhere ADD COLUMN x;";
    let error = for_writing(&place(&path), &[FIRST, broken]).unwrap_err();
    assert!(matches!(error, StoreError::Sqlite { .. }), "{error}");
    let old = for_writing(&place(&path), &[FIRST]).unwrap().connection;
    assert_eq!(notes(&old, "note"), ["one"]);
    assert!(old.prepare("SELECT colour FROM survey").is_err());
}

/// A database made by hand of the texts of the first four schemas, as SQLite programs of others may have left it.
#[test]
fn the_kinds_of_former_schemas_get_one_series_of_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let hand = Connection::open(&path).unwrap();
    MIGRATIONS[..4].iter().for_each(|schema| hand.execute_batch(schema).unwrap());
    let sample = crate::sample::survey(2, 1);
    let text = serde_json::to_string(&sample).unwrap();
    for id in [2, 5] {
        let sql =
            "INSERT INTO survey VALUES (?1, ?1 * 10, 1.5, 'f', NULL, NULL, NULL, '0.1.0', 2, 2, 0, ?2, 'machine')";
        hand.execute(sql, (id, &text)).unwrap();
    }
    for id in [2, 3, 4] {
        let plan = r#"{"seed": 18446744073709551615}"#;
        hand.execute("INSERT INTO experiment VALUES (?1, ?1, 'f', './app', '0.1.0', ?2)", (id, plan)).unwrap();
    }
    for id in [3, 5, 6] {
        let sql = "INSERT INTO link_map VALUES (?1, 100 - ?1, NULL, NULL, 'imported', 'x.csv', 'cas,store', 2, 1, '0.1.0', '{}')";
        hand.execute(sql, [id]).unwrap();
    }
    for (experiment, number) in [(2, 0), (2, 1), (4, 0)] {
        let observed = format!("[{experiment}, {number}]");
        hand.execute("INSERT INTO trial VALUES (?1, ?2, ?3)", (experiment, number, observed)).unwrap();
    }
    // Somebody deleted experiment 9 by hand: nobody else gets its number.
    hand.execute_batch("UPDATE sqlite_sequence SET seq = 9 WHERE name = 'experiment'").unwrap();
    hand.execute_batch("PRAGMA application_id = 0x63727773; PRAGMA user_version = 4").unwrap();
    drop(hand);
    let mut store = crate::Store::open(&path).unwrap();
    let entries = store.entries(None).unwrap();
    let kinds = entries.iter().map(|entry| (entry.kind.as_str(), entry.was, entry.number, entry.trials));
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [
            ("experiment", Some(2), 10, 2),
            ("experiment", None, 3, 0),
            ("experiment", None, 4, 1),
            ("survey", None, 2, 0),
            ("survey", None, 5, 0),
            ("links", None, 6, 0),
            ("links", Some(5), 11, 0),
            ("links", Some(3), 12, 0),
        ]
    );
    let renumbered: Vec<i64> = store.renumbered().iter().map(|entry| entry.number).collect();
    assert_eq!(renumbered, [10, 11, 12]);
    assert_eq!(store.renumbered_to("experiment", 2).unwrap(), Some(10));
    assert_eq!(store.renumbered_to("links", 2).unwrap(), None);
    assert_eq!(store.get::<Survey>(5).unwrap(), sample);
    let said = |place: usize| entries[place].summary.as_ref().map(|summary| summary.what.as_str());
    assert_eq!(said(0), Some("./app"));
    assert_eq!(entries[0].summary.as_ref().map(|summary| summary.seed), Some(u64::MAX));
    assert_eq!(said(3), Some("2 cpus, 2 rounds in 2 s"));
    assert_eq!(store.add(&sample).unwrap(), 13);
    drop(store);
    assert_eq!(crate::Store::open(&path).unwrap().renumbered(), [], "once is enough");
    let raw = Connection::open(&path).unwrap();
    let trials: String =
        raw.query_row("SELECT group_concat(artifact || observed, ' ') FROM trial", [], |row| row.get(0)).unwrap();
    assert_eq!(trials, "4[4, 0] 10[2, 0] 10[2, 1]");
}

/// A process that dies while it creates the database leaves the file half written beside a journal that undoes it.
#[test]
fn a_creation_that_was_cut_short_is_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let (made, copy) = (folder.path().join("made.db"), folder.path().join("history.db"));
    let mut connection = Connection::open(&made).unwrap();
    // A small cache makes SQLite write the journal out before the commit.
    connection.execute_batch("PRAGMA cache_size = 1; VACUUM").unwrap();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    transaction.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    transaction.execute_batch(MIGRATIONS[0]).unwrap();
    transaction.execute_batch("CREATE TABLE filler (x); INSERT INTO filler VALUES (zeroblob(500000))").unwrap();
    fs::copy(folder.path().join("made.db-journal"), folder.path().join("history.db-journal")).unwrap();
    transaction.commit().unwrap();
    fs::copy(&made, &copy).unwrap();
    assert!(matches!(look(&place(&copy), MIGRATIONS), Ok(Found::Interrupted)));
    let opened = for_writing(&place(&copy), MIGRATIONS).unwrap().connection;
    let tables: i64 =
        opened.query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'filler'", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 0);
    assert_eq!(pragma(&opened, "user_version").unwrap(), newest(MIGRATIONS));
}

#[test]
fn the_mark_of_ours_is_four_letters() {
    assert_eq!(APPLICATION_ID, 0x6372_7773);
}

fn place(path: &Path) -> FilePlace {
    FilePlace::make_private(path).unwrap()
}

/// Whoever may exchange the folder of a store could have another one opened than the one that was checked.
#[cfg(unix)]
#[test]
fn a_store_that_is_exchanged_is_never_taken_for_this_users() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::atomic::{AtomicBool, Ordering};

    const TRIES: usize = 1_000;
    let all = tempfile::tempdir().unwrap();
    let open = all.path().join("open");
    let [x, y, third] = ["x", "y", "third"].map(|name| open.join(name));
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    for (folder, mode) in [(&x, 0o777), (&y, 0o700)] {
        fs::create_dir(folder).unwrap();
        let made = all.path().join("made.db");
        drop(for_writing(&place(&made), MIGRATIONS).unwrap());
        fs::rename(&made, folder.join("s.db")).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    }
    let path = x.join("s.db");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for (from, to) in [(&x, &third), (&y, &x), (&third, &y)] {
                    fs::rename(from, to).unwrap();
                }
            }
        });
        for _ in 0..TRIES {
            let Ok(place) = FilePlace::find(&path) else { continue };
            if let Ok(Some(opened)) = for_reading(&place, MIGRATIONS) {
                assert!(opened.origin.writers().is_some(), "{:?}", opened.origin);
            }
            assert!(for_writing(&place, MIGRATIONS).is_err());
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
