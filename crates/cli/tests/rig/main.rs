//! The program on machines that nobody here owns: each is booted in an emulator, and looked at as a user would.
//!
//! `COREWISE_RIG=quick` asks for three small machines, `COREWISE_RIG=full` for all; `cargo xtask rig test [--quick]` sets it.
//! All scenarios of a machine share one boot and run one after another. Nothing here depends on how long anything takes:
//! an emulator's time means nothing.

mod affinity;
mod agreement;
mod bench;
mod changes;
mod expressions;
mod found;
mod groups;
mod memory;
mod placement;
mod recordings;
mod survey;
mod topology;

use std::process::ExitCode;
use std::sync::Arc;

use corewise_rig::{Description, Guest, MACHINES, Use};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use bench::Bench;

/// What a scenario came to.
type Outcome = Result<Completion, Failed>;

/// Something that a user does on a machine, and what has to come of it.
struct Scenario {
    name: &'static str,
    /// On which machines it makes sense.
    applies: fn(&Description) -> bool,
    run: fn(&mut Guest) -> Outcome,
}

const EVERYWHERE: fn(&Description) -> bool = |_| true;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // One machine at a time, and in order: the host has few cpus, and the scenarios of a machine share it.
    arguments.test_threads = Some(1);
    let bench = Arc::new(Bench::default());
    libtest_mimic::run(&arguments, trials(&bench)).exit_code()
}

fn trials(bench: &Arc<Bench>) -> Vec<Trial> {
    let wanted = Use::of_environment();
    let machines = MACHINES.iter().filter(|machine| wanted.includes(machine));
    let mut trials = recordings::trials();
    trials.extend(machines.flat_map(|machine| trials_of(bench, machine)));
    match wanted {
        Use::None => trials.push(left_out("no machine was booted: set COREWISE_RIG to quick or full")),
        Use::Quick => trials.push(left_out("only the small machines were booted: COREWISE_RIG is quick")),
        Use::Full => {}
    }
    trials
}

fn trials_of(bench: &Arc<Bench>, machine: &'static Description) -> Vec<Trial> {
    let scenarios = [
        topology::SCENARIOS,
        agreement::SCENARIOS,
        affinity::SCENARIOS,
        placement::SCENARIOS,
        memory::SCENARIOS,
        groups::SCENARIOS,
        changes::SCENARIOS,
        survey::SCENARIOS,
    ];
    let scenarios = scenarios.into_iter().flatten().filter(|scenario| (scenario.applies)(machine));
    let trial = |scenario: &'static Scenario| {
        let bench = Arc::clone(bench);
        let name = format!("{}::{}", machine.name, scenario.name);
        Trial::ignorable_test(name, move || bench.run(machine, scenario.run)).with_kind("rig")
    };
    scenarios.map(trial).collect()
}

/// Machines that are not booted are counted as skipped.
fn left_out(why: &'static str) -> Trial {
    Trial::ignorable_test("other machines", move || Ok(Completion::ignored_with(why))).with_kind("rig")
}
