//! Schemas old and new, crashes, and processes that open the same file at the same time.

use std::fs;

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
    let old = for_writing(&path, &[FIRST]).unwrap();
    old.execute_batch("INSERT INTO survey (note) VALUES ('one'), ('two')").unwrap();
    drop(old);
    let new = for_reading(&path, &[FIRST, SECOND]).unwrap().unwrap();
    assert_eq!(notes(&new, "note"), ["one", "two"]);
    assert_eq!(notes(&new, "colour"), ["unknown", "unknown"]);
    assert_eq!(pragma(&new, "user_version").unwrap(), 2);
    let error = for_writing(&path, &[FIRST]).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 2, known: 1, .. }), "{error}");
}

#[test]
fn a_migration_that_fails_leaves_the_old_schema_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let old = for_writing(&path, &[FIRST]).unwrap();
    old.execute_batch("INSERT INTO survey (note) VALUES ('one')").unwrap();
    drop(old);
    let broken = "ALTER TABLE survey ADD COLUMN colour TEXT; ALTER TABLE nowhere ADD COLUMN x;";
    let error = for_writing(&path, &[FIRST, broken]).unwrap_err();
    assert!(matches!(error, StoreError::Sqlite { .. }), "{error}");
    let old = for_writing(&path, &[FIRST]).unwrap();
    assert_eq!(notes(&old, "note"), ["one"]);
    assert!(old.prepare("SELECT colour FROM survey").is_err());
}

/// A database made by hand of the text of schema 1 opens with whatever this corewise's newest schema is.
#[test]
fn a_database_of_the_first_schema_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let hand = Connection::open(&path).unwrap();
    hand.execute_batch(include_str!("../schema/001.sql")).unwrap();
    let survey = serde_json::to_string(&crate::sample::survey(2, 1)).unwrap();
    let sql = "INSERT INTO survey VALUES (5, 0, 1.5, 'f', NULL, NULL, NULL, '0.1.0', 2, 2, 0, ?1)";
    hand.execute(sql, [&survey]).unwrap();
    hand.execute_batch("PRAGMA application_id = 0x63727773; PRAGMA user_version = 1").unwrap();
    drop(hand);
    let store = crate::Store::open(&path).unwrap();
    assert_eq!(store.survey(5).unwrap(), crate::sample::survey(2, 1));
    assert_eq!(store.list(None).unwrap()[0].model_name, None);
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
    assert!(matches!(look(&copy, MIGRATIONS), Ok(Found::Interrupted)));
    let opened = for_writing(&copy, MIGRATIONS).unwrap();
    let tables: i64 =
        opened.query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'filler'", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 0);
    assert_eq!(pragma(&opened, "user_version").unwrap(), newest(MIGRATIONS));
}

#[test]
fn the_mark_of_ours_is_four_letters() {
    assert_eq!(APPLICATION_ID, 0x6372_7773);
}
