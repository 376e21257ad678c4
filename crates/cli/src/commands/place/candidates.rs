//! `corewise place --candidates`: lists placements worth trying on a machine.

pub mod document;

mod screen;

use corewise_lab::experiment::ExperimentKnowledge as _;
use corewise_machine::placement::plan::{USUAL_MOST, plan};

use super::task::CandidatesRequest;
use crate::app::failure::{Exit, Failure};
use crate::app::machine::{self, Chosen, MachineChoice};
use crate::app::output::show;
use crate::app::placing::{reachable_here, with_memory_costs};
use crate::app::settings::Settings;
use document::CandidatesDocument;
use screen::screen;

/// Lists the candidates.
pub fn run(request: &CandidatesRequest, settings: &Settings) -> Result<Exit, Failure> {
    let Chosen { machine, description } = machine::read(&request.machine)?;
    // On another machine all allowed cpus count as reachable, and no surveys are stored here.
    let (machine, reachable, busiest) = match request.machine {
        MachineChoice::Here => {
            let (reachable, busiest) = (reachable_here(&machine), settings.busiest_cpu(&machine));
            (with_memory_costs(machine, settings), reachable, busiest)
        }
        _ => {
            let reachable = machine.allowed.clone();
            (machine, reachable, None)
        }
    };
    let plan = plan(&machine, &reachable, request.threads, busiest, USUAL_MOST);
    show(
        settings,
        || CandidatesDocument::new(&machine, busiest, &plan),
        || screen(&machine, &plan, description.as_ref(), settings.width),
    )?;
    Ok(Exit::Done)
}
