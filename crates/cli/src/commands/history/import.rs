//! `corewise history import`: takes what a page holds into the history.

use std::path::Path;

use corewise_model::suggested_command;
use corewise_sys::input::{Input, JSON_BYTES};
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::KINDS;
use crate::draw::number::count;
use crate::draw::suggestion;
use crate::draw::text::{Line, Screen};
use crate::draw::wrap::wrap;
use crate::shell::artifact::Kind;
use crate::shell::embedded::elements;
use crate::shell::failure::Failure;
use crate::shell::history::to_write;
use crate::shell::output::show;
use crate::shell::settings::{History, Settings};

/// What `corewise history import --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/import/1")]
pub struct ImportDocument {
    #[schemars(extend("const" = "corewise/import/1"))]
    schema: &'static str,
    /// The numbers that the results have in this history now.
    numbers: Vec<i64>,
}

/// Takes the results of a page into the history of this user. Nothing is stored where one of them is broken or unknown.
pub fn import(file: &Path, settings: &Settings) -> Result<(), Failure> {
    let name = file.display().to_string();
    let History::At(path) = &settings.history else {
        return Err(Failure::usage("a history is needed to import into").next("Name one with --store PATH."));
    };
    let text = Input::open(file, JSON_BYTES).and_then(Input::text).map_err(Failure::unavailable)?;
    let refused = |why: String| Failure::unavailable(format!("{name}: {why}")).next("Nothing was imported.");
    let found = elements(&text).map_err(refused)?;
    if found.is_empty() {
        return Err(Failure::unavailable(format!("{name} holds no result")).next(format!(
            "A page of {} holds the results that it shows.",
            suggestion::mention(&suggested_command::report())
        )));
    }
    let kind_of = |schema: &str| {
        KINDS
            .iter()
            .find(|kind| kind.schema == schema)
            .ok_or_else(|| refused(format!("it holds a document {schema}, which this corewise does not know")))
    };
    let known = found
        .iter()
        .map(|(schema, data)| Ok((kind_of(schema)?, data.as_ref())))
        .collect::<Result<Vec<_>, Failure>>()?;
    known.iter().try_for_each(|(kind, data)| (kind.check)(data).map_err(refused))?;
    let mut store =
        to_write(path, settings).map_err(|error| Failure::unavailable(format!("cannot import: {error}")))?;
    let stored = |(kind, data): &(&Kind, &str)| {
        (kind.import)(&mut store, data, &name).map_err(|why| {
            Failure::unavailable(format!("cannot import {name}: {why}")).next(format!(
                "What was stored before is kept; {} lists it.",
                suggestion::mention(&suggested_command::history())
            ))
        })
    };
    let numbers = known.iter().map(stored).collect::<Result<Vec<i64>, Failure>>()?;
    let screen = || {
        let listed: Vec<String> = numbers.iter().map(i64::to_string).collect();
        let what = format!("{} imported: {}", count(numbers.len(), "result"), listed.join(", "));
        let mut screen = Screen::new();
        screen.extend(wrap(&Line::new().plain(what), settings.width, 2));
        screen
    };
    show(settings, || ImportDocument { schema: "corewise/import/1", numbers: numbers.clone() }, screen)
}
