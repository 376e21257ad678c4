//! `corewise topology`: shows the levels of this machine, of a recorded one, or of a described one.

pub mod devices;
pub mod document;
pub mod machines;
mod screen;
#[cfg(test)]
mod tests;

use clap::Parser;

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::{self, ChosenMachine, MachineArguments, MachineChoice};
use crate::app::output::show_result;
use crate::app::placement::with_memory_costs;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use devices::document::DevicesDocument;
use document::TopologyDocument;
use screen::draw_screen;

/// Show the machine's levels: packages, nodes, dies, caches, clusters, cores, cpus
#[derive(Clone, Debug, Parser)]
pub struct TopologyArguments {
    /// Show network cards, disks, GPUs and other accelerators instead, with the cpus near each and the cpus that get its
    /// interrupts
    #[arg(long)]
    pub devices: bool,
    /// Machine to show.
    #[command(flatten)]
    pub machine: MachineArguments,
}

impl RunnableCommand for TopologyArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[
        command_document::<TopologyDocument<'_>>("topology", &["topology", "topology --machine 2990wx"]),
        command_document::<DevicesDocument<'_>>("devices", &["topology --machine devices.txt --devices"]),
        command_document::<machines::document::MachinesDocument<'_>>("machines", &["topology --machine list"]),
    ];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        if self.machine.asks_for_list() {
            return machines::list_machines(settings);
        }
        let choice = MachineChoice::new(&self.machine)?;
        let ChosenMachine { machine, description } = machine::read_machine(&choice)?;
        if self.devices {
            let machine = if choice == MachineChoice::Here { with_memory_costs(machine, settings) } else { machine };
            return devices::list_devices(&machine, &machine::read_interrupts(&choice), settings);
        }
        let description = description.as_ref();
        show_result(
            settings,
            || TopologyDocument::new(&machine, description),
            || draw_screen(&machine, description, settings.width),
        )?;
        Ok(CommandExit::Done)
    }
}
