//! `corewise undo`: reverts changes of a crashed corewise, and changes that a corewise made to stay.

pub mod document;
pub mod screen;

use clap::Parser;
use corewise_sys::SysError;
use corewise_sys::change::{
    AbandonedJournal, Change, JournalStanding, UndoForecast, UndoOutcome, UndoneChange, left_in,
};
use corewise_sys::events::{left_instances, owner_of_instance, remove_left_instance};
use jiff::tz::TimeZone;

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::show_result;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use document::{ChangeFate, ChangeReport, JournalReport, JournalState, UndoDocument};
use screen::draw_screen;

/// Revert changes left behind by a crashed corewise, and changes of `irq` and `run --pid`
#[derive(Clone, Debug, Parser)]
pub struct UndoArguments {
    /// Show what would be reverted, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl RunnableCommand for UndoArguments {
    const DOCUMENTS: &'static [CommandDocument] =
        &[command_document::<UndoDocument<'_>>("undo", &["undo --journal journals"])];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let dry_run = self.dry_run;
        let folder = settings.journal_folder()?;
        let found = left_in(folder).map_err(|error| explain_refusal(&error))?;
        let (mut reports, mut meanwhile) = (Vec::new(), UndoForecast::default());
        for left in found {
            reports.extend(match left {
                Ok(left) => report_journal(left, dry_run.then_some(&mut meanwhile)),
                Err(error) => {
                    Some(JournalReport { why: Some(error.to_string()), ..JournalReport::new(JournalState::Unreadable) })
                }
            });
        }
        reports.extend(left_instances().iter().map(|name| report_instance(name, dry_run)));
        let folder = folder.display().to_string();
        show_result(
            settings,
            || UndoDocument::new(folder.clone(), dry_run, &reports),
            || draw_screen(&folder, dry_run, &reports, &TimeZone::system(), settings.width),
        )?;
        let is_done = !reports.iter().any(JournalReport::has_remains);
        Ok(if is_done { CommandExit::Done } else { CommandExit::Unavailable })
    }
}

fn explain_refusal(error: &SysError) -> CommandFailure {
    let failure = CommandFailure::unavailable_error(error);
    match error {
        SysError::JournalRefused { .. } => failure.with_hint("Run undo as the user who wrote the journal."),
        _ => failure.with_hint("Make it readable, or name another folder with --journal PATH."),
    }
}

/// Reverts the changes of a journal and reports the results, or previews them after earlier journals. `None` if it has no open change.
fn report_journal(mut left: AbandonedJournal, meanwhile: Option<&mut UndoForecast>) -> Option<JournalReport> {
    let dry_run = meanwhile.is_some();
    let state = journal_state(left.standing());
    let mut report = JournalReport::new(state);
    report.journal = Some(left.path().display().to_string());
    if let Some(header) = left.header() {
        report.kept_by = left.kept_by().map(str::to_owned);
        report.process = Some(header.process.id);
        report.host = Some(header.host.clone());
        report.started_unix_ms = Some(header.started_unix_ms);
    }
    report.changes = match (state, meanwhile) {
        (JournalState::Left | JournalState::Kept, Some(meanwhile)) => left
            .preview_undo(meanwhile)
            .into_iter()
            .map(|undone| report_undone(undone, ChangeFate::WouldRevert))
            .collect(),
        (JournalState::Left | JournalState::Kept, None) => {
            left.undo_changes().into_iter().map(|undone| report_undone(undone, ChangeFate::Reverted)).collect()
        }
        (JournalState::OtherBoot, _) => {
            left.open_entries().map(|entry| new_change_report(&entry.change, ChangeFate::Gone)).collect()
        }
        (JournalState::InForce, _) => {
            left.open_entries().map(|entry| new_change_report(&entry.change, ChangeFate::InForce)).collect()
        }
        _ => left.open_entries().map(|entry| new_change_report(&entry.change, ChangeFate::Unknown)).collect(),
    };
    report.why = left.damage_reason().map(str::to_owned);
    // The reverted changes are reported even if this fails.
    if !dry_run && let Err(error) = left.clear_journal() {
        report.why = Some(error.to_string());
    }
    let says_something = !report.changes.is_empty()
        || report.why.is_some()
        || !matches!(state, JournalState::Left | JournalState::Kept | JournalState::InForce);
    says_something.then_some(report)
}

/// Removes an instance of ftrace and reports the result; its name identifies its process.
fn report_instance(name: &str, dry_run: bool) -> JournalReport {
    let (fate, why) = match dry_run {
        true => (ChangeFate::WouldRevert, None),
        false => match remove_left_instance(name) {
            Ok(()) => (ChangeFate::Reverted, None),
            Err(error) => (ChangeFate::Failed, Some(error.to_string())),
        },
    };
    let process = owner_of_instance(name).map(|process| process.id);
    let what = match dry_run {
        true => format!("remove the ftrace instance {name}"),
        false => format!("the ftrace instance {name} was made"),
    };
    let changes = vec![ChangeReport { what, fate, why }];
    JournalReport { process, changes, ..JournalReport::new(JournalState::Left) }
}

const fn journal_state(standing: &JournalStanding) -> JournalState {
    match standing {
        JournalStanding::InForce => JournalState::InForce,
        JournalStanding::Left => JournalState::Left,
        JournalStanding::Kept => JournalState::Kept,
        JournalStanding::OtherBoot => JournalState::OtherBoot,
        JournalStanding::OtherMachine => JournalState::OtherMachine,
        JournalStanding::Unknown => JournalState::Unknown,
        JournalStanding::Unreadable => JournalState::Unreadable,
    }
}

fn new_change_report(change: &Change, fate: ChangeFate) -> ChangeReport {
    ChangeReport { what: change.to_string(), fate, why: None }
}

fn report_undone(undone: UndoneChange, reverted: ChangeFate) -> ChangeReport {
    let (fate, why) = match undone.outcome {
        UndoOutcome::Reverted(remark) => (reverted, remark),
        UndoOutcome::NothingToDo(why) => (ChangeFate::NothingToDo, Some(why)),
        UndoOutcome::LeftAlone(why) => (ChangeFate::LeftAlone, Some(why)),
        UndoOutcome::Failed(why) => (ChangeFate::Failed, Some(why)),
    };
    // A preview describes the reversal to come, and a reverted change its result.
    let what = match fate {
        ChangeFate::WouldRevert => undone.change.way_back(),
        ChangeFate::Reverted => undone.change.describe_undone(),
        _ => undone.change.to_string(),
    };
    ChangeReport { what, fate, why }
}
