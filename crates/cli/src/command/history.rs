//! `corewise history`: lists, shows and compares stored surveys, and lists and shows experiments.

use std::path::Path;

use corewise_model::Survey;
use corewise_model::compare::compare as compare_surveys;
use corewise_model::finding::conclude;
use corewise_store::{Store, StoreError};
use jiff::tz::TimeZone;

use super::experiment::drawing::Drawing;
use super::this_machine;
use crate::document::{ComparisonDocument, HistoryDocument, SurveyDocument};
use crate::error::{Exit, Failure};
use crate::output::show as print;
use crate::settings::experiment::Print;
use crate::settings::{History, Settings};
use crate::view;
use crate::view::history::{Scope, when};
use crate::view::survey::Kept;

/// Lists the surveys of this machine, or all.
pub fn list(all: bool, settings: &Settings) -> Result<Exit, Failure> {
    let (mut surveys, mut experiments) = match opened(settings)? {
        Some(store) => (store.list(None).map_err(broken)?, store.experiments(None).map_err(broken)?),
        None => (Vec::new(), Vec::new()),
    };
    let scope = if all {
        Scope::All
    } else {
        let (fingerprint, total) = (this_machine()?.fingerprint(), surveys.len() + experiments.len());
        surveys.retain(|entry| entry.fingerprint == fingerprint);
        experiments.retain(|entry| entry.fingerprint == fingerprint);
        Scope::ThisMachine { others: total - surveys.len() - experiments.len() }
    };
    print(
        settings,
        || HistoryDocument::new(&surveys, &experiments),
        || view::history::screen(&surveys, &experiments, scope, &TimeZone::system(), settings.width),
    )?;
    Ok(Exit::Done)
}

/// Shows a stored experiment as it was shown when its last session ended.
pub fn show_experiment(number: i64, how: Print, svg: Option<&Path>, settings: &Settings) -> Result<Exit, Failure> {
    let drawing = svg.map(Drawing::into_file).transpose()?;
    let (experiment, trials) =
        existing(settings, "Make one with `corewise try`")?.experiment(number).map_err(|error| match error {
            StoreError::NoExperiment { .. } => Failure::unavailable(error).next("`corewise history --all` lists them."),
            other => broken(other),
        })?;
    drawing.iter().try_for_each(|drawing| drawing.can_be_of(&experiment))?;
    super::experiment::print(&experiment, &trials, Some(number), how, settings)?;
    drawing.iter().try_for_each(|drawing| drawing.draw(&experiment, &trials, Some(number)))?;
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
    let works = (surveys.0.work.kind, surveys.1.work.kind);
    if works.0 != works.1 {
        let what = format!(
            "survey {before} timed another work than survey {after} ({} and {}): their pieces cannot be compared",
            works.0.name(),
            works.1.name()
        );
        return Err(Failure::usage(what).next("Compare two surveys, or two of `corewise tail` with the same --work."));
    }
    let comparison = compare_surveys(&surveys.0, &surveys.1);
    print(
        settings,
        || ComparisonDocument::new(before, after, &comparison),
        || view::compare::screen(&comparison, (before, after), settings.width),
    )?;
    Ok(Exit::Done)
}

/// The store, or what makes one.
pub(super) fn existing(settings: &Settings, first: &str) -> Result<Store, Failure> {
    let what = || Ok(format!("there is no history at {}", path(settings)?.display()));
    let next = || format!("{first}, or name another history with --store.");
    opened(settings)?.map_or_else(|| Err(Failure::unavailable(what()?).next(next())), Ok)
}

fn stored(number: i64, settings: &Settings) -> Result<Survey, Failure> {
    existing(settings, "Make a survey with `corewise`")?.survey(number).map_err(|error| match error {
        StoreError::NoSurvey { .. } => Failure::unavailable(error).next("`corewise history --all` lists them."),
        other => broken(other),
    })
}

pub(super) fn opened(settings: &Settings) -> Result<Option<Store>, Failure> {
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

pub(super) fn broken(error: StoreError) -> Failure {
    Failure::unavailable(format!("the history cannot be read: {error}"))
}
