//! The rig itself: all parts needed for booting, found once.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use tempfile::TempDir;

use crate::archive::CpioArchive;
use crate::emulator::{self, ConsoleUse};
use crate::{RigError, RigGuest, RigMachine, acpi, kernel, root_files};

/// The machines that the environment selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RigUse {
    /// None, as in every `cargo test`.
    None,
    /// The machines that each change of corewise is tried on.
    Change,
    /// All.
    Full,
}

impl RigUse {
    /// The variable that selects them.
    pub const VARIABLE: &str = "COREWISE_RIG";

    /// Reads the environment: "none", "change" or "full"; none if the variable is not set.
    ///
    /// # Errors
    ///
    /// [`RigError::Host`] for anything else.
    pub fn of_environment() -> Result<Self, RigError> {
        let value = std::env::var_os(Self::VARIABLE).unwrap_or_default();
        match value.to_str() {
            Some("change") => Ok(Self::Change),
            Some("full") => Ok(Self::Full),
            Some("" | "none") => Ok(Self::None),
            _ => Err(RigError::Host {
                program: Self::VARIABLE.to_owned(),
                why: format!("{} is not one of none, change and full", value.display()),
            }),
        }
    }

    /// Returns true if a machine is selected.
    pub fn includes_machine(self, machine: &RigMachine) -> bool {
        match self {
            Self::None => false,
            Self::Change => machine.each_change,
            Self::Full => true,
        }
    }
}

/// An emulator, a kernel and a root file system.
#[derive(Debug)]
pub struct Rig {
    emulator: PathBuf,
    kernel: PathBuf,
    files: Vec<u8>,
}

impl Rig {
    /// Finds the parts for booting, and packs programs for the machines, each under a name in /usr/bin.
    ///
    /// # Errors
    ///
    /// [`RigError::Missing`] if the host lacks a part, others if a file cannot be read.
    pub fn new(programs: &[(&Path, &str)]) -> Result<Self, RigError> {
        tidy_up();
        Ok(Self {
            emulator: emulator::find_program()?,
            kernel: kernel::find_kernel()?,
            files: root_files::archive_root(programs)?,
        })
    }

    /// Returns true if the kernel is there.
    pub fn has_kernel() -> bool {
        kernel::find_kernel().is_ok()
    }

    /// Fetches the kernel if it is not there yet.
    ///
    /// # Errors
    ///
    /// As [`Rig::new`].
    pub fn fetch_kernel() -> Result<PathBuf, RigError> {
        kernel::fetch_kernel()
    }

    /// Boots a machine, and waits until it accepts steps.
    ///
    /// # Errors
    ///
    /// [`RigError::Gone`] and [`RigError::Silent`] if it does not come up, with its console's last lines.
    pub fn boot_machine(&self, machine: &'static RigMachine) -> Result<RigGuest, RigError> {
        let folder = self.machine_folder(machine)?;
        let console = folder.path().join("console");
        let arguments = self.emulator_arguments(machine, &folder, ConsoleUse::File(&console));
        RigGuest::boot_guest(machine, self.emulator(&arguments), folder)
    }

    /// Boots a machine with a shell on the terminal, and waits for its end.
    ///
    /// # Errors
    ///
    /// [`RigError::Host`] if the emulator cannot be started.
    pub fn boot_shell(&self, machine: &RigMachine) -> Result<ExitStatus, RigError> {
        let folder = self.machine_folder(machine)?;
        let arguments = self.emulator_arguments(machine, &folder, ConsoleUse::Terminal);
        let status = self.emulator(&arguments).status();
        status.map_err(|error| RigError::Host { program: self.emulator.display().to_string(), why: error.to_string() })
    }

    /// Makes a folder with the machine's files: its table of cpus in front, the root file system behind it.
    fn machine_folder(&self, machine: &RigMachine) -> Result<TempDir, RigError> {
        let folder = tempfile::Builder::new().prefix(&format!("{PREFIX}{}-", std::process::id())).tempdir();
        let folder = folder.map_err(|source| RigError::file_error(std::env::temp_dir(), source))?;
        let mut table = CpioArchive::default();
        table.add_file(acpi::PATH, 0o644, &acpi::build_madt(machine));
        let mut bytes = table.finish_archive();
        bytes.extend(&self.files);
        let path = files_in(&folder);
        std::fs::write(&path, bytes).map_err(|source| RigError::file_error(path, source))?;
        Ok(folder)
    }

    fn emulator_arguments(&self, machine: &RigMachine, folder: &TempDir, console: ConsoleUse<'_>) -> Vec<String> {
        emulator::emulator_arguments(machine, &self.kernel, &files_in(folder), console)
    }

    /// Returns the emulator's command. The emulator ends with its parent, even if that is killed.
    fn emulator(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.emulator);
        if let Some(setpriv) = emulator::on_path("setpriv") {
            command = Command::new(setpriv);
            command.args(["--pdeathsig", "KILL"]).arg(&self.emulator);
        }
        command.args(arguments);
        command
    }
}

/// Prefix of machines' folders; the number of the process that made them follows.
const PREFIX: &str = "corewise-rig-";

/// Removes the folders of processes that were killed before they could do it.
fn tidy_up() {
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn files_in(folder: &TempDir) -> PathBuf {
    folder.path().join("files")
}
