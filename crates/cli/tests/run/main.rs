//! `corewise run` as a user meets it: masks as others see them, exit codes, signals, memory, threads that are held.
//!
//! The program under test is the real one on the machine it is tested on. The commands that it runs are the system's, and
//! for threads with names and masks of their own this same test program as an actor.

#[path = "../support/actor.rs"]
mod actor;
mod agreement;
mod entry;
mod group;
mod held;
mod inherited;
mod memory;
mod outcome;
mod running;
mod stage;
mod terminal;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Some(part) = actor::part() {
        return actor::act(&part);
    }
    let groups = [
        inherited::trials(),
        agreement::trials(),
        entry::trials(),
        outcome::trials(),
        running::trials(),
        memory::trials(),
        held::trials(),
        group::trials(),
        terminal::trials(),
    ];
    let trials: Vec<Trial> = groups.into_iter().flatten().collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
