//! The list of built-in machines.

pub mod document;
mod screen;

use corewise_machine::machine_file::{self, BUILT_IN};

use crate::app::failure::{Exit, Failure};
use crate::app::output::show;
use crate::app::settings::Settings;
use document::{MachinesDocument, MachinesEntry};
use screen::screen;

/// Lists the built-in machines.
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
