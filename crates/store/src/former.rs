//! The store's functions of one kind each, until the program asks for artifacts.

use corewise_model::conducted::Conducted;
use corewise_model::links::map::{LinkMap, Origin};
use corewise_model::survey::Scope;
use corewise_model::trial::{Experiment, Trial};
use corewise_model::{Artifact, Survey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ArtifactEntry, Result, Store, StoreError};

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

impl Store {
    /// The survey of a number.
    pub fn survey(&self, id: i64) -> Result<Survey> {
        self.of_kind(id, |path, existing| StoreError::NoSurvey { path, id, existing })
    }

    /// The stored surveys.
    pub fn list(&self, fingerprint: Option<&str>) -> Result<Vec<Entry>> {
        self.all(fingerprint, |entry, survey: Survey| Entry {
            id: entry.number,
            started_unix_ms: entry.started_unix_ms,
            elapsed_s: survey.provenance.elapsed_s,
            fingerprint: survey.machine.fingerprint(),
            model_name: survey.machine.processor.model_name,
            kernel: survey.machine.system.kernel,
            microcode: survey.machine.processor.microcode,
            corewise: survey.provenance.corewise,
            cpus: survey.cpus.len() as u32,
            rounds: survey.provenance.rounds,
            partial: survey.provenance.partial,
            scope: survey.provenance.scope,
        })
    }

    /// Adds an experiment without trials, and gives its number.
    pub fn begin(&mut self, experiment: &Experiment) -> Result<i64> {
        self.add(&Conducted::from(experiment.clone()))
    }

    /// An experiment by its number, and its trials in the order in which they were made.
    pub fn experiment(&self, id: i64) -> Result<(Experiment, Vec<Trial>)> {
        let found: Conducted = self.of_kind(id, |path, existing| StoreError::NoExperiment { path, id, existing })?;
        Ok((found.experiment, found.trials))
    }

    /// The stored experiments.
    pub fn experiments(&self, fingerprint: Option<&str>) -> Result<Vec<ExperimentEntry>> {
        self.all(fingerprint, |entry, made: Conducted| ExperimentEntry {
            id: entry.number,
            started_unix_ms: entry.started_unix_ms,
            fingerprint: made.experiment.machine.fingerprint(),
            command: made.what(),
            corewise: made.experiment.corewise,
            trials: made.trials.len() as u32,
        })
    }

    /// Adds a map and gives its number.
    pub fn add_map(&mut self, map: &LinkMap) -> Result<i64> {
        self.add(map)
    }

    /// The map of a number.
    pub fn map(&self, id: i64) -> Result<LinkMap> {
        self.of_kind(id, |path, existing| StoreError::NoMap { path, id, existing })
    }

    /// The stored maps.
    pub fn maps(&self, fingerprint: Option<&str>) -> Result<Vec<MapEntry>> {
        self.all(fingerprint, |entry, map: LinkMap| {
            let (origin, file) = match map.provenance.origin {
                Origin::Measured => ("measured", None),
                Origin::Simulated { file } => ("simulated", Some(file)),
                Origin::Imported { file, .. } => ("imported", Some(file)),
            };
            let mut kinds: Vec<&str> = map.series.iter().map(|series| series.what.word()).collect();
            kinds.dedup();
            MapEntry {
                id: entry.number,
                started_unix_ms: entry.started_unix_ms,
                fingerprint: entry.fingerprint,
                model_name: map.machine.and_then(|machine| machine.processor.model_name),
                origin: origin.to_owned(),
                file,
                kinds: kinds.join(","),
                cpus: map.cpus.len() as u32,
                pairs: map.series.first().map_or(0, |series| series.links.pairs.len()) as u32,
                corewise: map.provenance.corewise,
            }
        })
    }

    /// The latest map of a machine that was measured, not imported or simulated, and will do.
    pub fn latest_map(&self, fingerprint: &str, will_do: impl Fn(&LinkMap) -> bool) -> Result<Option<LinkMap>> {
        let is_measured = |map: &LinkMap| matches!(map.provenance.origin, Origin::Measured) && will_do(map);
        Ok(self.latest(fingerprint, is_measured)?.map(|(_, map)| map))
    }

    fn all<T: Artifact, E>(&self, fingerprint: Option<&str>, of: impl Fn(ArtifactEntry, T) -> E) -> Result<Vec<E>> {
        let entries = self.entries(fingerprint)?.into_iter();
        let entries = entries.filter(|entry| entry.kind == T::KIND && !entry.is_deleted());
        entries.map(|entry| self.get(entry.number).map(|artifact| of(entry, artifact))).collect()
    }

    fn of_kind<T: Artifact>(
        &self,
        number: i64,
        missing: impl FnOnce(std::path::PathBuf, Vec<i64>) -> StoreError,
    ) -> Result<T> {
        self.get(number).map_err(|error| match error {
            StoreError::Missing { .. } | StoreError::OtherKind { .. } | StoreError::Deleted { .. } => {
                let entries = self.entries(None).unwrap_or_default().into_iter();
                let existing = entries.filter(|entry| entry.kind == T::KIND && !entry.is_deleted());
                missing(self.path().to_owned(), existing.map(|entry| entry.number).collect())
            }
            other => other,
        })
    }
}
