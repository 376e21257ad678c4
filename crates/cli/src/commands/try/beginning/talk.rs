//! Placements that are proposed by watching a first run of the command, or the running processes.

use corewise_lab::LabError;
use corewise_lab::experiment::talk::{TalkCandidates, conclude_talk, watch_first_run, watch_running, within_reach};
use corewise_lab::experiment::{
    CandidateRequest, CommandSubject, ExperimentBuilder, ExperimentContext, ExperimentError, PlacementChoice,
};
use corewise_model::trial::ThreadRole;

use super::super::task::{LiveTask, SubjectTask};
use crate::app::failure::CommandFailure;
use crate::app::output::print_message;
use crate::app::settings::ProgramSettings;
use crate::app::user_store::store_artifact;
use crate::draw::number::format_whole;
use crate::draw::printable::printable_prefix;

/// Maximum columns of the proposed placements in a message.
const LONGEST_LIST: usize = 300;

/// Watches a first run of a command, or running processes, stores the graph, and adds its proposals to the placements of an experiment, which
/// keep the ones that were named or would be planned.
///
/// If no wakes can be seen here, a warning says so, and nothing is added.
///
/// # Errors
/// Why the command cannot be run, or why the processes cannot be placed.
pub fn add_talk(
    subject: &SubjectTask,
    builder: &ExperimentBuilder,
    context: &ExperimentContext<'_>,
    settings: &ProgramSettings,
) -> Result<(SubjectTask, ExperimentBuilder), CommandFailure> {
    let watched = match subject {
        SubjectTask::Command(command) => {
            print_message(&"note: watching a first run, to see which threads wake each other");
            watch_first_run(command, context, env!("CARGO_PKG_VERSION"))
        }
        SubjectTask::Processes(live) => {
            let processes: Vec<u32> = live.find()?.processes.iter().map(|process| process.id).collect();
            print_message(&"note: watching the processes, to see which threads wake each other; nothing is changed");
            watch_running(&processes, context, env!("CARGO_PKG_VERSION"))
        }
        SubjectTask::Threads(_) | SubjectTask::Services(..) => return Ok((subject.clone(), builder.clone())),
    };
    let mut graph = match watched {
        Ok(graph) => graph,
        Err(ExperimentError::Workload(error @ LabError::NoWakes(_))) => {
            print_message(&format!("warning: {error}: only the other placements are tried"));
            return Ok((subject.clone(), builder.clone()));
        }
        Err(error) => return Err(error.into()),
    };
    let machine = within_reach(context.machine);
    graph.machine = Some(machine.clone());
    let concluded = conclude_talk(&graph, Some(&machine), settings);
    let number = store_artifact(&graph, settings).stored_number();
    let source = number.map_or_else(|| "talk".to_owned(), |number| format!("talk graph {number}"));
    let proposals = concluded.plan.map(|plan| plan.proposals).unwrap_or_default();
    let candidates = TalkCandidates::new(&proposals, &source)?;
    let seen = format!("{} wakes of threads in a second", format_whole(concluded.wakes_per_s.round() as u64));
    match proposals.is_empty() {
        true => print_message(&format!("note: {source} proposes no placement ({seen})")),
        false => {
            let names: Vec<String> = proposals.iter().map(|proposal| proposal.choice_text()).collect();
            let names = printable_prefix(&names.join("; "), LONGEST_LIST);
            print_message(&format!("note: {source} proposes {names} ({seen})"));
        }
    }
    let CandidateRequest { choices, memory } = &builder.candidates;
    let others = match choices.is_empty() && memory.is_empty() {
        true => vec![PlacementChoice::Planned],
        false => choices.clone(),
    };
    let choices = [candidates.choices, others].concat();
    let candidates_of_all = CandidateRequest { choices, memory: memory.clone() };
    let builder = ExperimentBuilder { candidates: candidates_of_all, ..builder.clone() };
    Ok((place_threads(subject.clone(), candidates.thread_roles), builder))
}

/// Returns a subject with the threads that have a placement of their own.
fn place_threads(subject: SubjectTask, thread_roles: Vec<ThreadRole>) -> SubjectTask {
    match subject {
        SubjectTask::Command(command) => SubjectTask::Command(CommandSubject { thread_roles, ..command }),
        SubjectTask::Processes(live) => SubjectTask::Processes(LiveTask { thread_roles, ..live }),
        other => other,
    }
}
