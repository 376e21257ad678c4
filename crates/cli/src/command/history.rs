//! `corewise history`: lists, shows and compares stored surveys.

use std::path::Path;

use corewise_model::Survey;
use corewise_model::compare::compare as compare_surveys;
use corewise_model::finding::conclude;
use corewise_store::{Store, StoreError};
use jiff::tz::TimeZone;

use super::this_machine;
use crate::document::{ComparisonDocument, HistoryDocument, SurveyDocument};
use crate::error::{Exit, Failure};
use crate::output::show as print;
use crate::settings::{History, Settings};
use crate::view;
use crate::view::history::{Scope, when};
use crate::view::survey::Kept;

/// Lists the surveys of this machine, or all.
pub fn list(all: bool, settings: &Settings) -> Result<Exit, Failure> {
    let every = match opened(settings)? {
        Some(store) => store.list(None).map_err(broken)?,
        None => Vec::new(),
    };
    let total = every.len();
    let (entries, scope) = if all {
        (every, Scope::All)
    } else {
        let fingerprint = this_machine()?.fingerprint();
        let own: Vec<_> = every.into_iter().filter(|entry| entry.fingerprint == fingerprint).collect();
        let others = total - own.len();
        (own, Scope::ThisMachine { others })
    };
    print(
        settings,
        || HistoryDocument::new(&entries),
        || view::history::screen(&entries, scope, &TimeZone::system(), settings.width),
    )?;
    Ok(Exit::Done)
}

/// Shows a stored survey as it was shown when it was made; what is concluded from it is computed anew.
pub fn show(number: i64, settings: &Settings) -> Result<Exit, Failure> {
    let survey = stored(number, settings)?;
    let conclusions = conclude(&survey);
    let kept = Kept::Recalled(number, when(survey.provenance.started_unix_ms, &TimeZone::system()));
    print(
        settings,
        || SurveyDocument::new(&survey, &conclusions, Some(number)),
        || view::survey::screen(&survey, &conclusions, &kept, settings.width),
    )?;
    Ok(Exit::Done)
}

/// Says what changed between two stored surveys.
pub fn compare(before: i64, after: i64, settings: &Settings) -> Result<Exit, Failure> {
    let surveys = (stored(before, settings)?, stored(after, settings)?);
    let comparison = compare_surveys(&surveys.0, &surveys.1);
    print(
        settings,
        || ComparisonDocument::new(before, after, &comparison),
        || view::compare::screen(&comparison, (before, after), settings.width),
    )?;
    Ok(Exit::Done)
}

fn stored(number: i64, settings: &Settings) -> Result<Survey, Failure> {
    let Some(store) = opened(settings)? else {
        let what = format!("there is no history at {}", path(settings)?.display());
        return Err(
            Failure::unavailable(what).next("Make a survey with `corewise`, or name another history with --store.")
        );
    };
    store.survey(number).map_err(|error| match error {
        StoreError::NoSurvey { .. } => Failure::unavailable(error).next("`corewise history --all` lists them."),
        other => broken(other),
    })
}

fn opened(settings: &Settings) -> Result<Option<Store>, Failure> {
    Store::open_to_read(path(settings)?).map_err(broken)
}

fn path(settings: &Settings) -> Result<&Path, Failure> {
    match &settings.history {
        History::At(path) => Ok(path),
        History::Off => {
            Err(Failure::usage("the history needs a store, and --no-store takes it away").next("Leave --no-store out."))
        }
        History::Homeless => {
            let what = "there is no history: neither XDG_DATA_HOME nor HOME says where it would be";
            Err(Failure::unavailable(what).next("Name it with --store PATH."))
        }
    }
}

fn broken(error: StoreError) -> Failure {
    Failure::unavailable(format!("the history cannot be read: {error}"))
}
