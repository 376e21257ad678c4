//! corewise: on which CPUs should this program run, and does it matter at all?
#![forbid(unsafe_code)]

mod commands;
mod draw;
mod shell;

use std::process::ExitCode;

use crate::commands::Typed;
use crate::shell::output::say;
use crate::shell::settings::{Environment, Settings};

fn main() -> ExitCode {
    let typed = Typed::of_this_process();
    let settings = Settings::new(&typed.common, &Environment::of_this_process());
    match typed.run(&settings) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            say(&failure);
            failure.exit.into()
        }
    }
}
