//! `corewise undo`: reverts changes of a crashed corewise, and changes that a corewise made to stay.

pub mod document;
pub mod screen;

use clap::Parser;
use corewise_sys::SysError;
use corewise_sys::change::{Change, Left, Meanwhile, Outcome, Standing, Undone, left_in};
use corewise_sys::events::{left_instances, owner_of_instance, remove_left_instance};
use jiff::tz::TimeZone;

use crate::app::failure::{Exit, Failure};
use crate::app::output::show;
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use document::{Fate, Item, Report, State, UndoDocument};
use screen::screen;

/// Revert changes left behind by a crashed corewise, and changes of `irq` and `run --pid`
#[derive(Clone, Debug, Parser)]
#[command(name = "undo")]
pub struct UndoArguments {
    /// Show what would be reverted, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl Run for UndoArguments {
    const DOCUMENTS: &'static [Document] = &[document::<UndoDocument<'_>>(&["undo --journal journals"])];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        let dry_run = self.dry_run;
        let folder = settings.journal_folder()?;
        let found = left_in(folder).map_err(|error| refused(&error))?;
        let (mut reports, mut meanwhile) = (Vec::new(), Meanwhile::default());
        for left in found {
            reports.extend(match left {
                Ok(left) => report(left, dry_run.then_some(&mut meanwhile)),
                Err(error) => Some(Report { why: Some(error.to_string()), ..Report::new(State::Unreadable) }),
            });
        }
        reports.extend(left_instances().iter().map(|name| instance(name, dry_run)));
        let folder = folder.display().to_string();
        show(
            settings,
            || UndoDocument::new(folder.clone(), dry_run, &reports),
            || screen(&folder, dry_run, &reports, &TimeZone::system(), settings.width),
        )?;
        let is_done = !reports.iter().any(Report::remains);
        Ok(if is_done { Exit::Done } else { Exit::Unavailable })
    }
}

fn refused(error: &SysError) -> Failure {
    let failure = Failure::unavailable(error);
    match error {
        SysError::JournalRefused { .. } => failure.next("Run undo as the user who wrote the journal."),
        _ => failure.next("Make it readable, or name another folder with --journal PATH."),
    }
}

/// Reverts the changes of a journal and reports the results, or previews them after earlier journals. `None` if it has no open change.
fn report(mut left: Left, meanwhile: Option<&mut Meanwhile>) -> Option<Report> {
    let dry_run = meanwhile.is_some();
    let state = state(left.standing());
    let mut report = Report::new(state);
    report.journal = Some(left.path().display().to_string());
    if let Some(header) = left.header() {
        report.kept_by = left.kept_by().map(str::to_owned);
        report.process = Some(header.process.id);
        report.host = Some(header.host.clone());
        report.started_unix_ms = Some(header.started_unix_ms);
    }
    report.changes = match (state, meanwhile) {
        (State::Left | State::Kept, Some(meanwhile)) => {
            left.preview(meanwhile).into_iter().map(|undone| item(undone, Fate::WouldRevert)).collect()
        }
        (State::Left | State::Kept, None) => {
            left.undo().into_iter().map(|undone| item(undone, Fate::Reverted)).collect()
        }
        (State::OtherBoot, _) => left.open_entries().map(|entry| with(&entry.change, Fate::Gone)).collect(),
        (State::InForce, _) => left.open_entries().map(|entry| with(&entry.change, Fate::InForce)).collect(),
        _ => left.open_entries().map(|entry| with(&entry.change, Fate::Unknown)).collect(),
    };
    report.why = left.damage().map(str::to_owned);
    // The reverted changes are reported even if this fails.
    if !dry_run && let Err(error) = left.clear() {
        report.why = Some(error.to_string());
    }
    let says_something = !report.changes.is_empty()
        || report.why.is_some()
        || !matches!(state, State::Left | State::Kept | State::InForce);
    says_something.then_some(report)
}

/// Removes an instance of ftrace and reports the result; its name identifies its process.
fn instance(name: &str, dry_run: bool) -> Report {
    let (fate, why) = match dry_run {
        true => (Fate::WouldRevert, None),
        false => match remove_left_instance(name) {
            Ok(()) => (Fate::Reverted, None),
            Err(error) => (Fate::Failed, Some(error.to_string())),
        },
    };
    let process = owner_of_instance(name).map(|process| process.id);
    let what = match dry_run {
        true => format!("remove the ftrace instance {name}"),
        false => format!("the ftrace instance {name} was made"),
    };
    let changes = vec![Item { what, fate, why }];
    Report { process, changes, ..Report::new(State::Left) }
}

const fn state(standing: &Standing) -> State {
    match standing {
        Standing::InForce => State::InForce,
        Standing::Left => State::Left,
        Standing::Kept => State::Kept,
        Standing::OtherBoot => State::OtherBoot,
        Standing::OtherMachine => State::OtherMachine,
        Standing::Unknown => State::Unknown,
        Standing::Unreadable => State::Unreadable,
    }
}

fn with(change: &Change, fate: Fate) -> Item {
    Item { what: change.to_string(), fate, why: None }
}

fn item(undone: Undone, reverted: Fate) -> Item {
    let (fate, why) = match undone.outcome {
        Outcome::Reverted(remark) => (reverted, remark),
        Outcome::NothingToDo(why) => (Fate::NothingToDo, Some(why)),
        Outcome::LeftAlone(why) => (Fate::LeftAlone, Some(why)),
        Outcome::Failed(why) => (Fate::Failed, Some(why)),
    };
    // A preview describes the reversal to come, and a reverted change its result.
    let what = match fate {
        Fate::WouldRevert => undone.change.way_back(),
        Fate::Reverted => undone.change.describe_undone(),
        _ => undone.change.to_string(),
    };
    Item { what, fate, why }
}
