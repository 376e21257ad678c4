//! `corewise run`: runs a command on chosen cpus.

pub mod arguments;
mod running_process;
pub mod task;

use std::process::Command;

use corewise_machine::suggested_command;
use corewise_sys::spawn::{self, MannerEffect, SpawnManner};

use crate::app::child::task::RunTask;
use crate::app::child::{messages, supervisor};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::this_machine;
use crate::app::output::print_message;
use crate::app::placement;
use crate::app::run::RunnableCommand;
use crate::app::settings::ProgramSettings;
use crate::draw::suggestion;
use arguments::RunArguments;

impl RunnableCommand for RunArguments {
    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        if settings.json {
            return Err(CommandFailure::usage_error("run has no JSON output").with_hint(format!(
                "Its output is its command's. {} shows where it would run.",
                suggestion::format_mention(&suggested_command::place_json())
            )));
        }
        let typed = self.with_rule(settings)?.with_rank(settings)?;
        match typed.pid {
            Some(process) => running_process::place_process(
                process,
                &placement::parse_expression(typed.on.as_deref().unwrap_or_default())?,
                settings,
            ),
            None => run(&typed.into_task()?, settings),
        }
    }
}

/// Replaces corewise by the command, or supervises it if something must be watched or restored.
fn run(task: &RunTask, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    let mut command = Command::new(&task.program);
    command.args(&task.arguments);
    if task.is_attended() {
        return supervisor::run(task, &mut command, settings);
    }
    if task.is_soft || task.at_full_speed {
        return run_in_manner(task, &mut command, settings);
    }
    // A list or mask that the kernel accepts directly needs no knowledge of the machine, which would take time to read.
    if !task.wish.try_apply_plain_list()? {
        task.wish.resolve_placement(&this_machine()?, settings)?.apply_to_thread()?;
    }
    Err(messages::explain_not_started(&task.program, &spawn::replace_program(&mut command)))
}

/// Replaces corewise by the command, with options that only some systems have.
fn run_in_manner(
    task: &RunTask,
    command: &mut Command,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let options = [
        (task.is_soft, "--soft", spawn::effect_of_preferred()),
        (task.at_full_speed, "--full-speed", spawn::effect_of_full_speed()),
    ];
    for (_, option, effect) in options.into_iter().filter(|(is_asked, ..)| *is_asked) {
        match effect {
            MannerEffect::InForce => {}
            MannerEffect::Nothing(why) => print_message(&format!("corewise: {option} has no effect here: {why}")),
            MannerEffect::Unavailable(why) => {
                let next =
                    format!("Nothing was started. Without {option} the command runs as usual, restricted to its cpus.");
                return Err(CommandFailure::unavailable_error(format!("{option}: {why}")).with_hint(next));
            }
        }
    }
    let place = task.wish.resolve_placement(&this_machine()?, settings)?;
    if !task.is_soft {
        place.apply_to_thread()?;
    }
    let preferred = task.is_soft.then_some(&place.resolution.cpus);
    let manner = SpawnManner { preferred, at_full_speed: task.at_full_speed };
    Err(messages::explain_not_started(&task.program, &spawn::replace_in(command, manner)))
}
