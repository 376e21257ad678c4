//! corewise: on which CPUs should this program run, and does it matter at all?
#![forbid(unsafe_code)]

mod app;
mod commands;
mod draw;

use std::process::ExitCode;

// Its entry comes first: see the build script.
use corewise_entry as _;

use crate::app::output::print_message;
use crate::app::settings::{ProgramEnvironment, ProgramSettings};
use crate::commands::TypedCommand;

fn main() -> ExitCode {
    let typed = TypedCommand::from_process();
    let settings = ProgramSettings::new(&typed.common, &ProgramEnvironment::from_process());
    match typed.run(&settings) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            print_message(&failure);
            failure.exit.into()
        }
    }
}
