//! Scenarios: which cpus corewise may use follows the affinity mask and the cpuset it is started in.

use corewise_rig::RigGuest;
use corewise_rig::cpus::{self, CpuNumbers};
use libtest_mimic::{Completion, Failed};

use crate::found::{list_of, machine, same, text};
use crate::{EVERYWHERE, Scenario, ScenarioOutcome, WHERE_LIMITED};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "the_affinity_mask_is_followed", each_change: WHERE_LIMITED, applies: EVERYWHERE, run: mask },
    Scenario {
        name: "the_cpuset_is_followed",
        each_change: WHERE_LIMITED,
        // A group that holds processes cannot hand out cpus to groups inside.
        applies: |machine| machine.cpuset.is_empty(),
        run: cpuset,
    },
];

fn mask(guest: &mut RigGuest) -> ScenarioOutcome {
    for wanted in choices(guest) {
        let found = machine(guest, &format!("taskset {}", cpus::format_mask(&wanted)))?;
        same("allowed", list_of(&found["allowed"]), cpus::format_list(&wanted))?;
    }
    Ok(Completion::Completed)
}

fn cpuset(guest: &mut RigGuest) -> ScenarioOutcome {
    for wanted in choices(guest) {
        in_cpuset(guest, &wanted)?;
    }
    Ok(Completion::Completed)
}

fn in_cpuset(guest: &mut RigGuest, wanted: &CpuNumbers) -> Result<(), Failed> {
    let list = cpus::format_list(wanted);
    text(guest, &format!("cd /sys/fs/cgroup && mkdir part && echo {list} >part/cpuset.cpus"))?;
    // Isolated cpus are in nobody's mask unless asked for, so this asks for them.
    let mask = cpus::format_mask(wanted);
    let found = machine(guest, &format!("echo $$ >/sys/fs/cgroup/part/cgroup.procs && taskset {mask}"));
    guest.wait_for("the group to be empty", "rmdir /sys/fs/cgroup/part")?;
    same("allowed", list_of(&found?["allowed"]), list)
}

/// Every other cpu that can be had, the last one, and all: isolated ones can be had by whoever asks.
fn choices(guest: &RigGuest) -> [CpuNumbers; 3] {
    let expected = guest.machine().expected_machine();
    let all: CpuNumbers = match guest.machine().cpuset {
        "" => cpus::parse(&expected.online),
        _ => cpus::parse(&expected.allowed),
    };
    let every_other = all.iter().step_by(2).copied().collect();
    [every_other, all.last().copied().into_iter().collect(), all]
}
