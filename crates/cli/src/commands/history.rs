//! `corewise history`: lists, shows, compares and deletes stored artifacts of any kind.

pub mod arguments;
mod document;
mod import;
mod list;
mod timings;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use corewise_machine::suggested_command;
use corewise_model::keep::Rule;
use corewise_store::{ArtifactStore, StoredEntry};
use jiff::tz::TimeZone;

use super::KINDS;
use crate::app::artifact::{ArtifactForm, ArtifactKind};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::this_machine;
use crate::app::output::{print_message, show_result as print};
use crate::app::rules::find_rules;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::app::user_store::{explain_store_error, open_existing_store, to_write};
use crate::draw::artifact_list::draw_table;
use crate::draw::number::format_count;
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::wrap_line;
use arguments::{HistoryArguments, HistoryCommand, ListArguments};
use document::DeletionDocument;
pub use import::rehearse_result;
use list::{HistoryDocument, list_artifacts};

impl RunnableCommand for HistoryArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[
        command_document::<HistoryDocument<'_>>("history", &["history", "history --kind survey"]),
        command_document::<DeletionDocument<'_>>("deletion", &["history prune --older-than 1s --dry-run"]),
        command_document::<import::ImportDocument>("import", &["history import page.html"]),
        command_document::<timings::TimingsDocument>("timings", &["history import hyperfine.json"]),
    ];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let both = |own: ListArguments| ListArguments {
            all: own.all || self.list.all,
            kind: own.kind.or_else(|| self.list.kind.clone()),
        };
        match self.command.unwrap_or_else(|| HistoryCommand::List(ListArguments::default())) {
            HistoryCommand::List(own) => {
                let ListArguments { all, kind } = both(own);
                let known = KINDS.iter().find(|known| kind.as_deref() == Some(known.name));
                let first = known.map_or_else(suggested_command::first_survey, |known| (known.first)());
                list_artifacts(kind.as_deref(), first, all, settings)
            }
            HistoryCommand::Show { number, form } => show_stored(
                &open_existing_store(settings, &suggested_command::first_survey())?,
                number,
                &form,
                settings,
            ),
            HistoryCommand::Compare { before, after } => compare_stored(before, after, settings),
            HistoryCommand::Import { rehearse: true, .. } => import::rehearse_page(settings),
            HistoryCommand::Import { files, .. } => import::import_files(&files, settings),
            HistoryCommand::Delete { numbers } => delete_stored(&numbers, settings),
            HistoryCommand::Prune { older_than, dry_run, selection } => {
                prune_stored(older_than, dry_run, &both(selection), settings)
            }
        }
        .map(|()| CommandExit::Done)
    }
}

fn find_kind(entry: &StoredEntry) -> Result<&'static ArtifactKind, CommandFailure> {
    KINDS.iter().find(|kind| kind.name == entry.kind).ok_or_else(|| {
        CommandFailure::unavailable_error(format!(
            "number {} is of the kind {}, which this corewise does not know",
            entry.number, entry.kind
        ))
        .with_hint("Use the newer corewise that stored it.")
    })
}

/// Shows the artifact of a number as its command showed it, and notes the rules that rest on it.
fn show_stored(
    store: &ArtifactStore,
    number: i64,
    form: &ArtifactForm,
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    (find_kind(&store.find_entry(number).map_err(explain_store_error)?)?.show)(store, number, form, settings)?;
    for rule in rules_with_evidence(settings).unwrap_or_default().iter().filter(|rule| rests_on(rule, &[number])) {
        print_message(&format!("note: rule {} rests on experiment {number}", rule.name));
    }
    Ok(())
}

/// Returns the rules with evidence in this user's history: the user's own, and for root also the system's.
fn rules_with_evidence(settings: &ProgramSettings) -> Result<Vec<Rule>, CommandFailure> {
    let places = [false, true].into_iter().filter(|of_system| !of_system || settings.is_root);
    let known = places.filter_map(|of_system| find_rules(None, of_system, settings).ok());
    let read = known.map(|rules| rules.read_rules()).collect::<Result<Vec<_>, _>>()?;
    Ok(read.into_iter().flatten().collect())
}

fn rests_on(rule: &Rule, numbers: &[i64]) -> bool {
    rule.evidence.as_ref().is_some_and(|evidence| numbers.contains(&evidence.experiment))
}

fn compare_stored(before: i64, after: i64, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let store = open_existing_store(settings, &suggested_command::first_survey())?;
    let of = |number| store.find_entry(number).map_err(explain_store_error);
    let (earlier, later) = (of(before)?, of(after)?);
    if earlier.kind != later.kind {
        let what =
            format!("number {before} is of the kind {}, and number {after} of the kind {}", earlier.kind, later.kind);
        return Err(CommandFailure::usage_error(what).with_hint(format!(
            "Compare two of one kind; {} lists them.",
            suggestion::format_mention(&suggested_command::history())
        )));
    }
    (find_kind(&earlier)?.compare)(&store, [before, after], settings)
}

fn delete_stored(numbers: &[i64], settings: &ProgramSettings) -> Result<(), CommandFailure> {
    refuse_evidence(numbers, settings)?;
    // Closed before the store is opened for writing: the last connection to close tidies it up, which a reader may not do.
    let path = open_existing_store(settings, &suggested_command::first_survey())?.path().to_owned();
    let deleted =
        to_write(&path, settings).and_then(|mut store| store.delete_artifacts(numbers)).map_err(explain_store_error)?;
    print_deleted(&deleted, false, settings)
}

/// Refuses to delete an experiment that a rule of this user rests on, except with `--anyway`.
fn refuse_evidence(numbers: &[i64], settings: &ProgramSettings) -> Result<(), CommandFailure> {
    if settings.anyway {
        return Ok(());
    }
    let anyway = "Nothing was deleted. To delete it all the same, add --anyway.";
    let rules = rules_with_evidence(settings).map_err(|failure| {
        CommandFailure::unavailable_error(format!("it is not known which experiments rules rest on: {}", failure.what))
            .with_hint(anyway)
    })?;
    let evidence =
        rules.iter().find(|rule| rests_on(rule, numbers)).and_then(|rule| rule.evidence.as_ref().zip(Some(rule)));
    match evidence {
        Some((evidence, rule)) => {
            let what = format!("experiment {} is the evidence of rule {}", evidence.experiment, rule.name);
            Err(CommandFailure::unavailable_error(what).with_hint(anyway))
        }
        None => Ok(()),
    }
}

/// Deletes artifacts that are older than a given age.
fn prune_stored(
    older_than: Duration,
    dry_run: bool,
    list: &ListArguments,
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    let store = open_existing_store(settings, &suggested_command::first_survey())?;
    let machine = if list.all { None } else { Some(this_machine()?) };
    let before = SystemTime::now().checked_sub(older_than).and_then(|moment| moment.duration_since(UNIX_EPOCH).ok());
    let before = before.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    let mut old = store.list_entries().map_err(explain_store_error)?;
    old.retain(|entry| {
        let is_of_kind = list.kind.as_ref().is_none_or(|kind| *kind == entry.kind);
        let is_listed = is_of_kind && machine.as_ref().is_none_or(|machine| entry.is_about(machine));
        is_listed && !entry.is_deleted() && entry.started_unix_ms < before
    });
    if !dry_run && !old.is_empty() {
        let numbers: Vec<i64> = old.iter().map(|entry| entry.number).collect();
        refuse_evidence(&numbers, settings)?;
        let path = store.path().to_owned();
        drop(store);
        to_write(&path, settings)
            .and_then(|mut store| store.delete_artifacts(&numbers))
            .map_err(explain_store_error)?;
    }
    print_deleted(&old, dry_run, settings)
}

fn print_deleted(entries: &[StoredEntry], dry_run: bool, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let screen = || {
        let mut screen = TextScreen::new();
        let said = match (entries.len(), dry_run) {
            (0, _) => "Nothing is that old.".to_owned(),
            (number, true) => format!("{number} would be deleted:"),
            (number, false) => format!("{} deleted; the list keeps a line of each:", format_count(number, "result")),
        };
        screen.extend(wrap_line(&StyledLine::new().plain(said), settings.width, 2));
        if !entries.is_empty() {
            screen.add_block(draw_table(entries, true, None, &TimeZone::system(), settings.width));
        }
        screen
    };
    print(settings, || DeletionDocument::new(dry_run, entries), screen)
}
