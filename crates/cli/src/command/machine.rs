//! The machine that a command plans for, and the list of those that the program holds.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use corewise_model::Machine;
use corewise_model::machine_file::{self, BUILT_IN, Description, MachineFile};
use corewise_sys::{Root, SysError};

use super::this_machine;
use crate::document::{MachinesDocument, MachinesEntry};
use crate::error::{Exit, Failure};
use crate::output::show;
use crate::settings::Settings;
use crate::settings::machine::{MachineChoice, is_machine_file};
use crate::view::machines::screen;

/// Machine files larger than this are none, in bytes.
const LARGEST_FILE_BYTES: u64 = 1 << 20;

/// A machine, and what its file says of itself where it comes from a machine file.
pub struct Chosen {
    /// The machine.
    pub machine: Machine,
    /// What the machine file says of itself; absent for this machine and for recordings.
    pub description: Option<Description>,
}

impl Chosen {
    fn undescribed(machine: Machine) -> Self {
        Self { machine, description: None }
    }
}

impl From<MachineFile> for Chosen {
    fn from(file: MachineFile) -> Self {
        Self { machine: file.machine, description: Some(file.description) }
    }
}

/// Reads the machine that a command is about.
pub fn read(choice: &MachineChoice) -> Result<Chosen, Failure> {
    match choice {
        MachineChoice::Here => this_machine().map(Chosen::undescribed),
        MachineChoice::BuiltIn(machine) => {
            let file =
                machine.read().map_err(|error| Failure::new(Exit::Internal, format!("{}: {error}", machine.name)));
            file.map(Chosen::from)
        }
        MachineChoice::File(path) if is_machine_file(path) => described(path).map(Chosen::from),
        MachineChoice::File(path) => recorded(path).map(Chosen::undescribed),
    }
}

fn described(path: &Path) -> Result<MachineFile, Failure> {
    let text = text_of(path).map_err(|error| {
        Failure::unavailable(format!("cannot read {}: {error}", path.display())).next(
            "A machine file describes a machine; `corewise topology --machine list` shows those that are built in.",
        )
    })?;
    machine_file::parse(&text).map_err(|error| {
        Failure::usage(format!("{}, {error}", path.display())).next("docs/machines.md describes machine files.")
    })
}

fn text_of(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no file"));
    }
    file.take(LARGEST_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST_FILE_BYTES {
        return Err(std::io::Error::other(format!("it is larger than {LARGEST_FILE_BYTES} bytes")));
    }
    Ok(text)
}

fn recorded(path: &Path) -> Result<Machine, Failure> {
    let machine = Root::open(path).and_then(|root| corewise_sys::topology::read(&root));
    machine.map_err(|error| unreadable(&error))
}

/// The failure of a recording that cannot be read.
pub fn unreadable(error: &SysError) -> Failure {
    let next = "--machine takes a name, a machine file (.toml), or a recording: a file of `corewise record`, or a \
        folder or archive that holds sys and proc.";
    Failure::unavailable(error).next(next)
}

/// Lists the machines that the program holds.
pub fn list(settings: &Settings) -> Result<Exit, Failure> {
    let entry = |machine: &machine_file::BuiltIn| {
        let file =
            machine.read().map_err(|error| Failure::new(Exit::Internal, format!("{}: {error}", machine.name)))?;
        Ok(MachinesEntry::new(machine.name, &file))
    };
    let entries: Vec<MachinesEntry> = BUILT_IN.iter().map(entry).collect::<Result<_, Failure>>()?;
    show(settings, || MachinesDocument::new(&entries), || screen(&entries, settings.width))?;
    Ok(Exit::Done)
}
