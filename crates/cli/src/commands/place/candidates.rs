//! `corewise place --candidates`: lists placements worth trying on a machine.

pub mod document;

mod screen;

use corewise_lab::experiment::ExperimentKnowledge as _;
use corewise_machine::placement::plan::{USUAL_MOST, plan_placements};

use super::task::CandidatesRequest;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::{self, ChosenMachine, MachineChoice};
use crate::app::output::show_result;
use crate::app::placement::with_memory_costs;
use crate::app::placing::reachable_here;
use crate::app::settings::ProgramSettings;
use document::CandidatesDocument;
use screen::draw_screen;

/// Lists the candidates.
pub fn run(request: &CandidatesRequest, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    let ChosenMachine { machine, description } = machine::read_machine(&request.machine)?;
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
    let plan = plan_placements(&machine, &reachable, request.threads, busiest, USUAL_MOST);
    show_result(
        settings,
        || CandidatesDocument::new(&machine, busiest, &plan),
        || draw_screen(&machine, &plan, description.as_ref(), settings.width),
    )?;
    Ok(CommandExit::Done)
}
