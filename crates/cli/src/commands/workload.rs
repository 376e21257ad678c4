//! `corewise workload`: runs a built-in workload and prints its metrics.

pub mod document;

pub mod arguments;
mod screen;
pub mod task;

use corewise_machine::CpuSet;
use corewise_work::pingpong::{self, partner};
use corewise_work::settings::WorkloadHost;
use corewise_work::{
    WorkError, WorkloadReport, WorkloadSettings as WorkSettings, euler, image, particles, pipeline, raymesh, render,
    tail,
};

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::machine::this_machine;
use crate::app::output::{print_message, show_result};
use crate::app::placing::resolve_here;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use arguments::WorkloadArguments;
use document::WorkloadDocument;
use screen::draw_screen;
use task::{WorkloadChoice, WorkloadTask};

impl RunnableCommand for WorkloadArguments {
    const DOCUMENTS: &'static [CommandDocument] =
        &[command_document::<WorkloadDocument<'_>>("workload", &["workload particles --size 0.001"])];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        run(&WorkloadTask::new(self)?, settings)
    }
}

fn run(task: &WorkloadTask, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    if let WorkloadChoice::Partner(by) = task.which {
        return partner::answer_starter(by).map(|()| CommandExit::Done).map_err(explain_work_error);
    }
    let work = work_settings(task, settings)?;
    let interruption = InterruptionWatch::watch_signals()?;
    let name = task.which.workload_name();
    let mut progress = |what: &str| {
        if !settings.json {
            print_message(&format!("{name}: {what}"));
        }
    };
    let mut company = WorkloadHost { stop: interruption.stop(), progress: &mut progress };
    let report = run_workload(&task.which, &work, &mut company).map_err(explain_work_error)?;
    show_result(
        settings,
        || WorkloadDocument::new(name, &work, &report),
        || draw_screen(name, &work, &report, settings.width),
    )?;
    Ok(CommandExit::Done)
}

fn work_settings(task: &WorkloadTask, settings: &ProgramSettings) -> Result<WorkSettings, CommandFailure> {
    let machine = this_machine()?;
    let pinned: CpuSet = match &task.pin {
        Some(expression) => resolve_here(expression, &machine, settings)?.cpus,
        None => CpuSet::default(),
    };
    let all = if pinned.is_empty() { machine.allowed.len() } else { pinned.len() };
    Ok(WorkSettings {
        threads: task.threads.unwrap_or(all).max(1),
        size: task.size,
        seed: task.seed,
        cpus: pinned.iter().collect(),
    })
}

fn run_workload(
    which: &WorkloadChoice,
    work: &WorkSettings,
    company: &mut WorkloadHost<'_>,
) -> Result<WorkloadReport, WorkError> {
    match which {
        WorkloadChoice::Particles(options) => particles::run(work, options, company),
        WorkloadChoice::Raymesh(options) => raymesh::run(work, options, company),
        WorkloadChoice::Pipeline(options) => pipeline::run(work, options, company),
        WorkloadChoice::Euler(options) => euler::run(work, options, company),
        WorkloadChoice::Image(options) => image::run(work, options, company),
        WorkloadChoice::Render(options) => render::run(work, options, company),
        WorkloadChoice::Tail(options) => tail::run(work, options, company),
        WorkloadChoice::Pingpong(options) => pingpong::run(work, options, company),
        // A partner is handled before any workload runs.
        WorkloadChoice::Partner(_) => Err(WorkError::Stopped),
    }
}

fn explain_work_error(error: WorkError) -> CommandFailure {
    match &error {
        WorkError::Wrong(_) => CommandFailure::new(CommandExit::Internal, error).with_hint(
            "Either the workload has a bug or this machine computes wrongly; run it again, and with one thread.",
        ),
        WorkError::Input { .. } => CommandFailure::usage_error(error),
        WorkError::System { .. } => CommandFailure::unavailable_error(error),
        WorkError::Stopped => CommandFailure::new(CommandExit::Interrupted, error),
    }
}
