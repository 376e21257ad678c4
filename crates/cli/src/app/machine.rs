//! Choice of a machine, and reading it: this one, a built-in one, or one in a file.

use std::path::{Path, PathBuf};

use clap::Args;
use corewise_machine::interrupt::device::DeviceInterrupt;
use corewise_machine::machine_file::{self, BUILT_IN, BuiltInMachine, MachineDescription, MachineFile, MachineMatch};
use corewise_machine::suggested_command;
use corewise_machine::{Gap, Machine};
use corewise_model::keep::cgroup_owner;
use corewise_sys::cgroup::CpuQuota;
use corewise_sys::cpuset;
use corewise_sys::input::{self, InputKind};
use corewise_sys::{Root, SysError, irq};

use super::failure::{CommandExit, CommandFailure};
use super::placement::shorten_message;
use super::standard_input::read_standard_input;
use crate::draw::suggestion;

/// Word that asks for the list of built-in machines.
const LIST: &str = "list";

/// Word that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Machine that a command is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineChoice {
    /// The machine that corewise runs on.
    Here,
    /// A built-in machine.
    BuiltIn(BuiltInMachine),
    /// A machine file or a recording.
    File(PathBuf),
    /// A recording, or pasted text, from standard input.
    Pasted(Vec<u8>),
}

impl MachineArguments {
    /// Returns true if the user asks for the list of machines.
    pub fn asks_for_list(&self) -> bool {
        self.machine.as_deref() == Some(Path::new(LIST))
    }
}

impl MachineChoice {
    /// Resolves `--machine`. The whole name of a built-in machine comes first, then a file, then a part of a name. So
    /// files in the folder never change the meaning of a whole name, and `./fx-8150` is always a file.
    ///
    /// # Errors
    /// [`CommandFailure`] if it is neither, or a part of several names.
    pub fn new(arguments: &MachineArguments) -> Result<Self, CommandFailure> {
        Self::choose_among_files(arguments, Path::exists)
    }

    fn choose_among_files(
        arguments: &MachineArguments,
        exists: impl Fn(&Path) -> bool,
    ) -> Result<Self, CommandFailure> {
        let Some(path) = &arguments.machine else { return Ok(Self::Here) };
        if path == Path::new(STANDARD_INPUT) {
            return read_standard_input(InputKind::MachineArchive.most_bytes()).map(Self::Pasted);
        }
        let name = path.to_str().unwrap_or_default();
        let shown = shorten_message(name);
        let is_path = name.contains(std::path::is_separator) || is_machine_file(path) || name.is_empty();
        match machine_file::find_built_in(name) {
            MachineMatch::Exactly(machine) => Ok(Self::BuiltIn(machine)),
            _ if is_path || exists(path) => Ok(Self::File(path.clone())),
            MachineMatch::ByPart(machine) => Ok(Self::BuiltIn(machine)),
            MachineMatch::Several(machines) => {
                Err(CommandFailure::usage_error(format!("\"{shown}\" matches several machines"))
                    .with_hint(list_names(&machines)))
            }
            MachineMatch::Nothing => {
                let what = format!("no machine and no file is named \"{shown}\"");
                Err(CommandFailure::usage_error(what).with_hint(format!("The machines: {}", list_names(&BUILT_IN))))
            }
        }
    }
}

/// Returns true if a file is a machine file by its name.
pub fn is_machine_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

fn list_names(machines: &[BuiltInMachine]) -> String {
    machines.iter().map(|machine| machine.name).collect::<Vec<_>>().join(", ")
}

/// Reads the machine that corewise runs on.
pub fn this_machine() -> Result<Machine, CommandFailure> {
    let mut machine = corewise_sys::topology::read_machine(&Root::this_machine()).map_err(explain_unread_machine)?;
    machine.gaps.extend(cpuset::own_quota().map(describe_quota));
    Ok(machine)
}

/// Describes a quota, which no topology shows: on all its cpus a program may be stopped in the middle.
fn describe_quota(quota: CpuQuota) -> Gap {
    let CpuQuota { group, cpus, .. } = quota;
    let owner = cgroup_owner(&group);
    let why = format!(
        "{owner} gives {group} the time of {cpus:.2} cpus: its processes together are stopped for the rest of each period once they have used it"
    );
    Gap::new("more processor time", why)
        .cured_by("raise or remove the quota (cpu.max, CPUQuota=, a container's or job's limit)")
}

/// Failure of reading the machine that corewise runs on.
pub fn explain_unread_machine(error: SysError) -> CommandFailure {
    CommandFailure::unavailable_error(error)
        .with_hint("corewise needs /sys or /proc: mount them, or allow this process to read them.")
}

/// A machine, with the description of its machine file.
pub struct ChosenMachine {
    /// The machine.
    pub machine: Machine,
    /// Description in the machine file; `None` for this machine and for recordings.
    pub description: Option<MachineDescription>,
}

impl ChosenMachine {
    fn from_machine(machine: Machine) -> Self {
        Self { machine, description: None }
    }
}

impl From<MachineFile> for ChosenMachine {
    fn from(file: MachineFile) -> Self {
        Self { machine: file.machine, description: Some(file.description) }
    }
}

/// Reads the machine that a command is about.
pub fn read_machine(choice: &MachineChoice) -> Result<ChosenMachine, CommandFailure> {
    match choice {
        MachineChoice::Here => this_machine().map(ChosenMachine::from_machine),
        MachineChoice::BuiltIn(machine) => {
            let file = machine
                .read_machine()
                .map_err(|error| CommandFailure::new(CommandExit::Internal, format!("{}: {error}", machine.name)));
            file.map(ChosenMachine::from)
        }
        MachineChoice::File(path) if is_machine_file(path) => read_machine_file(path).map(ChosenMachine::from),
        MachineChoice::File(_) | MachineChoice::Pasted(_) => {
            let root = open_recording(choice)?;
            let machine = corewise_sys::topology::read_machine(&root).map_err(|error| explain_unreadable(&error))?;
            Ok(ChosenMachine::from_machine(machine))
        }
    }
}

/// Returns the interrupts of the machine's devices; empty for machine files, which list none.
pub fn read_interrupts(choice: &MachineChoice) -> Vec<DeviceInterrupt> {
    open_recording(choice).map_or_else(|_| Vec::new(), |root| irq::read_interrupts(&root))
}

/// Opens the files of this machine, of a recording, or of pasted text.
///
/// # Errors
/// If they cannot be read, or the machine is only described and has no files.
pub fn open_recording(choice: &MachineChoice) -> Result<Root, CommandFailure> {
    match choice {
        MachineChoice::Here => Ok(Root::this_machine()),
        MachineChoice::File(path) if !is_machine_file(path) => {
            Root::open(path).map_err(|error| explain_unreadable(&error))
        }
        #[cfg(feature = "measuring")]
        MachineChoice::Pasted(bytes) => Root::from_archive_bytes(bytes).map_err(|error| explain_unreadable(&error)),
        _ => Err(CommandFailure::usage_error("a described machine has no interrupts").with_hint(format!(
            "Use a recording made by {}.",
            suggestion::format_mention(&suggested_command::record())
        ))),
    }
}

fn read_machine_file(path: &Path) -> Result<MachineFile, CommandFailure> {
    let text = input::read_text(path, InputKind::MachineFile).map_err(|error| {
        CommandFailure::unavailable_error(error).with_hint(format!(
            "Expected a machine file; {} shows the built-in machines.",
            suggestion::format_mention(&suggested_command::topology_machines())
        ))
    })?;
    machine_file::parse(&text).map_err(|error| {
        CommandFailure::usage_error(format!("{}, {error}", path.display()))
            .with_hint("docs/machines.md describes machine files.")
    })
}

/// Failure of reading a recording.
pub fn explain_unreadable(error: &SysError) -> CommandFailure {
    let record = suggestion::format_mention(&suggested_command::record());
    let next = format!(
        "--machine takes a name, a machine file (.toml), a recording (a file of {record}, or a folder or archive with sys and proc), or the output of lscpu -e and the like; - is standard input."
    );
    CommandFailure::unavailable_error(error).with_hint(next)
}

/// The machine that a command plans for; flattened into every command that changes nothing on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct MachineArguments {
    /// Another machine: a name or part of one (`corewise topology --machine list` shows all), a machine file (.toml), a
    /// recording (a folder or archive, as `record` and hwloc write them), or the output of lscpu, numactl -H, lstopo,
    /// /proc/cpuinfo and /proc/interrupts in a file, or in standard input for - [default: this machine]
    #[arg(long, value_name = "NAME|FILE", visible_alias = "root")]
    pub machine: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(machine: &str, files: &[&str]) -> Result<String, CommandFailure> {
        let arguments = MachineArguments { machine: Some(machine.into()) };
        Ok(
            match MachineChoice::choose_among_files(&arguments, |path| {
                files.iter().any(|file| path == Path::new(file))
            })? {
                MachineChoice::Here => "here".to_owned(),
                MachineChoice::BuiltIn(machine) => machine.name.to_owned(),
                MachineChoice::File(path) => format!("file {}", path.display()),
                MachineChoice::Pasted(bytes) => format!("{} bytes", bytes.len()),
            },
        )
    }

    #[test]
    fn whole_names_come_before_files_and_files_before_parts_of_names() {
        assert_eq!(chosen("fx-8150", &["fx-8150"]).unwrap(), "fx-8150");
        assert_eq!(chosen("./fx-8150", &[]).unwrap(), "file ./fx-8150");
        assert_eq!(chosen("2990wx", &[]).unwrap(), "threadripper-2990wx");
        assert_eq!(chosen("2990wx", &["2990wx"]).unwrap(), "file 2990wx");
        assert_eq!(chosen("fx-8150.toml", &[]).unwrap(), "file fx-8150.toml", "the file that is not there is told of");
        assert_eq!(chosen("/", &[]).unwrap(), "file /");
        assert_eq!(MachineChoice::new(&MachineArguments::default()).unwrap(), MachineChoice::Here);
    }

    #[test]
    fn unknown_names_list_the_known() {
        let unknown = chosen("5950x", &[]).unwrap_err();
        assert_eq!(unknown.exit, CommandExit::Usage);
        assert!(unknown.next.unwrap().contains("threadripper-2990wx"));
        let several = chosen("Threadripper", &[]).unwrap_err();
        assert_eq!(several.next.unwrap(), "threadripper-2990wx, threadripper-3960x");
    }

    #[test]
    fn list_is_no_machine() {
        assert!(MachineArguments { machine: Some("list".into()) }.asks_for_list());
        assert!(!MachineArguments { machine: Some("./list".into()) }.asks_for_list());
    }
}
