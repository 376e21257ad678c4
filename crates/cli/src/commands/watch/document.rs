//! The JSON document.

use corewise_model::watch::{WatchFrame, WatchHeader};
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `corewise watch --json`; without --once one document after the other.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/watch/1")]
pub struct WatchDocument<'a> {
    #[schemars(extend("const" = "corewise/watch/1"))]
    schema: &'static str,
    /// The program as selected; null if only the cpus are watched.
    program: Option<&'a str>,
    /// The source of the cpus' speeds, which determine worth, as a sentence.
    speeds: &'a str,
    /// The moment.
    frame: &'a WatchFrame,
}

impl<'a> WatchDocument<'a> {
    /// Creates the document of a moment.
    pub fn new(header: &'a WatchHeader, frame: &'a WatchFrame) -> Self {
        Self { schema: "corewise/watch/1", program: header.program.as_deref(), speeds: &header.speeds, frame }
    }
}
