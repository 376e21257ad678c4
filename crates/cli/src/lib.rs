//! The program corewise. A library only so that the fuzzer reaches what the program does with results of others.
#![forbid(unsafe_code)]
// What the commands of a small build leave out is compiled, and not linked.
#![cfg_attr(not(feature = "measuring"), allow(dead_code, unused_imports))]

mod app;
mod commands;
mod draw;

use std::process::ExitCode;

use crate::app::output::print_message;
use crate::app::panic_undo::undo_on_panic;
use crate::app::settings::{ProgramEnvironment, ProgramSettings};
use crate::commands::TypedCommand;

/// Runs the command line of this process.
pub fn run_program() -> ExitCode {
    let typed = TypedCommand::from_process();
    let settings = ProgramSettings::new(&typed.common, &ProgramEnvironment::from_process());
    undo_on_panic(&settings);
    match typed.run(&settings) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            print_message(&failure);
            failure.exit.into()
        }
    }
}

/// Reads a result from the JSON of a page's element and prints it in every form, as `corewise history import` does before it stores one.
///
/// # Errors
/// Why it is refused.
#[cfg(feature = "measuring")]
pub fn rehearse_result(schema: &str, json: &[u8]) -> Result<(), String> {
    commands::rehearse_result(schema, json)
}
