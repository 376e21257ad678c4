//! Scenarios: cpus that are switched off and on again while the machine runs.

use corewise_rig::cpus::{self, CpuNumbers};
use corewise_rig::{RigGuest, RigMachine};
use libtest_mimic::{Completion, Failed};

use crate::found::{as_expected, machine, same, text};
use crate::{Scenario, ScenarioOutcome, WHERE_LIMITED};

/// The first cpu stays: the kernel does not let go of it.
const HAS_TWO: fn(&RigMachine) -> bool = |machine| machine.cpu_places().len() > 1;

pub const SCENARIOS: &[Scenario] = &[Scenario {
    name: "cpus_that_are_switched_off_are_offline",
    each_change: WHERE_LIMITED,
    applies: HAS_TWO,
    run: switched_off,
}];

fn switched_off(guest: &mut RigGuest) -> ScenarioOutcome {
    let online = cpus::parse(&guest.machine().expected_machine().online);
    let last = online.last().copied().into_iter().collect();
    switch(guest, &last, false)?;
    let found = machine(guest, "");
    switch(guest, &last, true)?;
    same("the machine without its last cpu", as_expected(&found?), guest.machine().expected_without(&last))?;
    same("the machine with all", as_expected(&machine(guest, "")?), guest.machine().expected_machine())?;
    Ok(Completion::Completed)
}

/// Switches cpus on or off.
pub fn switch(guest: &mut RigGuest, cpus: &CpuNumbers, on: bool) -> Result<(), Failed> {
    for cpu in cpus {
        text(guest, &format!("echo {} >/sys/devices/system/cpu/cpu{cpu}/online", u8::from(on)))?;
    }
    Ok(())
}
