//! Scenarios: cpus that are switched off and on again while the machine runs.

use corewise_rig::cpus::{self, Cpus};
use corewise_rig::{Description, Guest};
use libtest_mimic::{Completion, Failed};

use crate::found::{as_expected, machine, same, text};
use crate::{Outcome, Scenario, WHERE_LIMITED};

/// The first cpu stays: the kernel does not let go of it.
const HAS_TWO: fn(&Description) -> bool = |machine| machine.places().len() > 1;

pub const SCENARIOS: &[Scenario] = &[Scenario {
    name: "cpus_that_are_switched_off_are_offline",
    each_change: WHERE_LIMITED,
    applies: HAS_TWO,
    run: switched_off,
}];

fn switched_off(guest: &mut Guest) -> Outcome {
    let online = cpus::parse(&guest.machine().expected().online);
    let last = online.last().copied().into_iter().collect();
    switch(guest, &last, false)?;
    let found = machine(guest, "");
    switch(guest, &last, true)?;
    same("the machine without its last cpu", as_expected(&found?), guest.machine().expected_without(&last))?;
    same("the machine with all", as_expected(&machine(guest, "")?), guest.machine().expected())?;
    Ok(Completion::Completed)
}

/// Switches cpus on or off.
pub fn switch(guest: &mut Guest, cpus: &Cpus, on: bool) -> Result<(), Failed> {
    for cpu in cpus {
        text(guest, &format!("echo {} >/sys/devices/system/cpu/cpu{cpu}/online", u8::from(on)))?;
    }
    Ok(())
}
