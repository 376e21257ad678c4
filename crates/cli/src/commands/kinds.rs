//! The kinds of artifacts, and how a survey is printed.

use std::ffi::OsString;
use std::sync::LazyLock;

use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::Survey;
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::links::LinkMap;
use corewise_model::memory::MemoryMap;
use corewise_model::survey::SurveyScope;
use corewise_model::survey::conclude::SurveyConclusions;

use super::{TypedCommand, history, survey, tail};
use crate::app::artifact::{self, ArtifactForm, ArtifactKind, PrintedArtifact, artifact_kind};
use crate::app::failure::CommandFailure;
use crate::app::settings::{ProgramEnvironment, ProgramSettings};
use crate::draw::story::Story;
use crate::draw::survey::StorageStatus;

/// All kinds.
pub const KINDS: [ArtifactKind; 4] = [
    artifact_kind::<Survey>(),
    artifact_kind::<ExperimentRecord>(),
    artifact_kind::<LinkMap>(),
    artifact_kind::<MemoryMap>(),
];

/// Prints a result as [`crate::rehearse_result`] says, with the settings of a command without options.
pub fn rehearse_result(schema: &str, json: &[u8]) -> Result<(), String> {
    static SETTINGS: LazyLock<ProgramSettings> = LazyLock::new(|| {
        let typed = TypedCommand::parse(&["corewise", "--no-store"].map(OsString::from)).expect("these options exist");
        ProgramSettings::new(&typed.common, &ProgramEnvironment::from_process())
    });
    history::rehearse_result(schema, json, &SETTINGS)
}

/// Prints a survey as the command that made it does.
impl PrintedArtifact for Survey {
    fn print_in_form(
        &self,
        kept: &StorageStatus,
        form: &ArtifactForm,
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        form.refuse_options(&[], "a survey")?;
        artifact::print_artifact(self, kept, settings)
    }

    const TITLE: &'static str = "Survey";

    fn first_command() -> SuggestedCommand {
        suggested_command::first_survey()
    }

    fn compose_story(
        &self,
        conclusions: &SurveyConclusions,
        kept: &StorageStatus,
        settings: &ProgramSettings,
    ) -> Story {
        match self.provenance.scope {
            SurveyScope::Machine => {
                survey::compose_story(self, conclusions, kept, survey::draw_memory_line(self, settings))
            }
            SurveyScope::Tail => tail::compose_story(self, conclusions, kept),
        }
    }

    fn compose_changes(numbers: [i64; 2], artifacts: [&Self; 2]) -> Option<Story> {
        survey::comparison::compose_changes(numbers, artifacts)
    }

    fn print_comparison(
        numbers: [i64; 2],
        artifacts: [&Self; 2],
        settings: &ProgramSettings,
    ) -> Result<(), CommandFailure> {
        survey::comparison::print_comparison(numbers, artifacts, settings)
    }
}
