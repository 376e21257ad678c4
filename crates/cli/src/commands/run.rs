//! `corewise run`: runs a command on chosen cpus.

pub mod arguments;
mod running;
pub mod task;

use std::process::Command;

use corewise_machine::suggested_command;
use corewise_sys::spawn::{self, Effect, Manner};

use crate::app::child::task::RunTask;
use crate::app::child::{supervise, words};
use crate::app::failure::{Exit, Failure};
use crate::app::machine::this_machine;
use crate::app::output::say;
use crate::app::placing;
use crate::app::run::Run;
use crate::app::settings::Settings;
use crate::draw::suggestion;
use arguments::RunArguments;

/// The name of the command.
pub const NAME: &str = "run";

impl Run for RunArguments {
    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        if settings.json {
            return Err(Failure::usage("run has no JSON output").next(format!(
                "Its output is its command's. {} shows where it would run.",
                suggestion::mention(&suggested_command::place_json())
            )));
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

/// Replaces corewise by the command, or supervises it if something must be watched or restored.
fn run(task: &RunTask, settings: &Settings) -> Result<Exit, Failure> {
    let mut command = Command::new(&task.program);
    command.args(&task.arguments);
    if task.is_attended() {
        return supervise::run(task, &mut command, settings);
    }
    if task.is_soft || task.at_full_speed {
        return in_manner(task, &mut command, settings);
    }
    // A list or mask that the kernel accepts directly needs no knowledge of the machine, which would take time to read.
    if !task.wish.at_once()? {
        task.wish.find(&this_machine()?, settings)?.put_in_force()?;
    }
    Err(words::not_started(&task.program, &spawn::replace(&mut command)))
}

/// Replaces corewise by the command, with options that only some systems have.
fn in_manner(task: &RunTask, command: &mut Command, settings: &Settings) -> Result<Exit, Failure> {
    let options = [
        (task.is_soft, "--soft", spawn::effect_of_preferred()),
        (task.at_full_speed, "--full-speed", spawn::effect_of_full_speed()),
    ];
    for (_, option, effect) in options.into_iter().filter(|(is_asked, ..)| *is_asked) {
        match effect {
            Effect::InForce => {}
            Effect::Nothing(why) => say(&format!("corewise: {option} has no effect here: {why}")),
            Effect::Unavailable(why) => {
                let next =
                    format!("Nothing was started. Without {option} the command runs as usual, restricted to its cpus.");
                return Err(Failure::unavailable(format!("{option}: {why}")).next(next));
            }
        }
    }
    let place = task.wish.find(&this_machine()?, settings)?;
    if !task.is_soft {
        place.put_in_force()?;
    }
    let preferred = task.is_soft.then_some(&place.resolution.cpus);
    let manner = Manner { preferred, at_full_speed: task.at_full_speed };
    Err(words::not_started(&task.program, &spawn::replace_in(command, manner)))
}
