//! Stored values: each knows what was measured, on which machine, when, and a line for lists.

mod number;
mod origin;
mod provenance;

use corewise_machine::Machine;
use corewise_machine::identity::is_same_machine;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::trend::TrendValue;
pub(crate) use number::check_numbers;
pub(crate) use origin::read_origin;
pub use origin::{ArtifactOrigin, PAGE_FORMAT};
pub use provenance::ArtifactProvenance;

/// A measured result that is stored: a survey, a link map, an experiment. It holds observations; conclusions are
/// computed anew each time. A new kind implements this trait; store, lists and documents then support it.
pub trait Artifact: Serialize + DeserializeOwned + JsonSchema {
    /// One word for the kind, in the store and in lists: "survey".
    const KIND: &'static str;
    /// The name of the kind's JSON documents: "corewise/survey/2". The number rises when fields are renamed.
    const SCHEMA: &'static str;
    /// False if it is of many machines, so that it is evidence about this one as little as about another.
    const OF_ONE_MACHINE: bool = true;
    /// The conclusions that it leads to.
    type Conclusions: Serialize + JsonSchema;

    /// Checks an artifact that comes from a file, so that conclusions can be computed.
    ///
    /// # Errors
    /// One sentence about the first problem.
    fn check_loaded(&self) -> Result<(), String>;

    /// Returns the circumstances in which it was made: machine, time, version, seed.
    fn circumstances(&self) -> ArtifactCircumstances<'_>;

    /// Returns where it was made: measured here, simulated or imported. Stored and exported with it.
    fn origin(&self) -> &ArtifactOrigin;

    /// Returns the same to change it: an import replaces it.
    fn origin_mut(&mut self) -> &mut ArtifactOrigin;

    /// Returns true if it is evidence about the machine with an identity ([`Machine::identity`]): measured here, on that machine.
    fn is_evidence_for(&self, identity: &str) -> bool {
        let is_same = |machine: &Machine| is_same_machine(&machine.identity(), identity);
        self.origin().is_measured() && self.circumstances().machine.is_some_and(is_same)
    }

    /// Describes its contents in a few words for lists: "32 cpus, 24 rounds in 30 s".
    fn describe_contents(&self) -> String;

    /// Computes the conclusions.
    fn draw_conclusions(&self) -> Self::Conclusions;

    /// Returns the numbers to show as trends over the history.
    fn trend_values(&self) -> Vec<TrendValue>;

    /// Returns true if another artifact of the same kind and machine, with this summary, belongs to the same trend.
    fn is_followed_with(&self, _other: &ArtifactSummary) -> bool {
        true
    }

    /// Returns its entry for lists.
    fn summarize_artifact(&self) -> ArtifactSummary {
        let ArtifactCircumstances { machine, corewise, seed, partial, .. } = self.circumstances();
        ArtifactSummary {
            what: self.describe_contents(),
            origin: self.origin().clone(),
            partial,
            processor: machine.and_then(|machine| machine.processor.model_name.clone()),
            kernel: machine.and_then(|machine| machine.system.kernel.clone()),
            microcode: machine.and_then(|machine| machine.processor.microcode.clone()),
            corewise: corewise.to_owned(),
            seed,
        }
    }
}

/// Circumstances in which an artifact was made.
#[derive(Clone, Copy, Debug)]
pub struct ArtifactCircumstances<'a> {
    /// The machine it was made on, with its environment ([`Machine::system`]); `None` if unknown.
    pub machine: Option<&'a Machine>,
    /// The beginning, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: i64,
    /// corewise's version.
    pub corewise: &'a str,
    /// The seed of the random orders.
    pub seed: u64,
    /// True if it was ended before its plan was complete.
    pub partial: bool,
}

/// An artifact's entry in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactSummary {
    /// Its contents in a few words: "32 cpus, 24 rounds in 30 s".
    pub what: String,
    /// Where it was made; absent if it was measured here.
    #[serde(default, skip_serializing_if = "ArtifactOrigin::is_measured")]
    pub origin: ArtifactOrigin,
    /// True if it was ended before its plan was complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The processor's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// The kernel's release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The microcode revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// corewise's version.
    pub corewise: String,
    /// The seed of the random orders.
    pub seed: u64,
}

/// Formats a number with its unit: "1 cpu", "32 cpus".
pub(crate) fn format_count(number: usize, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}
