//! Winners of experiments, and the documents by which programs find the placement that was proven for them.

use std::path::{Path, PathBuf};

use corewise_machine::evidence::PlacementProof;
use corewise_machine::placement::CpuSetName;
use corewise_machine::placement::memory::MemoryPolicy;
use corewise_machine::suggested_command;
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::keep::RuleEvidence;
use corewise_sys::files::{self, path_of};
use corewise_sys::output::{self, OutputPlace};
use corewise_sys::{input, user_folders};

use super::failure::CommandFailure;
use super::settings::ProgramSettings;
use super::user_store::{explain_store_error, open_existing_store};
use crate::draw::suggestion;

/// The placement that an experiment proves, with its evidence.
pub struct ProvenWinner {
    /// Its cpus, in the placement language.
    pub on: String,
    /// Its memory policy, if it has one.
    pub memory: Option<MemoryPolicy>,
    /// The experiment, and its conditions.
    pub evidence: RuleEvidence,
    /// The program that was run, as it was typed.
    pub program: String,
    /// The folder in which it was run.
    pub folder: PathBuf,
}

/// Reads the placement that an experiment proves.
///
/// # Errors
/// If there is no such experiment, it has no winner, or its winner is not one placement of one program.
pub fn read_winner(number: i64, settings: &ProgramSettings) -> Result<ProvenWinner, CommandFailure> {
    let conducted = open_existing_store(settings, &suggested_command::try_command())?
        .get_artifact::<ExperimentRecord>(number)
        .map_err(explain_store_error)?;
    let (arm, evidence) = RuleEvidence::of_winner(number, &conducted).ok_or_else(|| {
        CommandFailure::unavailable_error(format!("experiment {number} has no winner: there is nothing to keep"))
            .with_hint(format!(
                "{} shows its result.",
                suggestion::format_mention(&suggested_command::history_show(&number.to_string()))
            ))
    })?;
    if !arm.roles.is_empty() {
        let what = format!("experiment {number} places several roles, and a rule places one program");
        return Err(CommandFailure::usage_error(what).with_hint(format!(
            "{} shows a placement for each; make a rule for each with --on and --match.",
            suggestion::format_mention(&suggested_command::history_show(&number.to_string()))
        )));
    }
    if arm.variant.is_some() && arm.is_left_alone() {
        let what = format!("in experiment {number} the variant {} won, and no placement", arm.name);
        return Err(CommandFailure::usage_error(what).with_hint("Start that variant from now on."));
    }
    let memory = arm.memory.as_ref().and_then(|memory| memory.policy.parse().ok());
    // A rule needs cpus, even if only the memory policy has won.
    let on = if arm.cpus.is_some() { arm.placement_text() } else { CpuSetName::All.word() };
    let workload = &conducted.experiment.workload;
    Ok(ProvenWinner {
        on: on.to_owned(),
        memory,
        evidence,
        program: workload.command_of(arm).first().cloned().unwrap_or_default(),
        folder: path_of(workload.folder.path_bytes()),
    })
}

/// Returns the file of a proof: the user's, or the system's.
fn proof_file(name: &str, of_system: bool, settings: &ProgramSettings) -> Option<PathBuf> {
    let folder = match of_system {
        true => files::system_settings().map(|settings| settings.join("corewise")),
        false => settings.data.clone(),
    };
    folder.map(|folder| user_folders::proof_file(&folder, name))
}

/// Writes the document that `corewise::proven(name)` reads, for this user or for all.
///
/// # Errors
/// If the experiment was not made here, or the document cannot be written.
pub fn write_proof(
    name: &str,
    (on, memory): (&str, Option<&MemoryPolicy>),
    evidence: &RuleEvidence,
    (of_system, settings): (bool, &ProgramSettings),
) -> Result<PathBuf, CommandFailure> {
    if let Some(origin) = evidence.origin.describe_origin() {
        let what = format!("experiment {} proves nothing here: {origin}", evidence.experiment);
        return Err(CommandFailure::unavailable_error(what));
    }
    let homeless =
        || CommandFailure::unavailable_error("there is no folder for it: neither XDG_DATA_HOME nor HOME is set");
    let file = proof_file(name, of_system, settings).ok_or_else(homeless)?;
    let proof = PlacementProof {
        name: name.to_owned(),
        on: on.to_owned(),
        memory: memory.map(ToString::to_string),
        experiment: evidence.experiment,
        effect: evidence.effect,
        interval: evidence.interval,
        error_rate: evidence.error_rate,
        fingerprint: evidence.fingerprint.clone(),
        environment: evidence.environment.clone(),
    };
    let write = |folder: &Path| {
        output::make_folder(folder)?;
        let place = OutputPlace::find_place(&file)?;
        let text = proof.to_string();
        if of_system { place.replace_readable_file(text.as_bytes()) } else { place.replace_file(text.as_bytes()) }
    };
    let written = write(file.parent().unwrap_or(&file));
    written.map_err(|error| CommandFailure::unavailable_error(format!("cannot write {}: {error}", file.display())))?;
    Ok(file)
}

/// Removes the document of a name, if there is one.
///
/// # Errors
/// If it cannot be removed.
pub fn remove_proof(name: &str, of_system: bool, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let Some(file) = proof_file(name, of_system, settings) else { return Ok(()) };
    input::remove_stale(&file).map_err(CommandFailure::unavailable_error)
}
