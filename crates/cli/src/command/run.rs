//! `corewise run`: runs a command on cpus of the user's choice.

mod group;
pub mod place;
pub mod supervise;
mod watch;
mod words;

use std::process::Command;

pub use place::refuse_named;

use corewise_sys::linux::spawn;

use crate::error::{Exit, Failure};
use crate::settings::Settings;
use crate::settings::run::RunTask;

/// Runs the command: in the place of corewise, or attended by it where there is something to watch or to put back.
pub fn run(task: &RunTask, settings: &Settings) -> Result<Exit, Failure> {
    let mut command = Command::new(&task.program);
    command.args(&task.arguments);
    if task.is_attended() {
        return supervise::run(task, &mut command, settings);
    }
    // A list or a mask that the kernel takes as it is needs no knowledge of the machine, and no time to get it.
    if !place::at_once(task)? {
        place::find(task, settings)?.put_in_force()?;
    }
    Err(words::not_started(&task.program, &spawn::replace(&mut command)))
}
