//! A machine that does not come up fails the run, and its console says why.

use std::sync::Arc;

use corewise_rig::{MACHINES, RigError, RigMachine};
use libtest_mimic::{Completion, Trial};

use crate::ScenarioOutcome;
use crate::bench::RigParts;
use crate::found::same;

/// The first machine, but its kernel is told of a first process that is not there.
static WITHOUT_FIRST_PROCESS: RigMachine =
    RigMachine { name: "without-first-process", kernel: "rdinit=/none", ..MACHINES[0] };

pub fn trial(parts: &Arc<RigParts>) -> Trial {
    let parts = Arc::clone(parts);
    let boot = move || match &*parts {
        RigParts::Missing(what) => Ok(Completion::ignored_with(what.clone())),
        RigParts::There(rig) => match rig.boot_machine(&WITHOUT_FIRST_PROCESS) {
            Ok(_) => Err("it came up".into()),
            Err(error) => tells_its_console(&error),
        },
    };
    Trial::ignorable_test("a_machine_that_cannot_boot_shows_its_console", boot).with_kind("rig")
}

fn tells_its_console(error: &RigError) -> ScenarioOutcome {
    let told = error.to_string();
    let words = ["Kernel panic - not syncing", "while booting without-first-process", "console ends with"];
    for word in words {
        same(&format!("{word:?} is in\n{told}"), told.contains(word), true)?;
    }
    Ok(Completion::Completed)
}
