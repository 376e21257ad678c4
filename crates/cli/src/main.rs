//! corewise: on which CPUs should this program run, and does it matter at all?
#![forbid(unsafe_code)]

mod app;
mod commands;
mod draw;

use std::process::ExitCode;

use crate::app::output::say;
use crate::app::settings::{Environment, Settings};
use crate::commands::Typed;

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
