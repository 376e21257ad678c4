//! Crashes, and processes that open the same file at the same time.

use std::fs;

use super::*;
use crate::artifacts::ArtifactStore;
use crate::sample::sample_survey;

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
    transaction.execute_batch(LAYOUT).unwrap();
    transaction.execute_batch("CREATE TABLE filler (x); INSERT INTO filler VALUES (zeroblob(500000))").unwrap();
    fs::copy(folder.path().join("made.db-journal"), folder.path().join("history.db-journal")).unwrap();
    transaction.commit().unwrap();
    fs::copy(&made, &copy).unwrap();
    assert!(matches!(inspect_place(&place(&copy)), Ok(FoundDatabase::Interrupted)));
    let opened = open_for_writing(&place(&copy)).unwrap().connection;
    let tables: i64 =
        opened.query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'filler'", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 0);
    assert_eq!(read_pragma(&opened, "user_version").unwrap(), LAYOUT_VERSION);
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
    use std::sync::Arc;

    const TRIES: usize = 1_000;
    let all = tempfile::tempdir().unwrap();
    let open = all.path().join("open");
    let [x, y, third] = ["x", "y", "third"].map(|name| open.join(name));
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    for (folder, mode) in [(&x, 0o777), (&y, 0o700)] {
        fs::create_dir(folder).unwrap();
        let made = all.path().join("made.db");
        drop(open_for_writing(&place(&made)).unwrap());
        fs::rename(&made, folder.join("s.db")).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    }
    let path = x.join("s.db");
    let alive = Arc::new(());
    let lease = Arc::downgrade(&alive);
    std::thread::scope(|scope| {
        // A panic drops it too: then the other thread ends, and the test with it.
        let _alive = alive;
        scope.spawn(|| {
            while lease.strong_count() > 0 {
                for (from, to) in [(&x, &third), (&y, &x), (&third, &y)] {
                    fs::rename(from, to).unwrap();
                }
            }
        });
        for _ in 0..TRIES {
            let Ok(place) = FilePlace::find_place(&path) else { continue };
            if let Ok(Some(opened)) = open_for_reading(&place) {
                assert!(opened.origin.writers().is_some(), "{:?}", opened.origin);
            }
            assert!(open_for_writing(&place).is_err());
        }
    });
}

/// Adds rows of results that hold nothing but a summary of this length.
fn add_rows(path: &Path, count: u32, summary_bytes: u32) {
    let sql = "INSERT INTO artifact (kind, started_unix_ms, summary, observed)
               WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1)
               SELECT 'survey', n, '{\"what\":\"' || hex(zeroblob(?2 / 2)) || '\"}', '{}' FROM numbers";
    Connection::open(path).unwrap().execute(sql, [count, summary_bytes]).unwrap();
}

#[test]
fn a_store_of_more_results_than_a_list_has_room_for_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    add_rows(&path, MOST_ARTIFACTS, 0);
    let reader = ArtifactStore::open_to_read(&path).unwrap().unwrap();
    assert_eq!(reader.list_entries().unwrap().len(), MOST_ARTIFACTS as usize);
    let refused = store.add_artifact(&sample_survey(2, 1)).unwrap_err();
    assert!(matches!(refused, StoreError::TooLarge { .. }), "the next would make it unreadable: {refused}");
    add_rows(&path, 1, 0);
    for refused in [ArtifactStore::open(&path).unwrap_err(), ArtifactStore::open_to_read(&path).unwrap_err()] {
        assert!(refused.to_string().contains("is too large (a store has room for 100000 results)"), "{refused}");
    }
}

#[test]
fn a_list_of_long_texts_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let store = ArtifactStore::open(&path).unwrap();
    add_rows(&path, 63, 1 << 20);
    assert_eq!(store.list_entries().unwrap().len(), 63);
    add_rows(&path, 1, 1 << 20);
    assert!(matches!(store.list_entries(), Err(StoreError::TooLarge { .. })));
}

#[test]
fn no_credentials_reach_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    let mut survey = sample_survey(2, 1);
    survey.gaps[0].why = "http://admin:hunter2@host/ does not answer".to_owned();
    let number = store.add_artifact(&survey).unwrap();
    store.add_trial(number, &"https://token@host".to_owned()).unwrap();
    let command = ["app", "--password", "hunter2", "--token=hunter2"].map(str::to_owned);
    store.add_trial(number, &command.to_vec()).unwrap();
    drop(store);
    let content = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
    assert!(content.contains("http://***@host/ does not answer") && content.contains("https://***@host"));
    assert!(!content.contains("hunter2") && !content.contains("token@"));
}
