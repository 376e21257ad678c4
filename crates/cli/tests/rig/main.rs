//! The program on machines that nobody here owns: each is booted in an emulator, and looked at as a user would.
//!
//! `COREWISE_RIG=change` asks for what each change of corewise is tried on: every scenario, on the machines on which it proves something
//! of its own. `COREWISE_RIG=full` asks for every scenario on all machines. `cargo xtask test` sets the one, `cargo xtask rig test` the other.
//! All scenarios of a machine share one boot and run one after another; several machines may run at a time. Nothing here depends on how long anything takes:
//! an emulator's time means nothing.

#[path = "../support/actor.rs"]
mod actor;
mod affinity;
mod agreement;
mod bench;
mod booting;
mod changes;
mod devices;
mod experiment;
mod expressions;
mod found;
mod groups;
mod interrupts;
mod keep;
mod links;
mod lockdown;
mod memory;
mod placement;
mod recordings;
mod stalls;
mod survey;
mod talk;
mod threads;
mod topology;
mod users;

use std::process::ExitCode;
use std::sync::Arc;

use corewise_rig::{MACHINES, RigError, RigGuest, RigMachine, RigUse};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use bench::{MachineJob, RigBench};

/// What a scenario came to.
type ScenarioOutcome = Result<Completion, Failed>;

/// Something that a user does on a machine, and what has to come of it.
struct Scenario {
    name: &'static str,
    /// On which machines it proves something of its own, so that it is run there for each change.
    each_change: fn(&RigMachine) -> bool,
    /// On which machines it makes sense.
    applies: fn(&RigMachine) -> bool,
    run: fn(&mut RigGuest) -> ScenarioOutcome,
}

const EVERYWHERE: fn(&RigMachine) -> bool = |_| true;
/// What depends on the kernel and not on the machine.
const ONCE: fn(&RigMachine) -> bool = |machine| machine.name == MACHINES[0].name;
/// What depends on which cpus there are and may be used; small machines show it.
const WHERE_LIMITED: fn(&RigMachine) -> bool = |machine| {
    let is_limited = [machine.offline, machine.isolated, machine.cpuset].iter().any(|list| !list.is_empty());
    ONCE(machine) || machine.cpu_places().len() == 1 || (is_limited && machine.cpu_places().len() <= 16)
};
/// What depends on the nodes.
const WITH_NODES: fn(&RigMachine) -> bool = |machine| ONCE(machine) || machine.nodes.len() > 1;

fn main() -> ExitCode {
    if let Some(part) = actor::part() {
        return actor::act(&part);
    }
    let mut arguments = Arguments::from_args();
    // Trials are told in order; the machines' own have begun by then, and only their outcomes are waited for.
    arguments.test_threads = Some(1);
    let bench = Arc::new(RigBench::default());
    match trials(&arguments, &bench) {
        Ok(trials) => {
            let conclusion = libtest_mimic::run(&arguments, trials);
            bench.end();
            conclusion.exit_code()
        }
        Err(error) => {
            eprintln!("the test rig: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trials(arguments: &Arguments, bench: &Arc<RigBench>) -> Result<Vec<Trial>, RigError> {
    let mut trials = recordings::trials();
    let wanted = RigUse::of_environment()?;
    match wanted {
        RigUse::None => {
            trials.push(left_out("no machine was booted: set COREWISE_RIG to change or full"));
            return Ok(trials);
        }
        // What is left out proves what the others do; `cargo xtask rig test` runs it.
        RigUse::Change | RigUse::Full => {}
    }
    let parts = Arc::new(bench::parts()?);
    trials.push(booting::trial(&parts));
    trials.extend(lockdown::trials(&parts, wanted));
    let mut jobs = Vec::new();
    for machine in MACHINES.iter().filter(|machine| wanted.includes_machine(machine)) {
        let is_wanted = |scenario: &&Scenario| wanted == RigUse::Full || (scenario.each_change)(machine);
        let all = all_scenarios().filter(|scenario| (scenario.applies)(machine)).filter(is_wanted);
        let (of_machine, scenarios): (Vec<Trial>, Vec<&Scenario>) = all
            .map(|scenario| (trial(bench, machine, scenario), scenario))
            .filter(|(trial, _)| !arguments.is_filtered_out(trial))
            .unzip();
        trials.extend(of_machine);
        jobs.push(MachineJob { machine, scenarios });
    }
    if !arguments.list {
        jobs.retain(|job| !job.scenarios.is_empty());
        bench.start(&parts, jobs);
    }
    Ok(trials)
}

fn all_scenarios() -> impl Iterator<Item = &'static Scenario> {
    let groups = [
        topology::SCENARIOS,
        users::SCENARIOS,
        agreement::SCENARIOS,
        affinity::SCENARIOS,
        placement::SCENARIOS,
        threads::SCENARIOS,
        memory::SCENARIOS,
        groups::SCENARIOS,
        interrupts::SCENARIOS,
        devices::SCENARIOS,
        changes::SCENARIOS,
        stalls::SCENARIOS,
        survey::SCENARIOS,
        links::SCENARIOS,
        experiment::SCENARIOS,
        keep::SCENARIOS,
        talk::SCENARIOS,
    ];
    groups.into_iter().flatten()
}

fn trial(bench: &Arc<RigBench>, machine: &'static RigMachine, scenario: &'static Scenario) -> Trial {
    let bench = Arc::clone(bench);
    let name = format!("{}::{}", machine.name, scenario.name);
    Trial::ignorable_test(name, move || bench.outcome(machine, scenario)).with_kind("rig")
}

/// Machines that are not booted are counted as skipped.
fn left_out(why: &'static str) -> Trial {
    Trial::ignorable_test("other machines", move || Ok(Completion::ignored_with(why))).with_kind("rig")
}
