//! Opens a database: looks first without changing anything, then creates it in one transaction.

use std::io::ErrorKind;
use std::path::{MAIN_SEPARATOR, Path};
use std::thread;
use std::time::{Duration, Instant};

use corewise_sys::file_place::{FileOrigin, FilePlace};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, TransactionBehavior, ffi};

use crate::schema::{APPLICATION_ID, LAYOUT, LAYOUT_VERSION};
use crate::{StoreError, StoreResult};

/// Time to wait for another process that holds the database.
const PATIENCE: Duration = Duration::from_secs(10);

/// Memory limit of SQLite, in bytes. The largest artifacts have about ten million.
const MOST_MEMORY_BYTES: u64 = 128 << 20;

/// Maximum artifacts of a store, deleted ones included: lists of all stay within the memory of one large artifact.
pub(crate) const MOST_ARTIFACTS: u32 = 100_000;

/// Suffixes of the files that SQLite keeps beside a database; their contents become part of it.
const FILES_BESIDE: [&str; 3] = ["-wal", "-journal", "-shm"];

/// An open database.
#[derive(Debug)]
pub(crate) struct OpenDatabase {
    pub(crate) connection: Connection,
    /// Identity of the file, and the other users that may have written it.
    pub(crate) origin: FileOrigin,
}

/// Result of a look at a path.
#[derive(Debug)]
enum FoundDatabase {
    /// No file, an empty file, or a database without tables: ours to fill.
    Nothing,
    /// A database of corewise.
    Ours { reader: Connection, origin: FileOrigin },
    /// A database of corewise with an interrupted write; opening it for writing repairs it.
    Interrupted,
}

/// Opens a database for writing; creates it if there is none.
///
/// SQLite opens files by path alone, so no other user may be able to replace the database's folder. Then the path without links, by which
/// SQLite opens the file, means the file that was checked.
pub(crate) fn open_for_writing(place: &FilePlace) -> StoreResult<OpenDatabase> {
    let path = place.path();
    inspect_place(place)?;
    let not_writable = |detail: String| StoreError::NotWritable { path: path.to_owned(), detail };
    if let Some(why) = place.strangers() {
        return Err(not_writable(format!("others may put another folder in the place of this one: {why}")));
    }
    // Created here, since SQLite's own files are readable by others, and a store holds command lines and output. The files that SQLite
    // creates beside a database take its permissions.
    match place.create_private() {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(not_writable(error.to_string())),
        _ => {}
    }
    let origin = read_origin(place)?;
    let told = |source| StoreError::from_sqlite(path, source);
    let mut connection = open_connection(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(told)?;
    connection.busy_timeout(PATIENCE).map_err(told)?;
    create_layout(&mut connection, path)?;
    write_ahead(&connection).map_err(told)?;
    check_that_it_stayed(place, &origin)?;
    Ok(OpenDatabase { connection, origin })
}

/// Opens a database for reading; `None` if there is none or an empty one.
pub(crate) fn open_for_reading(place: &FilePlace) -> StoreResult<Option<OpenDatabase>> {
    match inspect_place(place)? {
        FoundDatabase::Nothing => Ok(None),
        FoundDatabase::Ours { reader, origin } => Ok(Some(OpenDatabase { connection: reader, origin })),
        FoundDatabase::Interrupted => open_for_writing(place).map(Some),
    }
}

/// Returns the origin of the file and of SQLite's files beside it.
fn read_origin(place: &FilePlace) -> StoreResult<FileOrigin> {
    let found = place.file_origin(&FILES_BESIDE).and_then(|found| found.ok_or_else(|| ErrorKind::NotFound.into()));
    found.map_err(|source| StoreError::Unreachable { path: place.path().to_owned(), source })
}

/// Refuses a database that was replaced while it was opened.
fn check_that_it_stayed(place: &FilePlace, before: &FileOrigin) -> StoreResult<()> {
    match before.is_at(place.path()) {
        true => Ok(()),
        false => {
            let source = std::io::Error::other("another file was put in its place");
            Err(StoreError::Unreachable { path: place.path().to_owned(), source })
        }
    }
}

/// Looks at a place without changing what is there.
fn inspect_place(place: &FilePlace) -> StoreResult<FoundDatabase> {
    let path = place.path();
    match place.find_file() {
        Err(source) => return Err(StoreError::Unreachable { path: path.to_owned(), source }),
        Ok(None) => return Ok(FoundDatabase::Nothing),
        // Before the path is opened: opening a pipe would wait for its other end.
        Ok(Some(found)) if !found.metadata.is_file() => return Err(StoreError::NotADatabase { path: path.to_owned() }),
        Ok(Some(found)) if found.metadata.len() == 0 => return Ok(FoundDatabase::Nothing),
        Ok(Some(_)) => {}
    }
    let told = |source| StoreError::from_sqlite(path, source);
    // Before SQLite opens the file: any user able to replace it later is able to now, and is named.
    let origin = read_origin(place)?;
    let owner = read_owner(path).map_err(told)?;
    if let DatabaseOwner::Another { application_id } = owner {
        return Err(StoreError::Foreign { path: path.to_owned(), application_id });
    }
    let found = match open_to_look(place) {
        Ok((reader, application_id, version)) => judge_database(path, reader, application_id, version)?,
        Err(error) if is_interrupted(&error) && owner == DatabaseOwner::We => return Ok(FoundDatabase::Interrupted),
        Err(source) => return Err(told(source)),
    };
    check_that_it_stayed(place, &origin)?;
    Ok(found.map_or(FoundDatabase::Nothing, |reader| FoundDatabase::Ours { reader, origin }))
}

/// Owner of a file, by the file alone.
#[derive(Debug, PartialEq)]
enum DatabaseOwner {
    We,
    Nobody,
    Another { application_id: i32 },
}

/// Determines the owner without locks, without reading the logs beside the file, and without leaving a trace.
///
/// A database of corewise carries its mark in the file itself from its first transaction on. SQLite must read it: if this process closed a
/// file of its own, it would lose the locks of its other connections.
fn read_owner(path: &Path) -> rusqlite::Result<DatabaseOwner> {
    let file = open_immutable(path)?;
    let application_id = read_pragma(&file, "application_id")?;
    if application_id == APPLICATION_ID {
        return Ok(DatabaseOwner::We);
    }
    let blank = is_blank(&file, application_id, read_pragma(&file, "user_version")?)?;
    Ok(if blank { DatabaseOwner::Nobody } else { DatabaseOwner::Another { application_id } })
}

/// Opens a file as immutable: no locks, no logs.
fn open_immutable(path: &Path) -> rusqlite::Result<Connection> {
    open_connection(immutable_uri(path), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

/// Opens a connection to a file that a stranger may have made. The schema can run no function with side effects, writes behind SQLite's
/// back are refused, and memory is limited.
fn open_connection(path: impl AsRef<Path>, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.execute_batch(&format!("PRAGMA cell_size_check = ON; PRAGMA hard_heap_limit = {MOST_MEMORY_BYTES};"))?;
    Ok(connection)
}

/// Returns SQLite's URI that opens an absolute path as immutable.
fn immutable_uri(path: &Path) -> String {
    let path = path.as_os_str().as_encoded_bytes();
    let rooted = path.first().is_some_and(|&byte| char::from(byte) == MAIN_SEPARATOR);
    let mut uri = String::from(if rooted { "file://" } else { "file:///" });
    for &byte in path {
        match byte {
            _ if char::from(byte) == MAIN_SEPARATOR => uri.push('/'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri + "?immutable=1"
}

/// Opens a database only to read. This user may be unable to create the files beside a database with a write-ahead log. If there is no log
/// now, the file is complete and is read as immutable.
fn open_to_look(place: &FilePlace) -> rusqlite::Result<(Connection, i32, i32)> {
    match read_ids(open_connection(place.path(), OpenFlags::SQLITE_OPEN_READ_ONLY)?) {
        Err(error) if is_not_writable(&error) && !has_log(place) => read_ids(open_immutable(place.path())?),
        asked => asked,
    }
}

fn read_ids(reader: Connection) -> rusqlite::Result<(Connection, i32, i32)> {
    reader.busy_timeout(PATIENCE)?;
    let application_id = read_pragma(&reader, "application_id")?;
    let version = read_pragma(&reader, "user_version")?;
    Ok((reader, application_id, version))
}

fn has_log(place: &FilePlace) -> bool {
    let has_bytes = |ending| place.look_beside(ending).is_ok_and(|log| log.is_some_and(|log| log.metadata.len() > 0));
    FILES_BESIDE[..2].iter().any(|ending| has_bytes(ending))
}

/// Returns the reader of a database of corewise, or `None` if it is blank.
fn judge_database(
    path: &Path,
    reader: Connection,
    application_id: i32,
    version: i32,
) -> StoreResult<Option<Connection>> {
    if is_blank(&reader, application_id, version).map_err(|source| StoreError::from_sqlite(path, source))? {
        return Ok(None);
    }
    check_owner_and_version(path, application_id, version)?;
    check_kinds(&reader, path)?;
    check_room(&reader, path, 0)?;
    Ok(Some(reader))
}

/// Checks that a database has no more artifacts than a store may have once `added` are added.
pub(crate) fn check_room(reader: &Connection, path: &Path, added: u32) -> StoreResult<()> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM artifact LIMIT ?1)";
    let counted = reader.query_row(sql, [MOST_ARTIFACTS + 1], |row| row.get::<_, u32>(0));
    match counted.map_err(|source| StoreError::from_sqlite(path, source))? + added <= MOST_ARTIFACTS {
        true => Ok(()),
        false => {
            let what = format!("a store has room for {MOST_ARTIFACTS} results");
            Err(StoreError::TooLarge { path: path.to_owned(), what })
        }
    }
}

/// Checks the integrity of the whole database.
pub(crate) fn check_database(connection: &Connection, path: &Path) -> StoreResult<()> {
    let found: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|source| StoreError::from_sqlite(path, source))?;
    if found == "ok" { Ok(()) } else { Err(StoreError::Damaged { path: path.to_owned(), detail: found }) }
}

/// Refuses views, triggers and virtual tables: with them a query would do something else than it says.
fn check_kinds(reader: &Connection, path: &Path) -> StoreResult<()> {
    let sql = "SELECT type || ' ' || name FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR sql LIKE '%VIRTUAL%' LIMIT 1";
    let odd: Option<String> = reader
        .query_row(sql, [], |row| row.get(0))
        .optional()
        .map_err(|source| StoreError::from_sqlite(path, source))?;
    odd.map_or(Ok(()), |odd| Err(StoreError::Damaged { path: path.to_owned(), detail: format!("it has a {odd}") }))
}

fn check_owner_and_version(path: &Path, application_id: i32, version: i32) -> StoreResult<()> {
    if application_id != APPLICATION_ID {
        return Err(StoreError::Foreign { path: path.to_owned(), application_id });
    }
    if version != LAYOUT_VERSION {
        return Err(StoreError::OtherLayout { path: path.to_owned(), found: version, known: LAYOUT_VERSION });
    }
    Ok(())
}

/// Creates the tables in an empty database, in one transaction. A second process that does the same waits, then finds the tables.
fn create_layout(connection: &mut Connection, path: &Path) -> StoreResult<()> {
    let told = |source| StoreError::from_sqlite(path, source);
    let version = |connection: &Connection| read_pragma(connection, "user_version").map_err(told);
    if version(connection)? == LAYOUT_VERSION && application_id(connection, path)? == APPLICATION_ID {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(told)?;
    let (owner, version) = (application_id(&transaction, path)?, version(&transaction)?);
    if !is_blank(&transaction, owner, version).map_err(told)? {
        // Another process has created them since the first look.
        return check_owner_and_version(path, owner, version);
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(told)?;
    transaction.execute_batch(LAYOUT).map_err(told)?;
    transaction.pragma_update(None, "user_version", LAYOUT_VERSION).map_err(told)?;
    transaction.commit().map_err(told)
}

/// Switches to a write-ahead log: readers read while one process writes, and no run of an experiment waits for a disk. A power failure
/// loses the latest whole transactions, and the file is as it was before them. If the file system cannot do that, SQLite keeps its rollback
/// journal, which makes readers and writers wait.
///
/// If waiting could last for ever, SQLite answers "busy" at once, without its usual wait; hence the loop.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)) {
            Err(error) if is_busy(&error) && Instant::now() < deadline => thread::sleep(Duration::from_millis(20)),
            Ok(mode) if mode == "wal" => return connection.pragma_update(None, "synchronous", "NORMAL"),
            other => return other.map(drop),
        }
    }
}

fn application_id(connection: &Connection, path: &Path) -> StoreResult<i32> {
    read_pragma(connection, "application_id").map_err(|source| StoreError::from_sqlite(path, source))
}

fn read_pragma(connection: &Connection, name: &str) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// Returns true if a database is empty: the state before its first table.
fn is_blank(connection: &Connection, application_id: i32, schema: i32) -> rusqlite::Result<bool> {
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(tables == 0 && application_id == 0 && schema == 0)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn is_not_writable(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
}

fn is_interrupted(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(ffi::SQLITE_READONLY_ROLLBACK | ffi::SQLITE_READONLY_RECOVERY))
}

#[cfg(test)]
mod tests;
