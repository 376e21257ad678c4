//! The JSON document.

use corewise_model::watch::{Frame, Header};
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise watch --json` prints; without --once one after the other.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/watch/1")]
pub struct WatchDocument<'a> {
    #[schemars(extend("const" = "corewise/watch/1"))]
    schema: &'static str,
    /// The program, as it was chosen; null where the cpus alone are watched.
    program: Option<&'a str>,
    /// How speeds are known, on which worth depends, as a sentence.
    speeds: &'a str,
    /// The moment.
    frame: &'a Frame,
}

impl<'a> WatchDocument<'a> {
    /// The document of a moment.
    pub fn new(header: &'a Header, frame: &'a Frame) -> Self {
        Self { schema: "corewise/watch/1", program: header.program.as_deref(), speeds: &header.speeds, frame }
    }
}
