//! What was watched: the first line of the file that moments are recorded in.

use corewise_machine::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The form of the file; another one is not read.
const SCHEMA: &str = "corewise/watch-recording/1";

/// What was watched: the first line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "corewise/watch-recording/1")]
pub struct Header {
    /// The form: "corewise/watch-recording/1". Each line after this one is a frame, as in "corewise/watch/1".
    #[schemars(extend("const" = "corewise/watch-recording/1"))]
    pub schema: String,
    /// The version of corewise.
    pub corewise: String,
    /// The machine.
    pub machine: Machine,
    /// How speeds are known, on which worth depends, as a sentence.
    pub speeds: String,
    /// The program, as it was chosen; absent where the cpus alone were watched.
    pub program: Option<String>,
    /// The time between looks, in seconds.
    pub interval_s: f64,
}

impl Header {
    /// Of what is watched from now on.
    pub fn new(corewise: &str, machine: Machine, speeds: &str, program: Option<String>, interval_s: f64) -> Self {
        let (schema, corewise, speeds) = (SCHEMA.to_owned(), corewise.to_owned(), speeds.to_owned());
        Self { schema, corewise, machine, speeds, program, interval_s }
    }

    /// What is wrong with one that comes from a file, if anything.
    ///
    /// # Errors
    /// Where it is of another form, or its machine is none.
    pub fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("expected \"{SCHEMA}\""));
        }
        self.machine.check()
    }
}
