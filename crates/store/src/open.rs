//! Opening a database: look first and change nothing, then create it in one transaction.

use std::io::ErrorKind;
use std::path::{MAIN_SEPARATOR, Path};
use std::thread;
use std::time::{Duration, Instant};

use corewise_sys::file_place::{FileOrigin, FilePlace};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, TransactionBehavior, ffi};

use crate::schema::{APPLICATION_ID, LAYOUT, LAYOUT_VERSION};
use crate::{Result, StoreError};

/// How long to wait for another process that holds the database.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most memory that SQLite takes, in bytes. The largest artifacts have some ten million.
const MOST_MEMORY_BYTES: u64 = 128 << 20;

/// The files that SQLite keeps beside a database: what they hold becomes part of it.
const FILES_BESIDE: [&str; 3] = ["-wal", "-journal", "-shm"];

/// A database that is open.
#[derive(Debug)]
pub(crate) struct OpenDatabase {
    pub(crate) connection: Connection,
    /// The file's identity, and the other users that may have written it.
    pub(crate) origin: FileOrigin,
}

/// What a look at a path found.
#[derive(Debug)]
enum Found {
    /// Nothing, an empty file, or a database without any table: ours to fill.
    Nothing,
    /// A database of ours.
    Ours { reader: Connection, origin: FileOrigin },
    /// A database of ours whose last writer died before it was done; opening it for writing puts that right.
    Interrupted,
}

/// Opens a database for writing; creates it if there is none.
///
/// SQLite opens files by their paths alone. So no other user may be able to put another folder in the place of the database's: then the path
/// without links, by which SQLite opens it, means the file that was looked at.
pub(crate) fn for_writing(place: &FilePlace) -> Result<OpenDatabase> {
    let path = place.path();
    look(place)?;
    let not_writable = |detail: String| StoreError::NotWritable { path: path.to_owned(), detail };
    if let Some(why) = place.strangers() {
        return Err(not_writable(format!("others may put another folder in the place of this one: {why}")));
    }
    // Made here, since SQLite lets others read what it makes: a store holds command lines and output. What it makes beside a
    // database has the database's permissions.
    match place.create_private() {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(not_writable(error.to_string())),
        _ => {}
    }
    let origin = origin(place)?;
    let told = |source| StoreError::of(path, source);
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(told)?;
    connection.busy_timeout(PATIENCE).map_err(told)?;
    create_layout(&mut connection, path)?;
    write_ahead(&connection).map_err(told)?;
    check_that_it_stayed(place, &origin)?;
    Ok(OpenDatabase { connection, origin })
}

/// Opens a database for reading; `None` if there is none or an empty one.
pub(crate) fn for_reading(place: &FilePlace) -> Result<Option<OpenDatabase>> {
    match look(place)? {
        Found::Nothing => Ok(None),
        Found::Ours { reader, origin } => Ok(Some(OpenDatabase { connection: reader, origin })),
        Found::Interrupted => for_writing(place).map(Some),
    }
}

/// Returns the origin of the file that is there, with those that SQLite keeps beside it.
fn origin(place: &FilePlace) -> Result<FileOrigin> {
    let found = place.origin(&FILES_BESIDE).and_then(|found| found.ok_or_else(|| ErrorKind::NotFound.into()));
    found.map_err(|source| StoreError::Unreachable { path: place.path().to_owned(), source })
}

/// Refuses a database that was exchanged while it was opened.
fn check_that_it_stayed(place: &FilePlace, before: &FileOrigin) -> Result<()> {
    match before.is_at(place.path()) {
        true => Ok(()),
        false => {
            let source = std::io::Error::other("another file was put in its place");
            Err(StoreError::Unreachable { path: place.path().to_owned(), source })
        }
    }
}

/// Looks at a place without changing what is there.
fn look(place: &FilePlace) -> Result<Found> {
    let path = place.path();
    match place.look() {
        Err(source) => return Err(StoreError::Unreachable { path: path.to_owned(), source }),
        Ok(None) => return Ok(Found::Nothing),
        // Before anyone opens it: opening a pipe would wait for its other end.
        Ok(Some(found)) if !found.metadata.is_file() => return Err(StoreError::NotADatabase { path: path.to_owned() }),
        Ok(Some(found)) if found.metadata.len() == 0 => return Ok(Found::Nothing),
        Ok(Some(_)) => {}
    }
    let told = |source| StoreError::of(path, source);
    // Before SQLite opens the file: a user who could exchange it later could do so now, too, and is named.
    let origin = origin(place)?;
    let owner = owner(path).map_err(told)?;
    if let Owner::Another { application_id } = owner {
        return Err(StoreError::Foreign { path: path.to_owned(), application_id });
    }
    let found = match open_to_look(place) {
        Ok((reader, application_id, version)) => judge(path, reader, application_id, version)?,
        Err(error) if is_interrupted(&error) && owner == Owner::We => return Ok(Found::Interrupted),
        Err(source) => return Err(told(source)),
    };
    check_that_it_stayed(place, &origin)?;
    Ok(found.map_or(Found::Nothing, |reader| Found::Ours { reader, origin }))
}

/// Whose the file alone says that it is.
#[derive(Debug, PartialEq)]
enum Owner {
    We,
    Nobody,
    Another { application_id: i32 },
}

/// Reads whose a file is without locks, without the logs beside it, and without leaving a trace.
///
/// Ours bears its mark in the file itself from its first transaction on. SQLite reads it, not we: closing a file of our
/// own would give up the locks that other connections of this process have on it.
fn owner(path: &Path) -> rusqlite::Result<Owner> {
    let file = open_immutable(path)?;
    let application_id = pragma(&file, "application_id")?;
    if application_id == APPLICATION_ID {
        return Ok(Owner::We);
    }
    let blank = is_blank(&file, application_id, pragma(&file, "user_version")?)?;
    Ok(if blank { Owner::Nobody } else { Owner::Another { application_id } })
}

/// Opens a file that is taken not to change: no locks, no logs.
fn open_immutable(path: &Path) -> rusqlite::Result<Connection> {
    connect(immutable_uri(path), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

/// A connection to a file that a stranger may have made: what its schema says runs no function with side effects, nothing writes behind
/// SQLite's back, and no value or sorting takes more memory than a store's does.
fn connect(path: impl AsRef<Path>, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.execute_batch(&format!("PRAGMA cell_size_check = ON; PRAGMA hard_heap_limit = {MOST_MEMORY_BYTES};"))?;
    Ok(connection)
}

/// SQLite's URI for an absolute path to a file that is taken not to change.
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

/// Opens a database only to read. Where this user may not make the files that SQLite keeps beside a database with a
/// write-ahead log, and there is no such log now, the file alone says everything.
fn open_to_look(place: &FilePlace) -> rusqlite::Result<(Connection, i32, i32)> {
    match ask(connect(place.path(), OpenFlags::SQLITE_OPEN_READ_ONLY)?) {
        Err(error) if is_not_writable(&error) && !has_log(place) => ask(open_immutable(place.path())?),
        asked => asked,
    }
}

fn ask(reader: Connection) -> rusqlite::Result<(Connection, i32, i32)> {
    reader.busy_timeout(PATIENCE)?;
    let application_id = pragma(&reader, "application_id")?;
    let version = pragma(&reader, "user_version")?;
    Ok((reader, application_id, version))
}

fn has_log(place: &FilePlace) -> bool {
    let has_bytes = |ending| place.look_beside(ending).is_ok_and(|log| log.is_some_and(|log| log.metadata.len() > 0));
    FILES_BESIDE[..2].iter().any(|ending| has_bytes(ending))
}

/// Returns the reader of a database of ours; `None` if there is nothing in it.
fn judge(path: &Path, reader: Connection, application_id: i32, version: i32) -> Result<Option<Connection>> {
    if is_blank(&reader, application_id, version).map_err(|source| StoreError::of(path, source))? {
        return Ok(None);
    }
    check_owner_and_version(path, application_id, version)?;
    check_kinds(&reader, path)?;
    Ok(Some(reader))
}

/// Reads the whole database and checks that it makes sense.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<()> {
    let found: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|source| StoreError::of(path, source))?;
    if found == "ok" { Ok(()) } else { Err(StoreError::Damaged { path: path.to_owned(), detail: found }) }
}

/// A store has tables and indices only: a view or a trigger would have a query do something else than it says.
fn check_kinds(reader: &Connection, path: &Path) -> Result<()> {
    let sql = "SELECT type || ' ' || name FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR sql LIKE '%VIRTUAL%' LIMIT 1";
    let odd: Option<String> =
        reader.query_row(sql, [], |row| row.get(0)).optional().map_err(|source| StoreError::of(path, source))?;
    odd.map_or(Ok(()), |odd| Err(StoreError::Damaged { path: path.to_owned(), detail: format!("it has a {odd}") }))
}

fn check_owner_and_version(path: &Path, application_id: i32, version: i32) -> Result<()> {
    if application_id != APPLICATION_ID {
        return Err(StoreError::Foreign { path: path.to_owned(), application_id });
    }
    if version != LAYOUT_VERSION {
        return Err(StoreError::OtherLayout { path: path.to_owned(), found: version, known: LAYOUT_VERSION });
    }
    Ok(())
}

/// Creates the tables in an empty database, in one transaction. A second process that does the same waits, then finds the tables.
fn create_layout(connection: &mut Connection, path: &Path) -> Result<()> {
    let told = |source| StoreError::of(path, source);
    let version = |connection: &Connection| pragma(connection, "user_version").map_err(told);
    if version(connection)? == LAYOUT_VERSION && application_id(connection, path)? == APPLICATION_ID {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(told)?;
    let (owner, version) = (application_id(&transaction, path)?, version(&transaction)?);
    if !is_blank(&transaction, owner, version).map_err(told)? {
        // Another process has been here since this one looked.
        return check_owner_and_version(path, owner, version);
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(told)?;
    transaction.execute_batch(LAYOUT).map_err(told)?;
    transaction.pragma_update(None, "user_version", LAYOUT_VERSION).map_err(told)?;
    transaction.commit().map_err(told)
}

/// Lets readers read while one process writes, and no run of an experiment wait for a disk: what the machine had not written when its power
/// failed is lost, of whole transactions, and the file is as it was before them. Where the file system cannot do that, SQLite keeps its
/// rollback journal, which makes readers and writers wait.
///
/// SQLite answers "busy" at once here, without its usual wait, where waiting could be for ever; hence the loop.
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

fn application_id(connection: &Connection, path: &Path) -> Result<i32> {
    pragma(connection, "application_id").map_err(|source| StoreError::of(path, source))
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// Whether a database holds nothing at all: what SQLite makes of a file before the first table.
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
