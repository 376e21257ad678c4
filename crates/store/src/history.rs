//! The store: adds surveys to the history, lists them, and gives them back.

use std::path::{Path, PathBuf};

use corewise_model::Survey;
use corewise_model::survey::Scope;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::MIGRATIONS;
use crate::{Result, StoreError, open};

/// An open history. Several processes may have the same one open; each survey is one transaction, so none is lost.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

/// What a list tells of a stored survey.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Its number in the store, from 1; never given to another survey.
    pub id: i64,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: i64,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// The machine, by [`corewise_model::Machine::fingerprint`].
    pub fingerprint: String,
    /// The processor's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// The kernel's release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The microcode revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// corewise's version.
    pub corewise: String,
    /// How many cpus were surveyed.
    pub cpus: u32,
    /// How many whole rounds were made.
    pub rounds: u32,
    /// Whether it was ended before its plan was.
    pub partial: bool,
    /// What it is of.
    #[serde(default, skip_serializing_if = "Scope::is_machine")]
    pub scope: Scope,
}

/// How the scopes are written into their column.
const MACHINE: &str = "machine";
const TAIL: &str = "tail";

const ENTRY_COLUMNS: &str = "id, started_unix_ms, elapsed_s, fingerprint, model_name, kernel, microcode, corewise, cpus, rounds, partial, \
     scope";

impl Store {
    /// Opens the store at a path; creates it, and the folders it lies in, where there is none, and brings one of an
    /// older schema up to date.
    ///
    /// The whole file is checked first (`PRAGMA quick_check`). One that is damaged, newer than this corewise, another
    /// program's, or no database at all is an error that names it, and is not changed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        let connection = open::for_writing(&path, MIGRATIONS)?;
        Ok(Self { path, connection })
    }

    /// Opens the store at a path only to read; absent where there is none. Creates nothing.
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Option<Self>> {
        let path = absolute(path.as_ref())?;
        let connection = open::for_reading(&path, MIGRATIONS)?;
        Ok(connection.map(|connection| Self { path, connection }))
    }

    /// Where the store lies, as an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a survey and gives its number. When this returns, it is on the disk.
    pub fn add(&mut self, survey: &Survey) -> Result<i64> {
        let observed = written(survey).map_err(|source| StoreError::Unwritable { source })?;
        self.insert(survey, &observed).map_err(|source| StoreError::of(&self.path, source))
    }

    /// The stored surveys in the order they were added: all, or those of the machine with a fingerprint.
    pub fn list(&self, fingerprint: Option<&str>) -> Result<Vec<Entry>> {
        let sql = format!("SELECT {ENTRY_COLUMNS} FROM survey WHERE ?1 IS NULL OR fingerprint = ?1 ORDER BY id");
        self.told(|connection| connection.prepare(&sql)?.query_map([fingerprint], entry)?.collect())
    }

    /// The survey of a number.
    pub fn survey(&self, id: i64) -> Result<Survey> {
        let sql = "SELECT observed FROM survey WHERE id = ?1";
        let observed: Option<String> =
            self.told(|connection| connection.query_row(sql, [id], |row| row.get(0)).optional())?;
        let path = || self.path.clone();
        match observed {
            None => Err(StoreError::NoSurvey { path: path(), id, existing: self.numbers()? }),
            Some(text) => {
                serde_json::from_str(&text).map_err(|source| StoreError::Unreadable { path: path(), id, source })
            }
        }
    }

    fn numbers(&self) -> Result<Vec<i64>> {
        let sql = "SELECT id FROM survey ORDER BY id";
        self.told(|connection| connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect())
    }

    pub(crate) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub(crate) fn told<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        query(&self.connection).map_err(|source| StoreError::of(&self.path, source))
    }

    fn insert(&mut self, survey: &Survey, observed: &str) -> rusqlite::Result<i64> {
        // Immediate: a transaction that began by reading could not wait for another writer.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (provenance, machine) = (&survey.provenance, &survey.machine);
        transaction.execute(
            "INSERT INTO survey (started_unix_ms, elapsed_s, fingerprint, model_name, kernel, microcode, corewise, cpus,
                                 rounds, partial, observed, scope)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            params![
                provenance.started_unix_ms,
                provenance.elapsed_s,
                machine.fingerprint(),
                machine.processor.model_name,
                machine.system.kernel,
                machine.processor.microcode,
                provenance.corewise,
                i64::try_from(survey.cpus.len()).unwrap_or(i64::MAX),
                provenance.rounds,
                provenance.partial,
                observed,
                if provenance.scope.is_machine() { MACHINE } else { TAIL },
            ],
        )?;
        let id = transaction.last_insert_rowid();
        transaction.commit()?;
        Ok(id)
    }
}

/// A survey as JSON that was checked to be readable: a number that is infinite or none would be written as null.
fn written(survey: &Survey) -> serde_json::Result<String> {
    let text = serde_json::to_string(survey)?;
    serde_json::from_str::<Survey>(&text)?;
    Ok(text)
}

/// SQLite gives some relative names a meaning of their own (":memory:", ""); an absolute path is always a file.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|source| StoreError::Unreachable { path: path.to_owned(), source })
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        id: row.get(0)?,
        started_unix_ms: row.get(1)?,
        elapsed_s: row.get(2)?,
        fingerprint: row.get(3)?,
        model_name: row.get(4)?,
        kernel: row.get(5)?,
        microcode: row.get(6)?,
        corewise: row.get(7)?,
        cpus: row.get(8)?,
        rounds: row.get(9)?,
        partial: row.get(10)?,
        scope: if row.get_ref(11)?.as_str()? == TAIL { Scope::Tail } else { Scope::Machine },
    })
}

#[cfg(test)]
mod tests;
