//! Maps of links in the store: added whole, listed, and given back.

use corewise_model::links::map::{LinkMap, Origin};
use rusqlite::{OptionalExtension, Row, TransactionBehavior, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Result, Store, StoreError};

/// What a list tells of a stored map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MapEntry {
    /// Its number in the store, from 1; never given to another map.
    pub id: i64,
    /// When it began, in milliseconds since 1970-01-01 UTC; of an import when it was imported.
    pub started_unix_ms: i64,
    /// The machine, by [`corewise_model::Machine::fingerprint`]; absent where nothing is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The processor's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// "measured", "simulated" or "imported".
    pub origin: String,
    /// The file that was simulated or imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The ways to talk, with commas between them: "cas", "channel,queue".
    pub kinds: String,
    /// How many cpus it is of.
    pub cpus: u32,
    /// How many pairs were measured in the first way to talk.
    pub pairs: u32,
    /// corewise's version.
    pub corewise: String,
}

/// How the origins are written into their column.
const MEASURED: &str = "measured";
const COLUMNS: &str = "id, started_unix_ms, fingerprint, model_name, origin, file, kinds, cpus, pairs, corewise";

impl Store {
    /// Adds a map and gives its number. When this returns, it is on the disk.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] for numbers that are infinite or none; those of the database.
    pub fn add_map(&mut self, map: &LinkMap) -> Result<i64> {
        let observed = crate::experiments::written(map)?;
        let path = self.path().to_owned();
        let mut insert = || insert(self.connection(), map, &observed);
        insert().map_err(|source| StoreError::of(&path, source))
    }

    /// The stored maps in the order they were added: all, or those of the machine with a fingerprint.
    ///
    /// # Errors
    /// Those of the database.
    pub fn maps(&self, fingerprint: Option<&str>) -> Result<Vec<MapEntry>> {
        let sql = format!("SELECT {COLUMNS} FROM link_map WHERE ?1 IS NULL OR fingerprint = ?1 ORDER BY id");
        self.told(|connection| connection.prepare(&sql)?.query_map([fingerprint], entry)?.collect())
    }

    /// The map of a number.
    ///
    /// # Errors
    /// [`StoreError::NoMap`] where there is none; those of the database, and of what is stored in it.
    pub fn map(&self, id: i64) -> Result<LinkMap> {
        let sql = "SELECT observed FROM link_map WHERE id = ?1";
        let observed: Option<String> =
            self.told(|connection| connection.query_row(sql, [id], |row| row.get(0)).optional())?;
        let Some(text) = observed else {
            let existing = self.maps(None)?.into_iter().map(|entry| entry.id).collect();
            return Err(StoreError::NoMap { path: self.path().to_owned(), id, existing });
        };
        serde_json::from_str(&text).map_err(|source| StoreError::UnreadableMap {
            path: self.path().to_owned(),
            id,
            source,
        })
    }

    /// The latest map of a machine that was measured, not imported or simulated, and will do.
    ///
    /// # Errors
    /// Those of the database, and of what is stored in it.
    pub fn latest_map(&self, fingerprint: &str, will_do: impl Fn(&LinkMap) -> bool) -> Result<Option<LinkMap>> {
        for entry in self.maps(Some(fingerprint))?.iter().rev().filter(|entry| entry.origin == MEASURED) {
            let map = self.map(entry.id)?;
            if will_do(&map) {
                return Ok(Some(map));
            }
        }
        Ok(None)
    }
}

fn insert(connection: &mut rusqlite::Connection, map: &LinkMap, observed: &str) -> rusqlite::Result<i64> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (origin, file) = match &map.provenance.origin {
        Origin::Measured => (MEASURED, None),
        Origin::Simulated { file } => ("simulated", Some(file)),
        Origin::Imported { file, .. } => ("imported", Some(file)),
    };
    let mut kinds: Vec<&str> = map.series.iter().map(|series| series.what.word()).collect();
    kinds.dedup();
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    transaction.execute(
        "INSERT INTO link_map (started_unix_ms, fingerprint, model_name, origin, file, kinds, cpus, pairs, corewise, observed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            map.provenance.started_unix_ms,
            map.machine.as_ref().map(corewise_model::Machine::fingerprint),
            map.machine.as_ref().and_then(|machine| machine.processor.model_name.clone()),
            origin,
            file,
            kinds.join(","),
            count(map.cpus.len()),
            count(map.series.first().map_or(0, |series| series.links.pairs.len())),
            map.provenance.corewise,
            observed,
        ],
    )?;
    let id = transaction.last_insert_rowid();
    transaction.commit()?;
    Ok(id)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<MapEntry> {
    Ok(MapEntry {
        id: row.get(0)?,
        started_unix_ms: row.get(1)?,
        fingerprint: row.get(2)?,
        model_name: row.get(3)?,
        origin: row.get(4)?,
        file: row.get(5)?,
        kinds: row.get(6)?,
        cpus: row.get(7)?,
        pairs: row.get(8)?,
        corewise: row.get(9)?,
    })
}

#[cfg(test)]
mod tests;
