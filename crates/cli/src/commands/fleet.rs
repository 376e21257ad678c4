//! `corewise fleet`: the same questions for many machines, by Slurm, over ssh, or from files.

mod add;
pub mod arguments;
pub mod engine;
mod manifest;
mod reports;
mod survey;
pub mod r#try;
mod visit;

use corewise_machine::suggested_command;
use corewise_model::Artifact as _;
use corewise_model::fleet::Fleet;
use corewise_model::fleet::experiment::FleetExperiment;
use corewise_model::fleet::visit_report::VisitReport;

use crate::app::document::ArtifactDocument;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::print_json;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::app::user_store::{exit_after_storing, explain_store_error, open_existing_store, store_artifact};
use crate::draw::suggestion;
use crate::draw::survey::StorageStatus;
use arguments::{FleetArguments, FleetCommand};

impl RunnableCommand for FleetArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[
        command_document::<VisitReport>(&["fleet visit --budget 1s"]),
        command_document::<ArtifactDocument<'_, FleetExperiment>>(&[]),
    ];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        match self.command.unwrap_or(FleetCommand::Report) {
            FleetCommand::Survey(arguments) => arguments.run_survey(settings),
            FleetCommand::Try(arguments) => arguments.run_try(settings),
            FleetCommand::Add(arguments) => arguments.add_files(settings),
            FleetCommand::Report => show_latest(settings),
            FleetCommand::Manifest(arguments) => arguments.print_manifest(),
            FleetCommand::Visit(arguments) => arguments.visit_machine(settings),
        }
    }
}

/// Shows the latest fleet of the history.
fn show_latest(settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    let first = suggested_command::fleet_survey_hosts("hosts");
    let store = open_existing_store(settings, &first)?;
    let entries = store.list_entries().map_err(explain_store_error)?;
    let fleets = entries.iter().filter(|entry| entry.kind == Fleet::KIND && !entry.is_deleted());
    let Some(latest) = fleets.max_by_key(|entry| entry.number) else {
        return Err(CommandFailure::unavailable_error("the history has no fleet")
            .with_hint(format!("Make one with {}.", suggestion::format_mention(&first))));
    };
    let fleet = store.get_artifact(latest.number).map_err(explain_store_error)?;
    show_fleet(&fleet, &StorageStatus::No, settings)?;
    Ok(CommandExit::Done)
}

/// Stores a fleet, shows it, and returns the exit status.
fn conclude_fleet(
    fleet: &Fleet,
    is_interrupted: bool,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let kept = store_artifact(fleet, settings);
    show_fleet(fleet, &kept, settings)?;
    Ok(exit_after_storing(&kept, if is_interrupted { CommandExit::Interrupted } else { CommandExit::Done }))
}

fn show_fleet(fleet: &Fleet, _kept: &StorageStatus, _settings: &ProgramSettings) -> Result<(), CommandFailure> {
    print_json(fleet)
}
