//! The commands: each gets what it needs, lets a view make the screen, and prints it.

mod article;
mod candidates;
mod doctor;
mod experiment;
mod history;
mod irq;
mod links;
mod machine;
mod place;
mod record;
mod run;
mod schema;
mod survey;
mod tail;
mod topology;
mod undo;
mod workload;

use corewise_model::Machine;
use corewise_sys::Root;

use crate::error::{Exit, Failure};
use crate::settings::{Settings, Task};

/// Does a task.
pub fn run(task: Task, settings: &Settings) -> Result<Exit, Failure> {
    match task {
        Task::Survey(options) => survey::run(&options, settings),
        Task::Topology(choice) => topology::run(&choice, settings),
        Task::Place(request) => place::run(&request, settings),
        Task::Candidates(request) => candidates::run(&request, settings),
        Task::Machines => machine::list(settings),
        Task::Try(task) => experiment::run(&task, settings),
        Task::Run(task) => run::run(&task, settings),
        Task::Tail(task) => tail::run(&task, settings),
        Task::Links(task) => links::run(&task, settings),
        Task::Article(typed) => article::run(&typed, settings),
        Task::Workload(task) => workload::run(&task, settings),
        Task::Irq(task) => irq::run(&task, settings),
        Task::Record(output, packing) => record::run(&output, packing, settings),
        Task::List { all } => history::list(all, settings),
        Task::Show(number) => history::show(number, settings),
        Task::ShowExperiment(number, print, svg) => history::show_experiment(number, print, svg.as_deref(), settings),
        Task::Compare(before, after) => history::compare(before, after, settings),
        Task::Doctor => doctor::run(settings),
        Task::Undo { dry_run } => undo::run(dry_run, settings),
        Task::Schema(name) => schema::run(name.as_deref()),
    }
}

/// The machine that corewise runs on.
fn this_machine() -> Result<Machine, Failure> {
    corewise_sys::topology::read(&Root::live()).map_err(|error| {
        Failure::unavailable(error)
            .next("corewise needs /sys or /proc: mount them, or allow this process to read them.")
    })
}
