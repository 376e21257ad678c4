//! The store: artifacts of every kind are added, listed, read, and deleted.

use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use corewise_machine::Machine;
use corewise_machine::identity::is_same_machine;
use corewise_model::artifact::{Artifact, ArtifactCircumstances, ArtifactSummary};
use corewise_model::credentials::hide_in_json;
use corewise_sys::file_place::{FileOrigin, FilePlace};
use corewise_sys::input;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Params, Row, TransactionBehavior, params};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};

use crate::open::{self, OpenDatabase};
use crate::{StoreError, StoreResult};

/// Maximum bytes of the texts of a list.
const MOST_LISTED_BYTES: usize = 64 << 20;

/// Maximum artifacts of a kind that [`ArtifactStore::latest_own`] reads: each is read as a whole.
const LOOKED_AT: usize = 100;

/// An open store. Several processes may open the same one. Each artifact and each trial is one transaction, so concurrent writes are kept.
#[derive(Debug)]
pub struct ArtifactStore {
    path: PathBuf,
    connection: Connection,
    origin: FileOrigin,
}

/// List entry of an artifact. It is all that remains of a deleted one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredEntry {
    /// Number in the store, from 1; never reused.
    pub number: i64,
    /// Kind: [`Artifact::KIND`].
    pub kind: String,
    /// Time of the start, in milliseconds since 1970-01-01 UTC; for an import, the time of the import.
    pub started_unix_ms: i64,
    /// Identity of the machine ([`Machine::identity`]); absent if the machine is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Time of the deletion, in milliseconds since 1970-01-01 UTC; absent if it was not deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_unix_ms: Option<i64>,
    /// Number of trials that were added one by one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trials: u32,
    /// Summary; absent if the artifact was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ArtifactSummary>,
}

impl StoredEntry {
    /// Returns true if only this entry is left.
    pub fn is_deleted(&self) -> bool {
        self.deleted_unix_ms.is_some()
    }

    /// Returns true if it is about a machine, whoever made the artifact.
    pub fn is_about(&self, machine: &Machine) -> bool {
        self.fingerprint.as_ref().is_some_and(|identity| is_same_machine(identity, &machine.identity()))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl ArtifactStore {
    /// Opens the store at a path; creates it and its folders if there is none.
    ///
    /// # Errors
    /// If the file has another layout, is another program's, or is no database. It is not changed. [`ArtifactStore::check`] finds damage.
    pub fn open(path: impl AsRef<Path>) -> StoreResult<Self> {
        let path = path.as_ref();
        let place = FilePlace::make_private(path).map_err(|source| explain_unreachable(path, source))?;
        let opened = open::open_for_writing(&place)?;
        Ok(Self::new(place.path().to_owned(), opened))
    }

    /// Opens the store at a path only to read; `None` if there is none. Creates nothing.
    ///
    /// # Errors
    /// As [`ArtifactStore::open`].
    pub fn open_to_read(path: impl AsRef<Path>) -> StoreResult<Option<Self>> {
        let path = path.as_ref();
        let place = match FilePlace::find_place(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            place => place.map_err(|source| StoreError::Unreachable { path: path.to_owned(), source })?,
        };
        let opened = open::open_for_reading(&place)?;
        Ok(opened.map(|opened| Self::new(place.path().to_owned(), opened)))
    }

    fn new(path: PathBuf, opened: OpenDatabase) -> Self {
        let OpenDatabase { connection, origin } = opened;
        Self { path, connection, origin }
    }

    /// Returns the absolute path of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file's identity, and the other users that may have written it.
    pub fn origin(&self) -> &FileOrigin {
        &self.origin
    }

    /// Checks the integrity of the whole file (`PRAGMA quick_check`). Takes about as long as reading it.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the first problem found.
    pub fn check_database(&self) -> StoreResult<()> {
        open::check_database(&self.connection, &self.path)
    }

    /// Adds an artifact and returns its number. It is on the disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] for numbers that are infinite or NaN; database errors.
    pub fn add_artifact<T: Artifact>(&mut self, artifact: &T) -> StoreResult<i64> {
        let (summary, observed) = (checked_json(&artifact.summarize_artifact())?, checked_json(artifact)?);
        open::check_room(&self.connection, &self.path, 1)?;
        let ArtifactCircumstances { started_unix_ms, machine, .. } = artifact.circumstances();
        let identity = machine.map(Machine::identity);
        let sql =
            "INSERT INTO artifact (kind, started_unix_ms, fingerprint, summary, observed) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.run_query(move |connection| {
            let mut statement = connection.prepare(sql)?;
            statement.raw_bind_parameter(1, T::KIND)?;
            statement.raw_bind_parameter(2, started_unix_ms)?;
            statement.raw_bind_parameter(3, identity)?;
            statement.raw_bind_parameter(4, summary)?;
            statement.raw_bind_parameter(5, observed.as_str())?;
            // SQLite copies a text of megabytes several times; free this copy first.
            drop(observed);
            statement.raw_execute()?;
            Ok(connection.last_insert_rowid())
        })
    }

    /// Appends a trial to the array `trials` of an artifact that was added without any. It is on the disk when this returns.
    ///
    /// # Errors
    /// As [`ArtifactStore::add_artifact`]; and if there is no such artifact, or it was deleted.
    pub fn add_trial<T: Serialize + DeserializeOwned>(&mut self, number: i64, trial: &T) -> StoreResult<()> {
        let values = params![number, checked_json(trial)?];
        let sql = "INSERT INTO trial (artifact, number, observed)
                   SELECT id, (SELECT coalesce(max(number) + 1, 0) FROM trial WHERE artifact = ?1), ?2
                   FROM artifact WHERE id = ?1 AND deleted_unix_ms IS NULL";
        match self.run_query(|connection| connection.execute(sql, values))? {
            0 => Err(self.missing_artifact(number)),
            _ => Ok(()),
        }
    }

    /// Returns the artifact of a number, with its trials in the order in which they were added.
    ///
    /// # Errors
    /// If there is none, if it is of another kind, or if it was deleted; if it cannot be read; database errors.
    pub fn get_artifact<T: Artifact>(&self, number: i64) -> StoreResult<T> {
        let sql = "SELECT iif(EXISTS (SELECT 1 FROM trial WHERE artifact = id),
                              json_set(observed, '$.trials',
                                       json((SELECT json_group_array(json(trial.observed) ORDER BY trial.number)
                                             FROM trial WHERE artifact = id))),
                              observed)
                   FROM artifact WHERE id = ?1 AND kind = ?2 AND deleted_unix_ms IS NULL";
        let found: Option<String> = self
            .run_query(|connection| connection.query_row(sql, params![number, T::KIND], |row| row.get(0)).optional())?;
        let Some(text) = found else {
            let entry = self.find_entry(number)?;
            return Err(match entry.is_deleted() {
                true => self.missing_artifact(number),
                false => StoreError::OtherKind { path: self.path.clone(), number, found: entry.kind, wanted: T::KIND },
            });
        };
        let read = input::read_json::<T>(text.as_bytes());
        let checked =
            read.and_then(|artifact| artifact.check_loaded().map(|()| artifact).map_err(serde_json::Error::custom));
        checked.map_err(|source| StoreError::Unreadable { path: self.path.clone(), number, kind: T::KIND, source })
    }

    /// Returns the list entry of a number, of any kind; it may be deleted.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if the number was never given; database errors.
    pub fn find_entry(&self, number: i64) -> StoreResult<StoredEntry> {
        self.select_entries("id = ?1", [number])?.pop().ok_or_else(|| self.missing_artifact(number))
    }

    /// Lists all artifacts by their start, whoever made them; deleted ones too. For lists only: [`ArtifactStore::own_artifacts`] returns
    /// the ones that are evidence.
    ///
    /// # Errors
    /// Database errors.
    pub fn list_entries(&self) -> StoreResult<Vec<StoredEntry>> {
        self.select_entries("1", [])
    }

    /// Returns a machine's own artifacts of a kind with their numbers, the latest first: measured here on that machine, not simulated, not
    /// imported ([`Artifact::is_evidence_for`]). Each is read when the iterator reaches it; `is_wanted` leaves some out unread.
    ///
    /// Whatever is concluded about a machine from its history starts here.
    ///
    /// # Errors
    /// Database errors; an item's error if it cannot be read.
    pub fn own_artifacts<T: Artifact>(
        &self,
        machine: &Machine,
        is_wanted: impl FnMut(&StoredEntry) -> bool,
    ) -> StoreResult<impl Iterator<Item = StoreResult<(i64, T)>>> {
        let identity = machine.identity();
        // Behind the fingerprint may stand the host.
        let condition = "substr(fingerprint, 1, 16) = ?1 AND kind = ?2 AND deleted_unix_ms IS NULL";
        let mut entries = self.select_entries(condition, params![machine.fingerprint(), T::KIND])?;
        entries.retain(|entry| entry.is_about(machine));
        entries.retain(|entry| entry.summary.as_ref().is_none_or(|summary| summary.origin.is_measured()));
        entries.retain(is_wanted);
        entries.sort_by_key(|entry| entry.number);
        let read = entries.into_iter().rev().map(|entry| Ok((entry.number, self.get_artifact::<T>(entry.number)?)));
        // The artifact decides: its summary may have been written before origins were.
        Ok(read.filter(move |read| read.as_ref().map_or(true, |(_, artifact)| artifact.is_evidence_for(&identity))))
    }

    /// Returns the latest of a machine's own artifacts of a kind that `will_do` accepts, with its number. Reads only the last hundred, and
    /// skips unreadable ones.
    ///
    /// # Errors
    /// Database errors.
    pub fn latest_own<T: Artifact>(
        &self,
        machine: &Machine,
        will_do: impl Fn(&T) -> bool,
    ) -> StoreResult<Option<(i64, T)>> {
        for read in self.own_artifacts(machine, |_| true)?.take(LOOKED_AT) {
            match read {
                Ok((number, artifact)) if will_do(&artifact) => return Ok(Some((number, artifact))),
                Ok(_) | Err(StoreError::Unreadable { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Deletes artifacts, all or none, and returns their entries. Of each, the store keeps the number, the kind, and the times of start and
    /// deletion. The file shrinks if no other process uses it now.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if a number does not exist, or was deleted; database errors.
    pub fn delete_artifacts(&mut self, numbers: &[i64]) -> StoreResult<Vec<StoredEntry>> {
        let mut entries = numbers.iter().map(|&number| self.find_entry(number)).collect::<StoreResult<Vec<_>>>()?;
        entries.sort_by_key(|entry| entry.number);
        entries.dedup();
        if let Some(gone) = entries.iter().find(|entry| entry.is_deleted()) {
            return Err(self.missing_artifact(gone.number));
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
        delete().map_err(|source| StoreError::from_sqlite(&self.path, source))?;
        // Takes a while, needs sole use of the file, and as much free room again. If it fails, the artifacts are deleted all the same.
        let _ = self.connection.execute_batch("VACUUM");
        Ok(entries)
    }

    /// Removes an artifact to which no trial was added, as if it had never been there; leaves any other.
    ///
    /// # Errors
    /// Database errors.
    pub fn withdraw_artifact(&mut self, number: i64) -> StoreResult<()> {
        let sql = "DELETE FROM artifact WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM trial WHERE artifact = ?1)";
        self.run_query(|connection| connection.execute(sql, [number])).map(drop)
    }

    fn select_entries(&self, condition: &str, parameters: impl Params) -> StoreResult<Vec<StoredEntry>> {
        let sql = format!(
            "SELECT id, kind, started_unix_ms, fingerprint, deleted_unix_ms,
                    (SELECT count(*) FROM trial WHERE artifact = artifact.id), summary
             FROM artifact WHERE {condition}"
        );
        let listed = self.run_query(|connection| {
            let mut statement = connection.prepare(&sql)?;
            let mut rows = statement.query(parameters)?;
            let (mut entries, mut room) = (Vec::new(), MOST_LISTED_BYTES);
            while let Some(row) = rows.next()? {
                let Some(left) = room.checked_sub(count_text_bytes(row)?) else { return Ok(None) };
                room = left;
                entries.push(read_entry(row)?);
            }
            // SQLite would copy all texts to sort them.
            entries.sort_unstable_by_key(|entry: &StoredEntry| (entry.started_unix_ms, entry.number));
            Ok(Some(entries))
        })?;
        let what = || format!("the list of its results takes more than {} MiB", MOST_LISTED_BYTES >> 20);
        listed.ok_or_else(|| StoreError::TooLarge { path: self.path.clone(), what: what() })
    }

    /// Returns the error for a number that was never given, or was deleted.
    fn missing_artifact(&self, number: i64) -> StoreError {
        let entries = self.list_entries().unwrap_or_default();
        let (path, mut existing) = (self.path.clone(), Vec::new());
        existing.extend(entries.iter().filter(|entry| !entry.is_deleted()).map(|entry| entry.number));
        existing.sort_unstable();
        match entries.into_iter().find(|entry| entry.number == number) {
            Some(entry) => StoreError::Deleted { path, number, kind: entry.kind },
            None => StoreError::Missing { path, number, existing },
        }
    }

    fn run_query<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> StoreResult<T> {
        query(&self.connection).map_err(|source| StoreError::from_sqlite(&self.path, source))
    }
}

/// Serialises a value without credentials, and checks that it can be read back: a number that is infinite or NaN would become null.
fn checked_json<T: Serialize + DeserializeOwned>(value: &T) -> StoreResult<String> {
    let text = serde_json::to_string(value).map(|text| match hide_in_json(&text) {
        Cow::Owned(hidden) => hidden,
        Cow::Borrowed(_) => text,
    });
    let text = text.and_then(|text| input::read_json::<T>(text.as_bytes()).map(|_| text));
    text.map_err(|source| StoreError::Unwritable { source })
}

/// Returns the error for a store that cannot be reached: its folder cannot be made, or its path contains a link that is not followed.
fn explain_unreachable(path: &Path, source: io::Error) -> StoreError {
    match std::path::absolute(path).ok().as_deref().and_then(Path::parent) {
        Some(folder) if !folder.exists() => StoreError::Folder { folder: folder.to_owned(), source },
        _ => StoreError::Unreachable { path: path.to_owned(), source },
    }
}

/// Returns the length of a row's texts, before they are copied.
fn count_text_bytes(row: &Row<'_>) -> rusqlite::Result<usize> {
    let length = |column| match row.get_ref(column)? {
        ValueRef::Text(text) => Ok(text.len()),
        _ => Ok(0),
    };
    [1, 3, 6].into_iter().map(length).sum()
}

fn read_entry(row: &Row<'_>) -> rusqlite::Result<StoredEntry> {
    let summary: Option<String> = row.get(6)?;
    Ok(StoredEntry {
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
