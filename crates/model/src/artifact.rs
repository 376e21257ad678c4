//! What is kept: a value that says what was measured, on which machine, when, and in one line for lists.

mod number;

use corewise_machine::Machine;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::followed::Followed;
pub(crate) use number::check_numbers;

/// Anything measured that is stored: a survey, a map of links, an experiment. It holds what was observed; what that shows
/// is computed anew each time. A new kind implements this trait, and store, lists and documents take it as it is.
pub trait Artifact: Serialize + DeserializeOwned + JsonSchema {
    /// One word for the kind, in the store and in lists: "survey".
    const KIND: &'static str;
    /// The name of the kind's JSON documents, whose number rises where fields change their names: "corewise/survey/2".
    const SCHEMA: &'static str;
    /// What it shows.
    type Conclusions: Serialize + JsonSchema;

    /// What is wrong with one that comes from a file, if anything: what it shows can be computed of all others.
    ///
    /// # Errors
    /// One sentence.
    fn check(&self) -> Result<(), String>;

    /// Where it comes from.
    fn origin(&self) -> Origin<'_>;

    /// What it is of, in a few words for lists: "32 cpus, 24 rounds in 30 s".
    fn what(&self) -> String;

    /// Computes what it shows.
    fn conclude(&self) -> Self::Conclusions;

    /// The numbers of it that are followed over the history.
    fn followed(&self) -> Vec<Followed>;

    /// Whether another of its kind and machine, of which a list says this, is followed with it.
    fn is_followed_with(&self, _other: &Summary) -> bool {
        true
    }

    /// What a list says of it.
    fn summary(&self) -> Summary {
        let Origin { machine, corewise, seed, partial, .. } = self.origin();
        Summary {
            what: self.what(),
            partial,
            processor: machine.and_then(|machine| machine.processor.model_name.clone()),
            kernel: machine.and_then(|machine| machine.system.kernel.clone()),
            microcode: machine.and_then(|machine| machine.processor.microcode.clone()),
            corewise: corewise.to_owned(),
            seed,
        }
    }
}

/// Where an artifact comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The machine it was made on, with its environment ([`Machine::system`]); absent where nothing is known of it.
    pub machine: Option<&'a Machine>,
    /// The beginning, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: i64,
    /// corewise's version.
    pub corewise: &'a str,
    /// The seed of the random orders.
    pub seed: u64,
    /// Whether it was ended before its plan was.
    pub partial: bool,
}

/// What a list says of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// What it is of, in a few words: "32 cpus, 24 rounds in 30 s".
    pub what: String,
    /// Whether it was ended before its plan was.
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

/// "1 cpu", "32 cpus".
pub(crate) fn count(number: usize, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}
