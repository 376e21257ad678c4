//! corewise: on which CPUs should this program run, and does it matter at all?
#![forbid(unsafe_code)]

mod args;
mod command;
mod document;
mod error;
mod interruption;
mod output;
mod placing;
mod progress;
mod settings;
mod view;

use std::process::ExitCode;

use crate::args::Arguments;
use crate::settings::{Environment, Settings, Task};

fn main() -> ExitCode {
    let arguments = Arguments::of_this_process();
    let settings = Settings::new(&arguments.common, &Environment::of_this_process());
    match Task::new(arguments).and_then(|task| command::run(task, &settings)) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::say(&failure);
            failure.exit.into()
        }
    }
}
