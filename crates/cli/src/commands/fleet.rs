//! `corewise fleet`: the same questions for many machines, by Slurm, over ssh, or from files.

mod add;
pub mod arguments;
pub mod document;
pub mod engine;
pub mod engine_arguments;
mod manifest;
mod open_metrics;
mod reports;
mod screen;
mod survey;
pub mod r#try;
mod visit;

use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::fleet::Fleet;
use corewise_model::fleet::compare::compare_fleets;
use corewise_model::fleet::conclude::FleetConclusions;
use corewise_model::fleet::experiment::FleetExperiment;
use corewise_model::fleet::visit_report::VisitReport;

use crate::app::artifact::{ArtifactForm, PrintedArtifact, latest_entry, print_artifact};
use crate::app::document::ArtifactDocument;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::origin::mark_together;
use crate::app::output::{print_form, show_story};
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::app::user_store::{exit_after_storing, explain_store_error, open_existing_store, store_artifact_once};
use crate::draw::number::format_time;
use crate::draw::story::Story;
use crate::draw::suggestion;
use crate::draw::survey::StorageStatus;
use arguments::{FleetArguments, FleetCommand, FleetReportArguments};
use document::FleetComparisonDocument;
use jiff::tz::TimeZone;

impl RunnableCommand for FleetArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[
        command_document::<VisitReport>("fleet-visit", &["fleet visit --budget 1s"]),
        command_document::<ArtifactDocument<'_, FleetExperiment>>("fleet-experiment", &[]),
        command_document::<ArtifactDocument<'_, Fleet>>("fleet", &["fleet add visit.json"]),
        command_document::<FleetComparisonDocument<'_>>("fleet-comparison", &[]),
    ];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        match self.command.unwrap_or_default() {
            FleetCommand::Survey(arguments) => arguments.run_survey(settings),
            FleetCommand::Try(arguments) => arguments.run_try(settings),
            FleetCommand::Add(arguments) => arguments.add_files(settings),
            FleetCommand::Report(arguments) => show_stored(&arguments, settings),
            FleetCommand::Manifest(arguments) => arguments.print_manifest(),
            FleetCommand::Visit(arguments) => arguments.visit_machine(settings),
        }
    }
}

/// Shows a fleet of the history, by default the latest.
fn show_stored(arguments: &FleetReportArguments, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    let first = suggested_command::fleet_survey_hosts("hosts");
    let store = open_existing_store(settings, &first)?;
    let latest = || latest_entry::<Fleet>(&store);
    let Some(number) = arguments.number.map_or_else(latest, |number| Ok(Some(number)))? else {
        return Err(CommandFailure::unavailable_error("the history has no fleet")
            .with_hint(format!("Make one with {}.", suggestion::format_mention(&first))));
    };
    let fleet: Fleet = store.get_artifact(number).map_err(explain_store_error)?;
    if arguments.openmetrics {
        print_form(open_metrics::write_metrics(&fleet).trim_end())?;
    } else {
        let when = format_time(fleet.provenance.started_unix_ms, &TimeZone::system());
        print_artifact(&fleet, &StorageStatus::Recalled(number, when), settings)?;
    }
    Ok(CommandExit::Done)
}

/// Stores a fleet, shows it, and returns the exit status. One in which no node answered is shown only: the latest fleet stays the latest.
fn conclude_fleet(
    fleet: &Fleet,
    is_interrupted: bool,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let has_answer = fleet.nodes.iter().any(|node| !node.visits.is_empty());
    let kept = match has_answer {
        true => store_artifact_once(fleet, |stored| fleet.is_copy_of(stored), settings),
        false => StorageStatus::No,
    };
    print_artifact(fleet, &kept, settings)?;
    Ok(match (is_interrupted, has_answer) {
        (true, _) => exit_after_storing(&kept, CommandExit::Interrupted),
        (false, true) => exit_after_storing(&kept, CommandExit::Done),
        (false, false) => CommandExit::Unavailable,
    })
}

impl PrintedArtifact for Fleet {
    fn print_in_form(
        &self,
        kept: &StorageStatus,
        form: &ArtifactForm,
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        form.refuse_options(&[], "a fleet")?;
        print_artifact(self, kept, settings)
    }

    const TITLE: &'static str = "Fleet";

    fn first_command() -> SuggestedCommand {
        suggested_command::fleet_survey_hosts("hosts.txt")
    }

    fn compose_story(&self, conclusions: &FleetConclusions, kept: &StorageStatus, _: &ProgramSettings) -> Story {
        screen::compose_story(self, conclusions, kept)
    }

    fn compose_changes(numbers: [i64; 2], [before, after]: [&Self; 2]) -> Option<Story> {
        Some(screen::changes::compose_changes(numbers, &compare_fleets(before, after), &after.made_by))
    }

    fn print_comparison(
        numbers: [i64; 2],
        artifacts: [&Self; 2],
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        let changes = compare_fleets(artifacts[0], artifacts[1]);
        let story = screen::changes::compose_changes(numbers, &changes, &artifacts[1].made_by);
        let story = mark_together(story, Self::TITLE, numbers.into_iter().zip(artifacts));
        show_story(settings, || FleetComparisonDocument::new(numbers, &story, &changes), &story)
    }
}
