//! `corewise place --candidates`: which placements are worth trying on a machine.

use corewise_model::placement::plan::{USUAL_MOST, plan};

use super::machine::{self, Chosen};
use crate::document::CandidatesDocument;
use crate::error::{Exit, Failure};
use crate::output::show;
use crate::placing::{busiest, reachable_here};
use crate::settings::Settings;
use crate::settings::machine::MachineChoice;
use crate::settings::place::CandidatesRequest;
use crate::view::candidates::screen;

/// Lists the candidates.
pub fn run(request: &CandidatesRequest, settings: &Settings) -> Result<Exit, Failure> {
    let Chosen { machine, description } = machine::read(&request.machine)?;
    // Whoever another machine belongs to may use all of it, and its surveys are not here.
    let (reachable, busiest) = match request.machine {
        MachineChoice::Here => (reachable_here(&machine), busiest(&machine, settings)),
        _ => (machine.allowed.clone(), None),
    };
    let plan = plan(&machine, &reachable, request.threads, busiest, USUAL_MOST);
    show(
        settings,
        || CandidatesDocument::new(&machine, busiest, &plan),
        || screen(&machine, &plan, description.as_ref(), settings.width),
    )?;
    Ok(Exit::Done)
}
