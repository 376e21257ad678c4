//! Opening the engine and the folder of a fleet's run, as its options say.

use std::path::{Path, PathBuf};

use corewise_lab::fleet::folder::FleetFolder;
use corewise_lab::fleet::hosts::parse_hosts;
use corewise_lab::fleet::job::KnownNode;
use corewise_lab::fleet::slurm::{SlurmEngine, SlurmOptions};
use corewise_lab::fleet::ssh::{CopiedProgram, SshEngine, SshOptions};
use corewise_lab::fleet::{FleetEngine, FleetError};
use corewise_machine::SuggestedCommand;
use corewise_sys::input::{self, InputKind};
use corewise_sys::output::replace_file;

use super::engine_arguments::FleetEngineArguments;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::settings::ProgramSettings;
use crate::app::standard_input::read_standard_input;
use crate::draw::suggestion;

/// File that marks the folder of a complete run.
const COMPLETE: &str = "complete";
/// Folder in the user's data folder that holds the runs.
const RUNS: &str = "fleets";
/// Name of standard input.
const PIPE: &str = "-";

/// An engine, and the folder of its results.
pub struct OpenedFleet {
    /// The engine.
    pub engine: Box<dyn FleetEngine>,
    /// The folder. It exists.
    pub folder: FleetFolder,
    /// The nodes that the engine knows.
    pub nodes: Vec<KnownNode>,
}

/// Kind of run: it names its folders and its jobs.
pub struct FleetRunKind<'a> {
    /// A word: "survey", "try".
    pub word: &'static str,
    /// Command lines that reach nodes, one by Slurm and one over ssh.
    pub examples: [SuggestedCommand; 2],
    /// Returns true if the run of this folder is another one, so that a folder without that is chosen.
    pub is_other: &'a dyn Fn(&FleetFolder) -> bool,
}

impl FleetEngineArguments {
    /// Opens the engine, lists its nodes, and then makes the folder: a command that is refused leaves none.
    pub fn open_fleet(
        &self,
        kind: &FleetRunKind<'_>,
        settings: &ProgramSettings,
    ) -> Result<OpenedFleet, CommandFailure> {
        if !self.slurm && self.hosts.is_none() {
            let lines = kind.examples.iter().map(suggestion::format_typed).collect::<Vec<_>>().join("\n  ");
            return Err(CommandFailure::usage_error(
                "the nodes are reached by --slurm or with --hosts FILE: name one of them",
            )
            .with_hint(lines));
        }
        let folder = match &self.to {
            Some(folder) => FleetFolder::at(folder).map_err(explain_fleet_error)?,
            None => self.choose_folder(kind, settings)?,
        };
        let mut engine: Box<dyn FleetEngine> = match &self.hosts {
            Some(hosts) => Box::new(self.open_ssh(hosts)?),
            None => Box::new(self.open_slurm(kind.word, &folder)?),
        };
        let nodes = engine.list_nodes().map_err(explain_fleet_error)?;
        folder.make_folders().map_err(explain_fleet_error)?;
        Ok(OpenedFleet { engine, folder, nodes })
    }

    /// Returns the first folder of this fleet without a complete run, and without another one.
    fn choose_folder(
        &self,
        kind: &FleetRunKind<'_>,
        settings: &ProgramSettings,
    ) -> Result<FleetFolder, CommandFailure> {
        let Some(data) = &settings.data else {
            let what = "there is no folder for the results: neither XDG_DATA_HOME nor HOME is set";
            return Err(CommandFailure::unavailable_error(what).with_hint("Name one with --to DIR."));
        };
        let fleet = match &self.hosts {
            Some(hosts) if hosts == Path::new(PIPE) => "hosts".to_owned(),
            Some(hosts) => hosts.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            None => self.partition.clone().unwrap_or_else(|| "slurm".to_owned()),
        };
        let fleet: String =
            fleet.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect();
        for number in 1..=u32::MAX {
            let path = data.join(RUNS).join(format!("{}-{fleet}-{number}", kind.word));
            let folder = FleetFolder::at(&path).map_err(explain_fleet_error)?;
            if !path.join(COMPLETE).exists() && !(kind.is_other)(&folder) {
                return Ok(folder);
            }
        }
        Err(CommandFailure::unavailable_error("too many runs"))
    }

    /// Returns the options as they are typed, without the folder.
    pub fn typed_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
        };
        let path = |path: &PathBuf| path.display().to_string();
        option("--hosts", self.hosts.as_ref().map(path));
        option("--ssh-config", self.ssh_config.as_ref().map(path));
        self.ssh_option.iter().for_each(|value| option("--ssh-option", Some(value.clone())));
        option("--partition", self.partition.clone());
        option("--nodelist", self.nodes.clone());
        let flags = [("--slurm", self.slurm), ("--copy", self.copy)].into_iter().filter(|(_, is_set)| *is_set);
        flags.map(|(name, _)| name.to_owned()).chain(words).collect()
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

    fn open_ssh(&self, path: &Path) -> Result<SshEngine, CommandFailure> {
        let text = read_hosts(path)?;
        let hosts = parse_hosts(&text)
            .map_err(|error| CommandFailure::usage_error(format!("{}: {error}", path.display())))
            .map_err(|failure| {
                failure.with_hint("One host a line: [user@]host[:port] [rack=NAME]; n[0-3] for several, [::1]:22 for an address of IPv6.")
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

fn read_hosts(path: &Path) -> Result<String, CommandFailure> {
    if path == Path::new(PIPE) {
        let bytes = read_standard_input(InputKind::FleetHosts.most_bytes())?;
        return String::from_utf8(bytes)
            .map_err(|_| CommandFailure::unavailable_error("standard input is not UTF-8 text"));
    }
    input::read_text(path, InputKind::FleetHosts).map_err(CommandFailure::unavailable_error)
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
        FleetError::NoProgram { .. } | FleetError::Program { .. } => {
            failure.with_hint("Run this where Slurm's commands are installed, or use ssh with --hosts FILE.")
        }
        FleetError::NoNodes(_) => failure.with_hint("Choose others with -p and -w."),
        _ => failure,
    }
}
