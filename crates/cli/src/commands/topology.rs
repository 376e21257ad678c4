//! `corewise topology`: shows the levels of this machine, of a recorded one, or of a described one.

pub mod devices;
pub mod document;
pub mod machines;
mod screen;
#[cfg(test)]
mod tests;

use clap::Parser;

use crate::app::failure::{Exit, Failure};
use crate::app::machine::{self, Chosen, MachineArguments, MachineChoice};
use crate::app::output::show;
use crate::app::placing::with_memory_costs;
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use devices::document::DevicesDocument;
use document::TopologyDocument;
use screen::screen;

/// Show the machine's levels: packages, nodes, dies, caches, clusters, cores, cpus
#[derive(Clone, Debug, Parser)]
#[command(name = "topology")]
pub struct TopologyArguments {
    /// Show network cards, disks, GPUs and other accelerators instead, with the cpus near each and the cpus that get its
    /// interrupts
    #[arg(long)]
    pub devices: bool,
    /// Machine to show.
    #[command(flatten)]
    pub machine: MachineArguments,
}

impl Run for TopologyArguments {
    const DOCUMENTS: &'static [Document] = &[
        document::<TopologyDocument<'_>>(&["topology", "topology --machine 2990wx"]),
        document::<DevicesDocument<'_>>(&["topology --machine devices.txt --devices"]),
        document::<machines::document::MachinesDocument<'_>>(&["topology --machine list"]),
    ];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        if self.machine.asks_for_list() {
            return machines::list(settings);
        }
        let choice = MachineChoice::new(&self.machine)?;
        let Chosen { machine, description } = machine::read(&choice)?;
        if self.devices {
            let machine = if choice == MachineChoice::Here { with_memory_costs(machine, settings) } else { machine };
            return devices::list(&machine, &machine::interrupts(&choice), settings);
        }
        let description = description.as_ref();
        show(
            settings,
            || TopologyDocument::new(&machine, description),
            || screen(&machine, description, settings.width),
        )?;
        Ok(Exit::Done)
    }
}
