//! `corewise topology`: shows the levels of this machine, of a recorded one, or of one that a file describes.

use super::machine::{self, Chosen};
use crate::document::TopologyDocument;
use crate::error::{Exit, Failure};
use crate::output::show;
use crate::settings::Settings;
use crate::settings::machine::MachineChoice;
use crate::view::topology::screen;

/// Shows a machine.
pub fn run(choice: &MachineChoice, settings: &Settings) -> Result<Exit, Failure> {
    let Chosen { machine, description } = machine::read(choice)?;
    let description = description.as_ref();
    show(settings, || TopologyDocument::new(&machine, description), || screen(&machine, description, settings.width))?;
    Ok(Exit::Done)
}
