//! `corewise try --dry-run`: shows the processes and placements of an experiment.

use corewise_lab::experiment::{ExperimentContext, ExperimentSubject};
use corewise_machine::CpuSet;
use corewise_model::trial::PlacementArm;
use schemars::JsonSchema;
use serde::Serialize;

use super::beginning::plan_arms;
use super::task::{NewExperiment, SubjectTask};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output;
use crate::app::settings::ProgramSettings;
use crate::draw::number::format_count;
use crate::draw::printable::printable_name;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::wrap_line;

/// The output of `corewise try --dry-run --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/try-plan/1")]
pub struct PlanDocument {
    #[schemars(extend("const" = "corewise/try-plan/1"))]
    schema: &'static str,
    /// The processes that would be placed, with all their descendants.
    processes: Vec<PlannedProcess>,
    /// The placements, in random order; the first is the current one.
    placements: Vec<PlacementArm>,
}

/// A process that would be placed.
#[derive(Serialize, JsonSchema)]
struct PlannedProcess {
    /// Its number.
    process: u32,
    /// Its name.
    name: String,
    /// Its number of threads.
    threads: usize,
    /// The cpus that its threads may use now, each set once.
    cpus: Vec<CpuSet>,
    /// Its number of descendants.
    descendants: usize,
}

/// Shows the processes and placements of a session.
pub fn show_plan(
    new: &NewExperiment,
    context: &ExperimentContext<'_>,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let (subject, processes) = match &new.subject {
        SubjectTask::Processes(live) => {
            let found = live.find()?;
            (Box::new(found.clone()) as Box<dyn ExperimentSubject>, Some(found))
        }
        other => (other.open(settings)?, None),
    };
    let placements = plan_arms(&new.builder.candidates, &*subject, context, settings)?;
    let chosen = match processes {
        Some(found) => {
            found.check_reachable(&placements)?;
            found.processes
        }
        None => Vec::new(),
    };
    let planned = chosen.iter().map(|process| {
        let mut cpus: Vec<CpuSet> = Vec::new();
        for thread in &process.threads {
            if !cpus.contains(&thread.cpus) {
                cpus.push(thread.cpus.clone());
            }
        }
        let descendants = corewise_sys::task::descendant_processes(process.id).len();
        PlannedProcess {
            process: process.id,
            name: process.name.clone(),
            threads: process.threads.len(),
            cpus,
            descendants,
        }
    });
    let document = PlanDocument { schema: "corewise/try-plan/1", processes: planned.collect(), placements };
    output::show_result(settings, || &document, || draw_plan(&document, settings.width))?;
    Ok(CommandExit::Done)
}

fn draw_plan(document: &PlanDocument, width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    let line = |text: String| wrap_line(&StyledLine::new().plain(text), width, 2);
    let indented = |text: String| wrap_line(&StyledLine::new().plain(text), width, 6);
    for process in &document.processes {
        let cpus: Vec<String> = process.cpus.iter().map(ToString::to_string).collect();
        let more = match process.descendants {
            0 => String::new(),
            count => format!(", and {count} more processes that descend from it"),
        };
        screen.extend(line(format!(
            "Process {} ({}): {} on cpus {}{more}",
            process.process,
            printable_name(&process.name),
            format_count(process.threads, "thread"),
            cpus.join(" and ")
        )));
    }
    let what = if document.processes.is_empty() {
        "The parts would stand, trial by trial"
    } else {
        "All of these threads would stand, slot by slot"
    };
    screen.extend(line(format!("{what} in random order, on")));
    for placement in &document.placements {
        let cpus = match &placement.cpus {
            None => "the cpus that each of them has now".to_owned(),
            Some(_) if !placement.roles.is_empty() => placement.reason.clone(),
            Some(cpus) => format!("cpus {cpus}"),
        };
        screen.extend(indented(format!("    {}: {cpus}", printable_name(&placement.name))));
    }
    screen.extend(line("Nothing was changed.".to_owned()));
    screen
}
