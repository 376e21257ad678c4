//! `corewise workload`: runs a built-in workload and prints its metrics.

pub mod document;

pub mod arguments;
mod screen;
pub mod task;

use corewise_machine::CpuSet;
use corewise_work::pingpong::{self, partner};
use corewise_work::settings::Company;
use corewise_work::{
    Error, Report, Settings as WorkSettings, euler, image, particles, pipeline, raymesh, render, tail,
};

use crate::app::failure::{Exit, Failure};
use crate::app::interruption::Interruption;
use crate::app::machine::this_machine;
use crate::app::output::{say, show};
use crate::app::placing::resolve_here;
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use arguments::WorkloadArguments;
use document::WorkloadDocument;
use screen::screen;
use task::{Which, WorkloadTask};

impl Run for WorkloadArguments {
    const DOCUMENTS: &'static [Document] = &[document::<WorkloadDocument<'_>>(&["workload particles --size 0.001"])];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        run(&WorkloadTask::new(self)?, settings)
    }
}

fn run(task: &WorkloadTask, settings: &Settings) -> Result<Exit, Failure> {
    if let Which::Partner(by) = task.which {
        return partner::answer(by).map(|()| Exit::Done).map_err(failure);
    }
    let work = work_settings(task, settings)?;
    let interruption = Interruption::watch()?;
    let name = task.which.name();
    let mut progress = |what: &str| {
        if !settings.json {
            say(&format!("{name}: {what}"));
        }
    };
    let mut company = Company { stop: interruption.stop(), progress: &mut progress };
    let report = ran(&task.which, &work, &mut company).map_err(failure)?;
    show(settings, || WorkloadDocument::new(name, &work, &report), || screen(name, &work, &report, settings.width))?;
    Ok(Exit::Done)
}

fn work_settings(task: &WorkloadTask, settings: &Settings) -> Result<WorkSettings, Failure> {
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

fn ran(which: &Which, work: &WorkSettings, company: &mut Company<'_>) -> Result<Report, Error> {
    match which {
        Which::Particles(options) => particles::run(work, options, company),
        Which::Raymesh(options) => raymesh::run(work, options, company),
        Which::Pipeline(options) => pipeline::run(work, options, company),
        Which::Euler(options) => euler::run(work, options, company),
        Which::Image(options) => image::run(work, options, company),
        Which::Render(options) => render::run(work, options, company),
        Which::Tail(options) => tail::run(work, options, company),
        Which::Pingpong(options) => pingpong::run(work, options, company),
        // A partner is handled before any workload runs.
        Which::Partner(_) => Err(Error::Stopped),
    }
}

fn failure(error: Error) -> Failure {
    match &error {
        Error::Wrong(_) => Failure::new(Exit::Internal, error)
            .next("Either the workload has a bug or this machine computes wrongly; run it again, and with one thread."),
        Error::Input { .. } => Failure::usage(error),
        Error::System { .. } => Failure::unavailable(error),
        Error::Stopped => Failure::new(Exit::Interrupted, error),
    }
}
