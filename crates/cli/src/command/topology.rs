//! `corewise topology`: shows the levels of this machine, or of a recorded one.

use std::path::Path;

use corewise_model::Machine;
use corewise_sys::Root;

use super::this_machine;
use crate::document::TopologyDocument;
use crate::error::{Exit, Failure};
use crate::output::show;
use crate::settings::Settings;
use crate::view::topology::screen;

/// Shows a machine.
pub fn run(root: Option<&Path>, settings: &Settings) -> Result<Exit, Failure> {
    let machine = root.map_or_else(this_machine, recorded)?;
    show(settings, || TopologyDocument::new(&machine), || screen(&machine, settings.width))?;
    Ok(Exit::Done)
}

fn recorded(path: &Path) -> Result<Machine, Failure> {
    let machine = Root::open(path).and_then(|root| corewise_sys::topology::read(&root));
    machine.map_err(|error| {
        let next =
            "--root takes a recording: a file of `corewise record`, or a folder or archive that holds sys and proc.";
        Failure::unavailable(error).next(next)
    })
}
