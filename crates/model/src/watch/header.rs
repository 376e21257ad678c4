//! Header of a recording: the first line of its file.

use corewise_machine::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Schema of the file; files of others are refused.
const SCHEMA: &str = "corewise/watch-recording/1";

/// Header of a recording: its first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "corewise/watch-recording/1")]
pub struct WatchHeader {
    /// The schema: "corewise/watch-recording/1". Each line after this one is a frame, as in "corewise/watch/1".
    #[schemars(extend("const" = "corewise/watch-recording/1"))]
    pub schema: String,
    /// The version of corewise.
    pub corewise: String,
    /// The machine.
    pub machine: Machine,
    /// Source of the speeds, on which worth depends, as a sentence.
    pub speeds: String,
    /// The program, as it was chosen; absent if only the cpus were watched.
    pub program: Option<String>,
    /// The time between looks, in seconds.
    pub interval_s: f64,
}

impl WatchHeader {
    /// Creates the header of a new recording.
    pub fn new(corewise: &str, machine: Machine, speeds: &str, program: Option<String>, interval_s: f64) -> Self {
        let (schema, corewise, speeds) = (SCHEMA.to_owned(), corewise.to_owned(), speeds.to_owned());
        Self { schema, corewise, machine, speeds, program, interval_s }
    }

    /// Checks a header that comes from a file.
    ///
    /// # Errors
    /// If its schema is another one, or its machine is invalid.
    pub fn check_loaded(&self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("expected \"{SCHEMA}\""));
        }
        self.machine.check_consistency()
    }
}
