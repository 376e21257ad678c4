//! The list of built-in machines.

pub mod document;
mod screen;

use corewise_machine::machine_file::{self, BUILT_IN};

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::show_result;
use crate::app::settings::ProgramSettings;
use document::{MachinesDocument, MachinesEntry};
use screen::draw_screen;

/// Lists the built-in machines.
pub fn list_machines(settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    let entry = |machine: &machine_file::BuiltInMachine| {
        let file = machine
            .read_machine()
            .map_err(|error| CommandFailure::new(CommandExit::Internal, format!("{}: {error}", machine.name)))?;
        Ok(MachinesEntry::new(machine.name, &file))
    };
    let entries: Vec<MachinesEntry> = BUILT_IN.iter().map(entry).collect::<Result<_, CommandFailure>>()?;
    show_result(settings, || MachinesDocument::new(&entries), || draw_screen(&entries, settings.width))?;
    Ok(CommandExit::Done)
}
