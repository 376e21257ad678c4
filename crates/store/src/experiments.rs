//! Experiments in the store: begun once, their trials added one by one, and all given back.

use corewise_model::trial::{Experiment, Trial};
use rusqlite::{OptionalExtension, Row, TransactionBehavior, params};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Result, Store, StoreError};

/// What a list tells of a stored experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentEntry {
    /// Its number in the store, from 1; never given to another experiment.
    pub id: i64,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: i64,
    /// The machine, by [`corewise_model::Machine::fingerprint`].
    pub fingerprint: String,
    /// The command and its arguments.
    pub command: String,
    /// corewise's version.
    pub corewise: String,
    /// How many trials were made, those before the first block among them.
    pub trials: u32,
}

const COLUMNS: &str = "id, started_unix_ms, fingerprint, command, corewise,
                       (SELECT count(*) FROM trial WHERE trial.experiment = experiment.id)";

impl Store {
    /// Adds an experiment without trials, and gives its number.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] for numbers that are infinite or none; those of the database.
    pub fn begin(&mut self, experiment: &Experiment) -> Result<i64> {
        let plan = written(experiment)?;
        let values = params![
            experiment.started_unix_ms,
            experiment.machine.fingerprint(),
            experiment.workload.command.join(" "),
            experiment.corewise,
            plan
        ];
        let sql = "INSERT INTO experiment (started_unix_ms, fingerprint, command, corewise, plan)
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        self.told(|connection| {
            connection.execute(sql, values)?;
            Ok(connection.last_insert_rowid())
        })
    }

    /// Adds a trial to an experiment. When this returns, it is on the disk.
    ///
    /// # Errors
    /// As [`Store::begin`]; and where there is no such experiment.
    pub fn add_trial(&mut self, experiment: i64, trial: &Trial) -> Result<()> {
        let observed = written(trial)?;
        let sql = "INSERT INTO trial (experiment, number, observed)
                   SELECT ?1, (SELECT count(*) FROM trial WHERE experiment = ?1), ?2";
        let path = self.path().to_owned();
        let mut insert = || {
            let connection = self.connection();
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute(sql, params![experiment, observed])?;
            transaction.commit()
        };
        insert().map_err(|source| StoreError::of(&path, source))
    }

    /// The stored experiments in the order in which they were begun: all, or those of the machine with a fingerprint.
    ///
    /// # Errors
    /// Those of the database.
    pub fn experiments(&self, fingerprint: Option<&str>) -> Result<Vec<ExperimentEntry>> {
        let sql = format!("SELECT {COLUMNS} FROM experiment WHERE ?1 IS NULL OR fingerprint = ?1 ORDER BY id");
        self.told(|connection| connection.prepare(&sql)?.query_map([fingerprint], entry)?.collect())
    }

    /// An experiment by its number, and its trials in the order in which they were made.
    ///
    /// # Errors
    /// [`StoreError::NoExperiment`] where there is none; those of the database, and of what is stored in it.
    pub fn experiment(&self, id: i64) -> Result<(Experiment, Vec<Trial>)> {
        let sql = "SELECT plan FROM experiment WHERE id = ?1";
        let plan: Option<String> =
            self.told(|connection| connection.query_row(sql, [id], |row| row.get(0)).optional())?;
        let Some(plan) = plan else {
            let existing = self.experiments(None)?.into_iter().map(|entry| entry.id).collect();
            return Err(StoreError::NoExperiment { path: self.path().to_owned(), id, existing });
        };
        let sql = "SELECT observed FROM trial WHERE experiment = ?1 ORDER BY number";
        let trials: Vec<String> =
            self.told(|connection| connection.prepare(sql)?.query_map([id], |row| row.get(0))?.collect())?;
        let trials = trials.iter().map(|text| self.read(id, text)).collect::<Result<_>>()?;
        Ok((self.read(id, &plan)?, trials))
    }

    fn read<T: DeserializeOwned>(&self, id: i64, text: &str) -> Result<T> {
        serde_json::from_str(text).map_err(|source| StoreError::UnreadableExperiment {
            path: self.path().to_owned(),
            id,
            source,
        })
    }
}

/// JSON that was checked to be readable: a number that is infinite or none would be written as null.
pub(crate) fn written<T: Serialize + DeserializeOwned>(value: &T) -> Result<String> {
    let text = serde_json::to_string(value).and_then(|text| serde_json::from_str::<T>(&text).map(|_| text));
    text.map_err(|source| StoreError::Unwritable { source })
}

fn entry(row: &Row<'_>) -> rusqlite::Result<ExperimentEntry> {
    Ok(ExperimentEntry {
        id: row.get(0)?,
        started_unix_ms: row.get(1)?,
        fingerprint: row.get(2)?,
        command: row.get(3)?,
        corewise: row.get(4)?,
        trials: row.get(5)?,
    })
}

#[cfg(test)]
mod tests;
