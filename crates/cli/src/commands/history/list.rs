//! The list of stored artifacts.

use corewise_machine::SuggestedCommand;
use corewise_store::Entry;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::failure::Failure;
use crate::app::history::{broken, opened};
use crate::app::machine::this_machine;
use crate::app::output::show;
use crate::app::settings::Settings;
use crate::draw::entries::{Listed, screen};

/// The output of `corewise history --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/history/2")]
pub struct HistoryDocument<'a> {
    #[schemars(extend("const" = "corewise/history/2"))]
    schema: &'static str,
    /// The artifacts in the order in which they were begun, with an entry for each deleted one.
    artifacts: &'a [Entry],
}

/// Lists the artifacts of this machine or of all, of one kind or of every kind.
pub fn list(kind: Option<&str>, first: SuggestedCommand, all: bool, settings: &Settings) -> Result<(), Failure> {
    let mut entries = match opened(settings)? {
        Some(store) => store.entries(None).map_err(broken)?,
        None => Vec::new(),
    };
    entries.retain(|entry| kind.is_none_or(|kind| entry.kind == kind));
    let total = entries.len();
    if !all {
        let fingerprint = this_machine()?.fingerprint();
        entries.retain(|entry| entry.fingerprint.as_ref() == Some(&fingerprint));
    }
    let listed = Listed { kind, first, all, others: total - entries.len() };
    show(
        settings,
        || HistoryDocument { schema: "corewise/history/2", artifacts: &entries },
        || screen(&entries, &listed, &TimeZone::system(), settings.width),
    )
}
