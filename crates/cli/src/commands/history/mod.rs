//! `corewise history`: lists, shows and compares stored surveys, and lists and shows experiments.

pub mod arguments;
pub mod document;

mod comparison;
mod screen;
#[cfg(test)]
mod tests;

use std::path::Path;

use corewise_model::Survey;
use corewise_model::compare::compare as compare_surveys;
use corewise_model::survey::Scope as SurveyScope;
use corewise_model::survey::conclude::conclude;
use corewise_store::StoreError;
use jiff::tz::TimeZone;

use super::r#try::drawing::Drawing;
use super::r#try::task::Print;
use crate::draw::number::when;
use crate::draw::survey::Kept;
use crate::shell::document::SurveyDocument;
use crate::shell::failure::{Exit, Failure};
use crate::shell::history::{broken, existing, opened};
use crate::shell::machine::this_machine;
use crate::shell::output::show as print;
use crate::shell::run::{Document, Run, document};
use crate::shell::settings::Settings;
use arguments::{HistoryArguments, HistoryCommand};
use document::{ComparisonDocument, HistoryDocument};
use screen::Scope;

impl Run for HistoryArguments {
    const DOCUMENTS: &'static [Document] = &[document::<HistoryDocument<'_>>, document::<ComparisonDocument<'_>>];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        match self.command {
            None => list(self.all, settings),
            Some(HistoryCommand::List { all }) => list(all || self.all, settings),
            Some(HistoryCommand::Show { number }) => show(number, settings),
            Some(HistoryCommand::Experiment { number, csv, markdown, svg }) => {
                show_experiment(number, Print::new(csv, markdown), svg.as_deref(), settings)
            }
            Some(HistoryCommand::Compare { before, after }) => compare(before, after, settings),
        }
    }
}

/// Lists the surveys of this machine, or all.
fn list(all: bool, settings: &Settings) -> Result<Exit, Failure> {
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
        || screen::screen(&surveys, &experiments, scope, &TimeZone::system(), settings.width),
    )?;
    Ok(Exit::Done)
}

/// Shows a stored experiment as it was shown when its last session ended.
fn show_experiment(number: i64, how: Print, svg: Option<&Path>, settings: &Settings) -> Result<Exit, Failure> {
    let drawing = svg.map(Drawing::into_file).transpose()?;
    let (experiment, trials) =
        existing(settings, "Make one with `corewise try`")?.experiment(number).map_err(|error| match error {
            StoreError::NoExperiment { .. } => Failure::unavailable(error).next("`corewise history --all` lists them."),
            other => broken(other),
        })?;
    drawing.iter().try_for_each(|drawing| drawing.can_be_of(&experiment))?;
    super::r#try::print(&experiment, &trials, Some(number), how, settings)?;
    drawing.iter().try_for_each(|drawing| drawing.draw(&experiment, &trials, Some(number)))?;
    Ok(Exit::Done)
}

/// Shows a stored survey as it was shown when it was made; what is concluded from it is computed anew.
fn show(number: i64, settings: &Settings) -> Result<Exit, Failure> {
    let survey = stored(number, settings)?;
    let conclusions = conclude(&survey);
    let kept = Kept::Recalled(number, when(survey.provenance.started_unix_ms, &TimeZone::system()));
    print(
        settings,
        || SurveyDocument::new(&survey, &conclusions, Some(number)),
        || match survey.provenance.scope {
            SurveyScope::Machine => super::survey::screen::screen(&survey, &conclusions, &kept, settings.width),
            SurveyScope::Tail => super::tail::screen::screen(&survey, &conclusions, &kept, settings.width),
        },
    )?;
    Ok(Exit::Done)
}

/// Says what changed between two stored surveys.
fn compare(before: i64, after: i64, settings: &Settings) -> Result<Exit, Failure> {
    let surveys = (stored(before, settings)?, stored(after, settings)?);
    let works = (surveys.0.work.kind, surveys.1.work.kind);
    if works.0 != works.1 {
        let what = format!(
            "survey {before} timed `{}`, survey {after} `{}`; they cannot be compared",
            works.0.name(),
            works.1.name()
        );
        return Err(
            Failure::usage(what).next("Compare two surveys, or two runs of `corewise tail` with the same --work.")
        );
    }
    let comparison = compare_surveys(&surveys.0, &surveys.1);
    print(
        settings,
        || ComparisonDocument::new(before, after, &comparison),
        || comparison::screen(&comparison, (before, after), settings.width),
    )?;
    Ok(Exit::Done)
}

fn stored(number: i64, settings: &Settings) -> Result<Survey, Failure> {
    existing(settings, "Make a survey with `corewise`")?.survey(number).map_err(|error| match error {
        StoreError::NoSurvey { .. } => Failure::unavailable(error).next("`corewise history --all` lists them."),
        other => broken(other),
    })
}
