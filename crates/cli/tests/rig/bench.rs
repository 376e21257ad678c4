//! The one machine that is booted at a time, and what makes sure that scenarios leave it as they found it.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use corewise_rig::{Description, Guest, Rig, RigError};
use libtest_mimic::{Completion, Failed};

use crate::Outcome;

/// What scenarios may change and have to put back: which cpus are on, control groups, who handles interrupts; and the
/// processes that they may start and have to end. What the kernel itself runs are children of process 2.
const LOOK: &str = "
cat /sys/devices/system/cpu/online
find /sys/fs/cgroup -type d | sort
grep . /proc/irq/*/smp_affinity_list
ps -o ppid,pid,stat,comm |
    awk -v own=$$ 'NR > 1 && $2 > 2 && $1 != 2 && $1 != own && $2 != own && $3 !~ /Z/ { print \"process\", $2, $4 }'
true";

/// Boots machines when they are needed, one at a time.
#[derive(Default)]
pub struct Bench {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    parts: Option<Parts>,
    booted: Option<Booted>,
    /// The machine that did not come up; its scenarios do not try again.
    broken: Option<&'static str>,
}

/// What booting takes, or what of it is missing.
enum Parts {
    There(Box<Rig>),
    Missing(String),
}

struct Booted {
    guest: Guest,
    /// What a look showed before the first scenario.
    at_first: String,
}

impl Bench {
    /// Runs a scenario on a machine; skipped where the host has no emulator. The next scenario finds the machine as this one
    /// did, or a fresh one where this one failed.
    pub fn run(&self, machine: &'static Description, scenario: fn(&mut Guest) -> Outcome) -> Outcome {
        let mut state = self.lock();
        if let Parts::Missing(what) = state.parts()? {
            return Ok(Completion::ignored_with(what.clone()));
        }
        let mut booted = state.take(machine)?;
        let outcome = scenario(&mut booted.guest)?;
        let now = look(&mut booted.guest)?;
        if now != booted.at_first {
            return Err(format!("not left as it was found; before\n{}\nafter\n{now}", booted.at_first).into());
        }
        state.booted = Some(booted);
        Ok(outcome)
    }

    /// A scenario that panicked took the machine with it; nothing half-done is left in the state.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn parts(&mut self) -> Result<&Parts, Failed> {
        if self.parts.is_none() {
            self.parts = Some(match Rig::new(Path::new(env!("CARGO_BIN_EXE_corewise"))) {
                Ok(rig) => Parts::There(Box::new(rig)),
                Err(missing @ RigError::Missing { .. }) => Parts::Missing(missing.to_string()),
                Err(error) => return Err(error.into()),
            });
        }
        self.parts.as_ref().ok_or_else(|| "unreachable: the parts were just found".into())
    }

    /// The machine, booted now where another or none is.
    fn take(&mut self, machine: &'static Description) -> Result<Booted, Failed> {
        if self.broken == Some(machine.name) {
            return Err("the machine did not boot, as said above".into());
        }
        if let Some(booted) = self.booted.take() {
            if booted.guest.machine().name == machine.name {
                return Ok(booted);
            }
            // The other machine is off before this one is on.
            drop(booted);
        }
        self.boot(machine)
    }

    fn boot(&mut self, machine: &'static Description) -> Result<Booted, Failed> {
        let Some(Parts::There(rig)) = &self.parts else { return Err("there is no rig".into()) };
        self.broken = Some(machine.name);
        let mut guest = rig.boot(machine)?;
        let at_first = look(&mut guest)?;
        self.broken = None;
        Ok(Booted { guest, at_first })
    }
}

fn look(guest: &mut Guest) -> Result<String, Failed> {
    let outcome = guest.run(LOOK)?;
    Ok(outcome.text() + &outcome.stderr)
}
