//! Opening the engine and the folder of a fleet's run, as its options say.

use std::path::PathBuf;

use corewise_lab::fleet::folder::FleetFolder;
use corewise_lab::fleet::hosts::parse_hosts;
use corewise_lab::fleet::slurm::{SlurmEngine, SlurmOptions};
use corewise_lab::fleet::ssh::{CopiedProgram, SshEngine, SshOptions};
use corewise_lab::fleet::{FleetEngine, FleetError};
use corewise_sys::input::{self, InputKind};
use corewise_sys::output::replace_file;

use super::engine_arguments::FleetEngineArguments;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::settings::ProgramSettings;

/// File that marks the folder of a complete run.
const COMPLETE: &str = "complete";
/// Folder in the user's data folder that holds the runs.
const RUNS: &str = "fleets";

/// An engine, and the folder of its results.
pub struct OpenedFleet {
    /// The engine.
    pub engine: Box<dyn FleetEngine>,
    /// The folder.
    pub folder: FleetFolder,
}

impl FleetEngineArguments {
    /// Opens the engine and the folder. `kind` names the folders of one command's runs, and its jobs: "survey", "try".
    pub fn open_fleet(&self, kind: &str, settings: &ProgramSettings) -> Result<OpenedFleet, CommandFailure> {
        let folder = match &self.to {
            Some(folder) => folder.clone(),
            None => self.choose_folder(kind, settings)?,
        };
        let folder = FleetFolder::open(&folder).map_err(explain_fleet_error)?;
        let engine: Box<dyn FleetEngine> = match &self.hosts {
            Some(_) => Box::new(self.open_ssh()?),
            None => Box::new(self.open_slurm(kind, &folder)?),
        };
        Ok(OpenedFleet { engine, folder })
    }

    /// Returns the first folder of this fleet without a complete run.
    fn choose_folder(&self, kind: &str, settings: &ProgramSettings) -> Result<PathBuf, CommandFailure> {
        let Some(data) = &settings.data else {
            let what = "there is no folder for the results: neither XDG_DATA_HOME nor HOME is set";
            return Err(CommandFailure::unavailable_error(what).with_hint("Name one with --to DIR."));
        };
        let fleet = match &self.hosts {
            Some(hosts) => hosts.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            None => self.partition.clone().unwrap_or_else(|| "slurm".to_owned()),
        };
        let folder = |number: u32| data.join(RUNS).join(format!("{kind}-{fleet}-{number}"));
        let is_open = |folder: &PathBuf| !folder.join(COMPLETE).exists();
        (1..=u32::MAX).map(folder).find(is_open).ok_or_else(|| CommandFailure::unavailable_error("too many runs"))
    }

    fn open_slurm(&self, kind: &str, folder: &FleetFolder) -> Result<SlurmEngine, CommandFailure> {
        let options = SlurmOptions {
            partition: self.partition.clone(),
            nodes: self.nodes.clone(),
            program: own_program()?,
            patience: self.wait,
        };
        Ok(SlurmEngine::new(options, folder, &format!("corewise-{kind}-{}", std::process::id())))
    }

    fn open_ssh(&self) -> Result<SshEngine, CommandFailure> {
        let path = self.hosts.clone().unwrap_or_default();
        let text = input::read_text(&path, InputKind::FleetHosts).map_err(CommandFailure::unavailable_error)?;
        let hosts = parse_hosts(&text)
            .map_err(|error| CommandFailure::usage_error(format!("{}: {error}", path.display())))
            .map_err(|failure| {
                failure.with_hint("One host a line: [user@]host[:port] [rack=NAME]; n[0-3] for several.")
            })?;
        let copy = if self.copy { Some(CopiedProgram::check(&own_program()?)) } else { None };
        let options = SshOptions {
            settings: self.ssh_config.clone(),
            options: self.ssh_option.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            copy: copy.transpose().map_err(explain_fleet_error)?,
        };
        Ok(SshEngine::new(hosts, options))
    }
}

fn own_program() -> Result<PathBuf, CommandFailure> {
    std::env::current_exe().map_err(|error| CommandFailure::new(CommandExit::Internal, error))
}

/// Marks the run of a folder as complete, so that the next run has a folder of its own.
pub fn mark_complete(folder: &FleetFolder) -> Result<(), CommandFailure> {
    let path = folder.path().join(COMPLETE);
    replace_file(&path, b"").map_err(|source| explain_fleet_error(FleetError::Folder { path, source }))
}

/// Failure of a fleet's run.
pub fn explain_fleet_error(error: FleetError) -> CommandFailure {
    let failure = CommandFailure::unavailable_error(&error);
    match error {
        FleetError::Folder { .. } => failure.with_hint(
            "What came before is kept. Make room, or name another folder with --to DIR; the same command goes on with what is missing.",
        ),
        FleetError::NoProgram { program: "ssh", .. } => failure.with_hint("Install the client of OpenSSH."),
        FleetError::NoProgram { .. } => {
            failure.with_hint("Run this where Slurm's commands are installed, or use ssh with --hosts FILE.")
        }
        FleetError::NoNodes(_) => failure.with_hint("Choose others with -p and -w."),
        _ => failure,
    }
}
