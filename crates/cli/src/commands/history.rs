//! `corewise history`: lists, shows, compares and deletes stored artifacts of any kind.

pub mod arguments;
mod document;
mod import;
mod list;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use corewise_machine::suggested_command;
use corewise_model::keep::Rule;
use corewise_store::{Entry, Store};
use jiff::tz::TimeZone;

use super::KINDS;
use crate::app::artifact::{Form, Kind};
use crate::app::failure::{Exit, Failure};
use crate::app::history::{broken, existing, to_write};
use crate::app::machine::this_machine;
use crate::app::output::{say, show as print};
use crate::app::rules::find_rules;
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use crate::draw::entries::table;
use crate::draw::number::count;
use crate::draw::suggestion;
use crate::draw::text::{Line, Screen};
use crate::draw::wrap::wrap;
use arguments::{HistoryArguments, HistoryCommand, ListArguments};
use document::DeletionDocument;
use list::{HistoryDocument, list};

impl Run for HistoryArguments {
    const DOCUMENTS: &'static [Document] = &[
        document::<HistoryDocument<'_>>(&["history", "history --kind survey"]),
        document::<DeletionDocument<'_>>(&["history prune --older-than 1s --dry-run"]),
        document::<import::ImportDocument>(&["history import page.html"]),
    ];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        let both = |own: ListArguments| ListArguments {
            all: own.all || self.list.all,
            kind: own.kind.or_else(|| self.list.kind.clone()),
        };
        match self.command.unwrap_or_else(|| HistoryCommand::List(ListArguments::default())) {
            HistoryCommand::List(own) => {
                let ListArguments { all, kind } = both(own);
                let known = KINDS.iter().find(|known| kind.as_deref() == Some(known.name));
                let first = known.map_or_else(suggested_command::first_survey, |known| (known.first)());
                list(kind.as_deref(), first, all, settings)
            }
            HistoryCommand::Show { number, form } => {
                show(&existing(settings, &suggested_command::first_survey())?, number, &form, settings)
            }
            HistoryCommand::Compare { before, after } => compare(before, after, settings),
            HistoryCommand::Import { rehearse: true, .. } => import::rehearse(settings),
            HistoryCommand::Import { file, .. } => import::import(&file, settings),
            HistoryCommand::Delete { numbers } => delete(&numbers, settings),
            HistoryCommand::Prune { older_than, dry_run, list } => prune(older_than, dry_run, &both(list), settings),
        }
        .map(|()| Exit::Done)
    }
}

fn kind_of(entry: &Entry) -> Result<&'static Kind, Failure> {
    KINDS.iter().find(|kind| kind.name == entry.kind).ok_or_else(|| {
        Failure::unavailable(format!(
            "number {} is of the kind {}, which this corewise does not know",
            entry.number, entry.kind
        ))
        .next("Use the newer corewise that stored it.")
    })
}

/// Shows the artifact of a number as its command showed it, and notes the rules that rest on it.
fn show(store: &Store, number: i64, form: &Form, settings: &Settings) -> Result<(), Failure> {
    (kind_of(&store.entry(number).map_err(broken)?)?.show)(store, number, form, settings)?;
    for rule in rules(settings).unwrap_or_default().iter().filter(|rule| rests_on(rule, &[number])) {
        say(&format!("note: rule {} rests on experiment {number}", rule.name));
    }
    Ok(())
}

/// Returns the rules with evidence in this user's history: the user's own, and for root also the system's.
fn rules(settings: &Settings) -> Result<Vec<Rule>, Failure> {
    let places = [false, true].into_iter().filter(|of_system| !of_system || settings.is_root);
    let known = places.filter_map(|of_system| find_rules(None, of_system, settings).ok());
    let read = known.map(|rules| rules.read()).collect::<Result<Vec<_>, _>>()?;
    Ok(read.into_iter().flatten().collect())
}

fn rests_on(rule: &Rule, numbers: &[i64]) -> bool {
    rule.evidence.as_ref().is_some_and(|evidence| numbers.contains(&evidence.experiment))
}

fn compare(before: i64, after: i64, settings: &Settings) -> Result<(), Failure> {
    let store = existing(settings, &suggested_command::first_survey())?;
    let of = |number| store.entry(number).map_err(broken);
    let (earlier, later) = (of(before)?, of(after)?);
    if earlier.kind != later.kind {
        let what =
            format!("number {before} is of the kind {}, and number {after} of the kind {}", earlier.kind, later.kind);
        return Err(Failure::usage(what).next(format!(
            "Compare two of one kind; {} lists them.",
            suggestion::mention(&suggested_command::history())
        )));
    }
    (kind_of(&earlier)?.compare)(&store, [before, after], settings)
}

fn delete(numbers: &[i64], settings: &Settings) -> Result<(), Failure> {
    unless_evidence(numbers, settings)?;
    // Closed before the store is opened for writing: the last connection to close tidies it up, which a reader may not do.
    let path = existing(settings, &suggested_command::first_survey())?.path().to_owned();
    let deleted = to_write(&path, settings).and_then(|mut store| store.delete(numbers)).map_err(broken)?;
    print_deleted(&deleted, false, settings)
}

/// Refuses to delete an experiment that a rule of this user rests on, except with `--anyway`.
fn unless_evidence(numbers: &[i64], settings: &Settings) -> Result<(), Failure> {
    if settings.anyway {
        return Ok(());
    }
    let anyway = "Nothing was deleted. To delete it all the same, add --anyway.";
    let rules = rules(settings).map_err(|failure| {
        Failure::unavailable(format!("it is not known which experiments rules rest on: {}", failure.what)).next(anyway)
    })?;
    let evidence =
        rules.iter().find(|rule| rests_on(rule, numbers)).and_then(|rule| rule.evidence.as_ref().zip(Some(rule)));
    match evidence {
        Some((evidence, rule)) => {
            let what = format!("experiment {} is the evidence of rule {}", evidence.experiment, rule.name);
            Err(Failure::unavailable(what).next(anyway))
        }
        None => Ok(()),
    }
}

/// Deletes artifacts that are older than a given age.
fn prune(older_than: Duration, dry_run: bool, list: &ListArguments, settings: &Settings) -> Result<(), Failure> {
    let store = existing(settings, &suggested_command::first_survey())?;
    let fingerprint = if list.all { None } else { Some(this_machine()?.fingerprint()) };
    let before = SystemTime::now().checked_sub(older_than).and_then(|moment| moment.duration_since(UNIX_EPOCH).ok());
    let before = before.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    let mut old = store.entries(fingerprint.as_deref()).map_err(broken)?;
    old.retain(|entry| {
        let is_of_kind = list.kind.as_ref().is_none_or(|kind| *kind == entry.kind);
        is_of_kind && !entry.is_deleted() && entry.started_unix_ms < before
    });
    if !dry_run && !old.is_empty() {
        let numbers: Vec<i64> = old.iter().map(|entry| entry.number).collect();
        unless_evidence(&numbers, settings)?;
        let path = store.path().to_owned();
        drop(store);
        to_write(&path, settings).and_then(|mut store| store.delete(&numbers)).map_err(broken)?;
    }
    print_deleted(&old, dry_run, settings)
}

fn print_deleted(entries: &[Entry], dry_run: bool, settings: &Settings) -> Result<(), Failure> {
    let screen = || {
        let mut screen = Screen::new();
        let said = match (entries.len(), dry_run) {
            (0, _) => "Nothing is that old.".to_owned(),
            (number, true) => format!("{number} would be deleted:"),
            (number, false) => format!("{} deleted; the list keeps a line of each:", count(number, "result")),
        };
        screen.extend(wrap(&Line::new().plain(said), settings.width, 2));
        if !entries.is_empty() {
            screen.block(table(entries, true, &TimeZone::system(), settings.width));
        }
        screen
    };
    print(settings, || DeletionDocument::new(dry_run, entries), screen)
}
