//! `corewise run`: runs a command on cpus of the user's choice.

pub mod arguments;
mod running;
pub mod task;

use std::process::Command;

use corewise_sys::spawn;

use crate::shell::child::task::RunTask;
use crate::shell::child::{supervise, words};
use crate::shell::failure::{Exit, Failure};
use crate::shell::machine::this_machine;
use crate::shell::placing;
use crate::shell::run::Run;
use crate::shell::settings::Settings;
use arguments::RunArguments;

/// What it is typed as.
pub const NAME: &str = "run";

impl Run for RunArguments {
    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        if settings.json {
            return Err(Failure::usage("run has no JSON output")
                .next("Its output is its command's. `corewise place EXPR --json` shows where it would run."));
        }
        let typed = self.with_rule(settings)?;
        match typed.pid {
            Some(process) => {
                running::place(process, &placing::expression(typed.on.as_deref().unwrap_or_default())?, settings)
            }
            None => run(&typed.task()?, settings),
        }
    }
}

/// Runs the command: in the place of corewise, or attended by it where there is something to watch or to put back.
fn run(task: &RunTask, settings: &Settings) -> Result<Exit, Failure> {
    let mut command = Command::new(&task.program);
    command.args(&task.arguments);
    if task.is_attended() {
        return supervise::run(task, &mut command, settings);
    }
    // A list or a mask that the kernel takes as it is needs no knowledge of the machine, and no time to get it.
    if !task.wish.at_once()? {
        task.wish.find(&this_machine()?, settings)?.put_in_force()?;
    }
    Err(words::not_started(&task.program, &spawn::replace(&mut command)))
}
