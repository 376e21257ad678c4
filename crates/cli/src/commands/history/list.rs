//! The list of stored artifacts.

use corewise_machine::{Machine, SuggestedCommand};
use corewise_store::StoredEntry;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::failure::CommandFailure;
use crate::app::machine::this_machine;
use crate::app::output::show_result;
use crate::app::settings::ProgramSettings;
use crate::app::user_store::{explain_store_error, open_store};
use crate::draw::artifact_list::{ListContext, draw_screen};

/// The output of `corewise history --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/history/2")]
pub struct HistoryDocument<'a> {
    #[schemars(extend("const" = "corewise/history/2"))]
    schema: &'static str,
    /// The artifacts in the order in which they were begun, with an entry for each deleted one.
    artifacts: &'a [StoredEntry],
}

/// Lists the artifacts of this machine or of all, of one kind or of every kind.
pub fn list_artifacts(
    kind: Option<&str>,
    first: SuggestedCommand,
    all: bool,
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    let mut entries = match open_store(settings)? {
        Some(store) => store.list_entries().map_err(explain_store_error)?,
        None => Vec::new(),
    };
    entries.retain(|entry| kind.is_none_or(|kind| entry.kind == kind));
    let total = entries.len();
    let machine = this_machine();
    let here = machine.as_ref().ok().map(Machine::identity);
    if !all {
        let machine = machine?;
        // A fleet is of no single machine, and of an import the machine may be unknown.
        entries.retain(|entry| entry.fingerprint.is_none() || entry.is_about(&machine));
    }
    let listed = ListContext { kind, first, all, others: total - entries.len(), here };
    show_result(
        settings,
        || HistoryDocument { schema: "corewise/history/2", artifacts: &entries },
        || draw_screen(&entries, &listed, &TimeZone::system(), settings.width),
    )
}
