//! The store: artifacts of every kind are added, listed, given back, and deleted.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use corewise_machine::Machine;
use corewise_model::artifact::{Artifact, Origin, Summary};
use corewise_sys::file_place::{FileOrigin, FilePlace};
use corewise_sys::input;
use rusqlite::{Connection, OptionalExtension, Params, Row, TransactionBehavior, params};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};

use crate::open::{self, OpenDatabase};
use crate::{Result, StoreError};

/// So many of a kind are looked at for one that will do: each has to be read as a whole.
const LOOKED_AT: usize = 100;

/// An open store. Several processes may have the same one open; each artifact, and each trial, is one transaction, so none
/// is lost.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    origin: FileOrigin,
}

/// What a list says of an artifact; of a deleted one this is all that is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Its number in the store, from 1; never given to another artifact.
    pub number: i64,
    /// Its kind: [`Artifact::KIND`].
    pub kind: String,
    /// When it was begun, in milliseconds since 1970-01-01 UTC; an import: when it was imported.
    pub started_unix_ms: i64,
    /// The machine, by [`Machine::fingerprint`]; absent where nothing is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// When it was deleted, in milliseconds since 1970-01-01 UTC; absent where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_unix_ms: Option<i64>,
    /// How many trials were added to it one by one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trials: u32,
    /// Its summary; absent if it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
}

impl Entry {
    /// Whether nothing but this line is left.
    pub fn is_deleted(&self) -> bool {
        self.deleted_unix_ms.is_some()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Store {
    /// Opens the store at a path; creates it, and the folders it lies in, where there is none.
    ///
    /// # Errors
    /// If the file has another layout, is another program's, or is no database at all; it is not changed. [`Store::check`] finds damage.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let place = FilePlace::make_private(path).map_err(|source| unmade(path, source))?;
        let opened = open::for_writing(&place)?;
        Ok(Self::new(place.path().to_owned(), opened))
    }

    /// Opens the store at a path only to read; absent where there is none. Creates nothing.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Option<Self>> {
        let path = path.as_ref();
        let place = match FilePlace::find(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            place => place.map_err(|source| StoreError::Unreachable { path: path.to_owned(), source })?,
        };
        let opened = open::for_reading(&place)?;
        Ok(opened.map(|opened| Self::new(place.path().to_owned(), opened)))
    }

    fn new(path: PathBuf, opened: OpenDatabase) -> Self {
        let OpenDatabase { connection, origin } = opened;
        Self { path, connection, origin }
    }

    /// Where the store lies, as an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's identity, and the other users that may have written it.
    pub fn origin(&self) -> &FileOrigin {
        &self.origin
    }

    /// Reads the whole file and checks that it makes sense (`PRAGMA quick_check`). Takes about as long as reading it.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with what was found first.
    pub fn check(&self) -> Result<()> {
        open::check(&self.connection, &self.path)
    }

    /// Adds an artifact and gives its number. When this returns, it is on the disk.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] for numbers that are infinite or none; those of the database.
    pub fn add<T: Artifact>(&mut self, artifact: &T) -> Result<i64> {
        let (summary, observed) = (written(&artifact.summary())?, written(artifact)?);
        let Origin { started_unix_ms, machine, .. } = artifact.origin();
        let fingerprint = machine.map(Machine::fingerprint);
        let sql =
            "INSERT INTO artifact (kind, started_unix_ms, fingerprint, summary, observed) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.told(move |connection| {
            let mut statement = connection.prepare(sql)?;
            statement.raw_bind_parameter(1, T::KIND)?;
            statement.raw_bind_parameter(2, started_unix_ms)?;
            statement.raw_bind_parameter(3, fingerprint)?;
            statement.raw_bind_parameter(4, summary)?;
            statement.raw_bind_parameter(5, observed.as_str())?;
            // SQLite copies a text of megabytes several times; it need not be here, too.
            drop(observed);
            statement.raw_execute()?;
            Ok(connection.last_insert_rowid())
        })
    }

    /// Adds a trial to an artifact that was added without any: it becomes the next element of its array `trials`. When this
    /// returns, it is on the disk.
    ///
    /// # Errors
    /// As [`Store::add`]; and where there is no such artifact, or no longer.
    pub fn add_trial<T: Serialize + DeserializeOwned>(&mut self, number: i64, trial: &T) -> Result<()> {
        let values = params![number, written(trial)?];
        let sql = "INSERT INTO trial (artifact, number, observed)
                   SELECT id, (SELECT coalesce(max(number) + 1, 0) FROM trial WHERE artifact = ?1), ?2
                   FROM artifact WHERE id = ?1 AND deleted_unix_ms IS NULL";
        match self.told(|connection| connection.execute(sql, values))? {
            0 => Err(self.missing(number)),
            _ => Ok(()),
        }
    }

    /// The artifact of a number, with its trials in the order in which they were added.
    ///
    /// # Errors
    /// Where there is none, where it is of another kind, or where it was deleted; those of the database, and of what is stored
    /// in it.
    pub fn get<T: Artifact>(&self, number: i64) -> Result<T> {
        let sql = "SELECT iif(EXISTS (SELECT 1 FROM trial WHERE artifact = id),
                              json_set(observed, '$.trials',
                                       json((SELECT json_group_array(json(trial.observed) ORDER BY trial.number)
                                             FROM trial WHERE artifact = id))),
                              observed)
                   FROM artifact WHERE id = ?1 AND kind = ?2 AND deleted_unix_ms IS NULL";
        let found: Option<String> =
            self.told(|connection| connection.query_row(sql, params![number, T::KIND], |row| row.get(0)).optional())?;
        let Some(text) = found else {
            let entry = self.entry(number)?;
            return Err(match entry.is_deleted() {
                true => self.missing(number),
                false => StoreError::OtherKind { path: self.path.clone(), number, found: entry.kind, wanted: T::KIND },
            });
        };
        let read = input::json::<T>(text.as_bytes());
        let checked = read.and_then(|artifact| artifact.check().map(|()| artifact).map_err(serde_json::Error::custom));
        checked.map_err(|source| StoreError::Unreadable { path: self.path.clone(), number, kind: T::KIND, source })
    }

    /// What a list says of the artifact of a number, whatever its kind; it may have been deleted.
    ///
    /// # Errors
    /// [`StoreError::Missing`] where the number was never given; those of the database.
    pub fn entry(&self, number: i64) -> Result<Entry> {
        self.select("id = ?1", [number])?.pop().ok_or_else(|| self.missing(number))
    }

    /// All artifacts in the order in which they were begun, or those of the machine with a fingerprint; also what is left of
    /// the deleted ones.
    ///
    /// # Errors
    /// Those of the database.
    pub fn entries(&self, fingerprint: Option<&str>) -> Result<Vec<Entry>> {
        self.select("?1 IS NULL OR fingerprint = ?1", [fingerprint])
    }

    /// The artifact of a kind and a machine that was added last among those that will do, with its number; the last hundred are
    /// looked at. One that this corewise cannot read will not do.
    ///
    /// # Errors
    /// Those of the database.
    pub fn latest<T: Artifact>(&self, fingerprint: &str, will_do: impl Fn(&T) -> bool) -> Result<Option<(i64, T)>> {
        let condition = "fingerprint = ?1 AND kind = ?2 AND deleted_unix_ms IS NULL";
        let mut entries = self.select(condition, params![fingerprint, T::KIND])?;
        entries.sort_by_key(|entry| entry.number);
        for entry in entries.iter().rev().take(LOOKED_AT) {
            match self.get(entry.number) {
                Ok(artifact) if will_do(&artifact) => return Ok(Some((entry.number, artifact))),
                Ok(_) | Err(StoreError::Unreadable { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Deletes artifacts, all or none, and gives what lists said of them. A line stays of each: its number, its kind, when it
    /// was begun and when it was deleted. The file gives back the room where nobody else uses it now.
    ///
    /// # Errors
    /// [`StoreError::Missing`] where there is none of a number, or no longer; those of the database.
    pub fn delete(&mut self, numbers: &[i64]) -> Result<Vec<Entry>> {
        let mut entries = numbers.iter().map(|&number| self.entry(number)).collect::<Result<Vec<_>>>()?;
        entries.sort_by_key(|entry| entry.number);
        entries.dedup();
        if let Some(gone) = entries.iter().find(|entry| entry.is_deleted()) {
            return Err(self.missing(gone.number));
        }
        let mut delete = || {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for entry in &entries {
                transaction.execute("DELETE FROM trial WHERE artifact = ?1", [entry.number])?;
                let sql = "UPDATE artifact SET summary = NULL, observed = NULL,
                                               deleted_unix_ms = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE id = ?1";
                transaction.execute(sql, [entry.number])?;
            }
            transaction.commit()
        };
        delete().map_err(|source| StoreError::of(&self.path, source))?;
        // It takes a while in which nobody else may use the file, and as much room again: whoever has neither has deleted all the same.
        let _ = self.connection.execute_batch("VACUUM");
        Ok(entries)
    }

    fn select(&self, condition: &str, parameters: impl Params) -> Result<Vec<Entry>> {
        let sql = format!(
            "SELECT id, kind, started_unix_ms, fingerprint, deleted_unix_ms,
                    (SELECT count(*) FROM trial WHERE artifact = artifact.id), summary
             FROM artifact WHERE {condition} ORDER BY started_unix_ms, id"
        );
        self.told(|connection| connection.prepare(&sql)?.query_map(parameters, entry)?.collect())
    }

    /// The error for a number that is none, or was deleted.
    fn missing(&self, number: i64) -> StoreError {
        let entries = self.entries(None).unwrap_or_default();
        let (path, mut existing) = (self.path.clone(), Vec::new());
        existing.extend(entries.iter().filter(|entry| !entry.is_deleted()).map(|entry| entry.number));
        existing.sort_unstable();
        match entries.into_iter().find(|entry| entry.number == number) {
            Some(entry) => StoreError::Deleted { path, number, kind: entry.kind },
            None => StoreError::Missing { path, number, existing },
        }
    }

    fn told<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        query(&self.connection).map_err(|source| StoreError::of(&self.path, source))
    }
}

/// JSON that was checked to be readable: a number that is infinite or none would be written as null.
fn written<T: Serialize + DeserializeOwned>(value: &T) -> Result<String> {
    let text = serde_json::to_string(value).and_then(|text| serde_json::from_str::<T>(&text).map(|_| text));
    text.map_err(|source| StoreError::Unwritable { source })
}

/// Why the place of a store cannot be had: its folder cannot be made, or a link on the way is not followed.
fn unmade(path: &Path, source: io::Error) -> StoreError {
    match std::path::absolute(path).ok().as_deref().and_then(Path::parent) {
        Some(folder) if !folder.exists() => StoreError::Folder { folder: folder.to_owned(), source },
        _ => StoreError::Unreachable { path: path.to_owned(), source },
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let summary: Option<String> = row.get(6)?;
    Ok(Entry {
        number: row.get(0)?,
        kind: row.get(1)?,
        started_unix_ms: row.get(2)?,
        fingerprint: row.get(3)?,
        deleted_unix_ms: row.get(4)?,
        trials: row.get(5)?,
        summary: summary.and_then(|text| serde_json::from_str(&text).ok()),
    })
}

#[cfg(test)]
mod tests;
