//! What a session begins with: a new experiment, or a stored one with its trials.

pub mod live;
mod memory;
pub mod parts;
mod threads;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corewise_lab::experiment::simulated::Simulation;
use corewise_lab::experiment::{Begun, begun_now};
use corewise_lab::placing::refuse_named;
use corewise_machine::placement::Expression;
use corewise_machine::placement::memory::MemoryPolicy;
use corewise_machine::placement::plan::{USUAL_MOST, plan};
use corewise_machine::suggested_command;
use corewise_machine::{CpuSet, Machine};
use corewise_model::conducted::Conducted;
use corewise_model::experiment::Policy;
use corewise_model::trial::{Arm, Experiment, Folder, Live, Metric, RolePlace, Source, WITHOUT_ECO_QOS, Workload};
use corewise_store::Store;
use corewise_sys::files::path_of;
use corewise_sys::input::{self, InputKind};
use corewise_sys::spawn::{self, Effect};

use super::task::{Again, Choice, NewExperiment, PartsSource, PartsTask, Which, choices};
use crate::app::failure::{Exit, Failure};
use crate::app::history::{broken, to_write};
use crate::app::machine::this_machine;
use crate::app::output::say;
use crate::app::placing::{busiest, expression, reachable_here, resolve_here, with_memory_costs};
use crate::app::settings::{History, Settings};
use crate::app::trust::Commands;
use crate::draw::printable::named;
use crate::draw::suggestion;

/// The name of the baseline.
const BASELINE: &str = "OS default";

/// The experiment that a session goes on with, and the simulation that its runs come from, if any.
///
/// `stop` ends what is measured before the first run: how long slots of running processes should be.
pub fn begin(
    which: &Which,
    runs_max: Option<u32>,
    (budget, stop): (Option<Duration>, &AtomicBool),
    settings: &Settings,
) -> Result<(Begun, Option<Simulation>), Failure> {
    let (mut begun, simulation) = match which {
        Which::New(new) => {
            let experiment = new_experiment(new, budget, stop, settings)?;
            (kept(experiment, settings)?, None)
        }
        Which::Stored(number) => (stored(*number, settings)?, None),
        Which::Again(again) => (once_more(again, settings)?, None),
        Which::Simulated { truth, seed, policy } => simulated(truth, *seed, policy)?,
    };
    begun.experiment.policy.most_runs = runs_max;
    Ok((begun, simulation))
}

fn new_experiment(
    new: &NewExperiment,
    budget: Option<Duration>,
    stop: &AtomicBool,
    settings: &Settings,
) -> Result<Experiment, Failure> {
    let machine = this_machine()?;
    let arms = match &new.table {
        Some(table) => threads::arms(table, &machine)?,
        None => arms_of(new, &machine, settings)?,
    };
    let folder =
        std::env::current_dir().map_err(|error| Failure::unavailable(format!("the current folder: {error}")))?;
    let mut workload = Workload {
        command: new.command.clone(),
        folder: Folder::of_bytes(folder.as_os_str().as_encoded_bytes().to_vec()),
        metric: new.metric.clone(),
        guards: new.guards.clone(),
        metric_file: new.metric_file.clone(),
        vary: new.vary.clone(),
        follow: new.follow.clone(),
        timeout_s: new.timeout.map(|timeout| timeout.as_secs_f64()),
        threads_as: new.table.as_ref().map(|table| table.variables.clone()).unwrap_or_default(),
        pins_as: new.table.as_ref().map(|table| table.pins.clone()).unwrap_or_default(),
        live: None,
        parts: new.parts.parts.clone(),
        thread_roles: new.parts.thread_roles.clone(),
    };
    parts::check_memory(&workload, &arms)?;
    if let Some(asked) = &new.live {
        let (live, processes) = asked.live()?;
        live::check_reachable(&arms, &processes)?;
        workload.command = processes.first().map(live::command_of).unwrap_or_default();
        workload.live = Some(live);
        let mut runner = live::runner(&workload, &arms, &processes, stop, settings)?;
        if asked.slot.is_some() {
            live::check(&mut runner)?;
        } else {
            let found = live::find_slot(&mut runner, budget, settings)?;
            workload.live.iter_mut().for_each(|live| live.slot_s = found.slot_s);
            say(&live::found_in_words(&found));
        }
    }
    let experiment = begun_now(env!("CARGO_PKG_VERSION"), machine, workload, arms, new.policy.clone(), new.seed);
    if new.parts.parts.is_some() {
        parts::check(&mut parts::runner(&experiment, super::runner(&experiment, stop)?, stop, settings)?)?;
    }
    Ok(experiment)
}

/// The arms of a new experiment: planned for its services and their load where nothing is said.
pub fn arms_of(new: &NewExperiment, machine: &Machine, settings: &Settings) -> Result<Vec<Arm>, Failure> {
    check_file(&new.parts, settings)?;
    let roles = new.parts.roles();
    let has_roles = new.parts.parts.is_some() || !new.parts.thread_roles.is_empty();
    let is_planned = (new.choices.is_empty() || new.choices.contains(&Choice::Planned)) && new.memory.is_empty();
    match new.parts.parts.as_ref().filter(|_| is_planned) {
        Some(parts) => {
            let named = new.choices.iter().filter_map(|choice| match choice {
                Choice::Near(device) => Some(parts::near(device, &roles, machine, settings)),
                _ => None,
            });
            let mut candidates = named.collect::<Result<Vec<_>, _>>()?.concat();
            candidates.extend(parts::planned(parts, machine, settings));
            only_once(&mut candidates, machine);
            with_baseline(candidates, machine)
        }
        None => {
            let roles = if has_roles { &roles[..] } else { &[] };
            let mut arms = arms(&new.choices, &new.memory, (new.threads, roles), machine, settings)?;
            if is_planned && !has_roles && new.live.is_none() {
                let is_in_force = spawn::effect_of_full_speed() == Effect::InForce;
                let planned = Arm::planned_without_eco_qos(machine).filter(|_| is_in_force);
                planned.into_iter().for_each(|arm| arms.insert(1, arm));
            }
            Ok(arms)
        }
    }
}

/// The arm without EcoQoS where it was asked for.
fn without_eco_qos() -> Result<Arm, Failure> {
    match spawn::effect_of_full_speed() {
        Effect::InForce => {}
        Effect::Nothing(why) => say(&format!("note: {WITHOUT_ECO_QOS} has no effect here: {why}")),
        Effect::Unavailable(why) => return Err(Failure::unavailable(format!("--on '{WITHOUT_ECO_QOS}': {why}"))),
    }
    Ok(Arm::without_eco_qos())
}

/// A file of --parts is executed only where nobody else can have written it.
fn check_file(parts: &PartsTask, settings: &Settings) -> Result<(), Failure> {
    let Some(PartsSource { file, origin, text }) = &parts.file else { return Ok(()) };
    let services = parts.parts.iter().flat_map(|parts| &parts.services);
    let scripts = services.flat_map(|service| std::iter::once(service.start.clone()).chain(service.ready.clone()));
    let lines = scripts.chain((!parts.load.is_empty()).then(|| parts.load.join(" "))).collect();
    Commands { file, origin, imported: None, content: text.as_bytes(), lines }.check(settings)
}

/// A new experiment, stored where the history is.
pub fn kept(experiment: Experiment, settings: &Settings) -> Result<Begun, Failure> {
    let stored = keep(&experiment, settings)?;
    Ok(Begun { experiment, trials: Vec::new(), stored })
}

/// Stores the experiment where the history is. An experiment that cannot be kept is not made: hours could be lost.
fn keep(experiment: &Experiment, settings: &Settings) -> Result<Option<i64>, Failure> {
    match &settings.history {
        History::Off => Ok(None),
        History::Homeless => {
            say(&"warning: the runs are not stored: neither XDG_DATA_HOME nor HOME is set\n  store them with --store \
                    PATH");
            Ok(None)
        }
        History::At(path) => {
            let made = Conducted::from(experiment.clone());
            let begun = to_write(path, settings).and_then(|mut store| store.add(&made));
            begun.map(Some).map_err(|error| {
                Failure::unavailable(format!("the experiment cannot be stored: {error}"))
                    .next("Choose another store with --store PATH, or none with --no-store.")
            })
        }
    }
}

/// The operating system's choice, and what is tried beside it: from the least to the most restrictive.
pub fn arms(
    choices: &[Choice],
    policies: &[MemoryPolicy],
    (threads, roles): (Option<u32>, &[&str]),
    machine: &Machine,
    settings: &Settings,
) -> Result<Vec<Arm>, Failure> {
    let reachable = reachable_here(machine);
    if reachable.len() < 2 {
        return Err(one_cpu(&reachable));
    }
    let mut candidates = if choices.is_empty() && policies.is_empty() {
        let placements = planned(threads, machine, &reachable, settings);
        let crossed = memory::planned(&placements, machine);
        [placements, crossed].concat()
    } else {
        let each = |choice| match choice {
            &Choice::Planned => Ok(planned(threads, machine, &reachable, settings)),
            Choice::Roles(text, typed) => {
                if roles.is_empty() {
                    return Err(no_roles(text));
                }
                parts::chosen((text, typed), roles, machine, settings).map(|arm| vec![arm])
            }
            Choice::WithoutEcoQos => without_eco_qos().map(|arm| vec![arm]),
            Choice::Near(device) if roles.is_empty() => near(device, machine, settings).map(Vec::from),
            Choice::Near(device) => parts::near(device, roles, machine, settings).map(Vec::from),
            choice => chosen(choice, machine, settings).map(|arm| vec![arm]),
        };
        let placements = choices.iter().map(each).collect::<Result<Vec<_>, _>>()?.concat();
        let crossed = memory::crossed(&placements, policies, machine)?;
        [placements, crossed].concat()
    };
    only_once(&mut candidates, machine);
    candidates.sort_by_key(|arm| std::cmp::Reverse(arm.cpus.as_ref().map_or(usize::MAX, CpuSet::len)));
    with_baseline(candidates, machine)
}

/// The OS default, and what is tried beside it.
fn with_baseline(candidates: Vec<Arm>, machine: &Machine) -> Result<Vec<Arm>, Failure> {
    let reachable = reachable_here(machine);
    if reachable.len() < 2 {
        return Err(one_cpu(&reachable));
    }
    if candidates.is_empty() && machine.allowed.len() < 2 {
        return Err(one_cpu(&machine.allowed));
    }
    if candidates.is_empty() {
        let what = "there is nothing to try: no placement of this machine differs from the OS default";
        return Err(Failure::unavailable(what).next("Name a placement with --on EXPR."));
    }
    Ok(std::iter::once(baseline()).chain(candidates).collect())
}

fn baseline() -> Arm {
    Arm::new(BASELINE, None, "the OS default: all cpus")
}

fn one_cpu(reachable: &CpuSet) -> Failure {
    let what = format!("there is nothing to try: this process may use only cpu {reachable}");
    Failure::unavailable(what)
        .next(format!("{} shows what limits it.", suggestion::mention(&suggested_command::doctor())))
}

fn no_roles(text: &str) -> Failure {
    Failure::usage(format!("--on {text}: this places roles, and there are none"))
        .next("Services have roles (--start NAME=COMMAND), and threads by their names (--role NAME=REGEX).")
}

/// Placements of the same cpus are one, by the first name, and so are those whose memory policies come to the same there.
fn only_once(candidates: &mut Vec<Arm>, machine: &Machine) {
    let mut seen = vec![baseline()];
    candidates.retain(|arm| {
        // The operating system's choice may be tried twice, to compare it with itself.
        if arm.cpus.is_none() && arm.memory.is_none() {
            return true;
        }
        if let Some(first) = seen.iter().find(|known| stand_alike(known, arm, machine)) {
            let first = &first.name;
            let what = if arm.memories().next().is_some() { "comes to the same as" } else { "has the cpus of" };
            match *first == arm.name {
                true => say(&format!("note: {} is named twice, and tried once", named(first))),
                false => say(&format!("note: {} {what} {}, and is not tried again", named(&arm.name), named(first))),
            }
            return false;
        }
        seen.push(arm.clone());
        true
    });
}

/// Whether everything has the same cpus on both, and memory policies that come to the same, whatever these are called.
fn stand_alike(one: &Arm, other: &Arm, machine: &Machine) -> bool {
    let whole = |arm: &Arm| memory::effect(arm.cpus.as_ref(), arm.memory.as_ref(), machine);
    let of_role = |place: &RolePlace| memory::effect(Some(&place.cpus), place.memory.as_ref(), machine);
    let is_in = |arm: &Arm, place: &RolePlace| {
        arm.place_of(&place.role).is_some_and(|same| same.cpus == place.cpus && of_role(same) == of_role(place))
    };
    one.cpus == other.cpus
        && one.roles.len() == other.roles.len()
        && one.roles.iter().all(|place| is_in(other, place))
        && whole(one) == whole(other)
}

fn planned(threads: Option<u32>, machine: &Machine, reachable: &CpuSet, settings: &Settings) -> Vec<Arm> {
    let machine = &with_memory_costs(machine.clone(), settings);
    let plan = plan(machine, reachable, threads, busiest(machine, settings), USUAL_MOST);
    let named = plan
        .candidates
        .into_iter()
        .filter_map(|candidate| Some((candidate.expression?, candidate.cpus, candidate.reason)));
    named.map(|(name, cpus, reason)| Arm::new(name, Some(cpus), reason)).collect()
}

fn chosen(choice: &Choice, machine: &Machine, settings: &Settings) -> Result<Arm, Failure> {
    if let Choice::WithMemory(placement, policy) = choice {
        let placement = placement.as_ref().map(|(name, expression)| named_arm(name, expression, machine, settings));
        return memory::arm(placement.transpose()?.as_ref(), policy, "named on the command line", machine);
    }
    let Choice::Placement(name, expression) = choice else {
        return Ok(Arm::new("OS default again", None, "to compare the OS default with itself"));
    };
    named_arm(name, expression, machine, settings)
}

fn named_arm(name: &str, expression: &Expression, machine: &Machine, settings: &Settings) -> Result<Arm, Failure> {
    let resolution = resolve_here(expression, machine, settings)?;
    refuse_named(&resolution.left_out)?;
    let reason = match expression.needs_devices() {
        true => resolution.notes.join(" "),
        false => "named on the command line".to_owned(),
    };
    Ok(Arm::new(name, Some(resolution.cpus), reason))
}

/// Near a device, and everywhere else.
fn near(device: &str, machine: &Machine, settings: &Settings) -> Result<[Arm; 2], Failure> {
    let arm = |text: String| {
        let expression = Box::new(expression(&text)?);
        chosen(&Choice::Placement(text, expression), machine, settings)
    };
    let [near, whole] = [arm(format!("near({device})"))?, arm("all".to_owned())?];
    if near.cpus == whole.cpus {
        let what = format!("{} is every cpu that this process may use: {}", named(&near.name), near.reason);
        return Err(Failure::unavailable(what).next("There is nothing else to compare it with."));
    }
    Ok([near, arm(format!("!near({device})"))?])
}

/// An experiment with a program that is not there, on as many candidates as the file has gains.
fn simulated(path: &Path, seed: Option<u64>, policy: &Policy) -> Result<(Begun, Option<Simulation>), Failure> {
    let told = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("{}: {error}", path.display()))
            .next("For example:  gains = [0.05, 0.0]  and  noise = \"typical\"  (docs/statistics.md lists the noises)")
    };
    let text = input::read_text(path, InputKind::Simulation).map_err(|error| told(&error))?;
    let simulation: Simulation = toml::from_str(&text).map_err(|error| told(&error))?;
    if simulation.effects.gains.is_empty() || !simulation.effects.gains.iter().all(|gain| gain.is_finite()) {
        return Err(told(&"`gains` must be a list of at least one number"));
    }
    let arm = |number: usize| match number {
        0 => Arm::new(BASELINE, None, "the baseline"),
        number => Arm::new(format!("candidate {number}"), None, "from the file"),
    };
    let workload = Workload::new(vec![path.display().to_string()], "".into(), Metric::wall_time());
    let arms = (0..=simulation.effects.gains.len()).map(arm).collect();
    let experiment = begun_now(env!("CARGO_PKG_VERSION"), this_machine()?, workload, arms, policy.clone(), seed);
    Ok((Begun { experiment, trials: Vec::new(), stored: None }, Some(simulation)))
}

/// A stored experiment with its trials goes on.
fn stored(number: Option<i64>, settings: &Settings) -> Result<Begun, Failure> {
    let machine = this_machine()?;
    let (number, Conducted { experiment, trials }) = found(number, &machine, settings)?;
    refuse_other(&experiment, &machine, number)?;
    if let Some(part) = &experiment.suite {
        let what = format!("experiment {number} is part of the suite \"{}\"", part.suite);
        return Err(Failure::unavailable(what).next(format!(
            "Continue all of it with {}.",
            suggestion::mention(&suggested_command::try_suite_resume())
        )));
    }
    enter(&experiment, number)?;
    Ok(Begun { experiment, trials, stored: Some(number) })
}

/// A new experiment of what a stored one tried.
fn once_more(again: &Again, settings: &Settings) -> Result<Begun, Failure> {
    let machine = this_machine()?;
    let (number, Conducted { experiment, .. }) = found(Some(again.number), &machine, settings)?;
    if experiment.arms.iter().any(|arm| arm.threads.is_some()) {
        let what = format!("experiment {number} is about numbers of threads, not about placements");
        return Err(Failure::usage(what).next("Type its command line again, with --threads."));
    }
    let is_named = |arm: &Arm| arm.cpus.is_some() || arm.memory.is_some() || arm.at_full_speed;
    let own = || experiment.arms.iter().map(|arm| if is_named(arm) { arm.name.clone() } else { "os".to_owned() });
    let choices =
        if again.choices.is_empty() { choices(&own().collect::<Vec<_>>(), None)? } else { again.choices.clone() };
    let names: Vec<String> = experiment.workload.roles();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let arms = arms(&choices, &[], (None, &names), &machine, settings)?;
    parts::check_memory(&experiment.workload, &arms)?;
    enter(&experiment, number)?;
    let Experiment { mut workload, policy, .. } = experiment;
    let (processes, matches) = &again.processes;
    if !(processes.is_empty() && matches.is_empty()) {
        let Some(live) = &mut workload.live else {
            let what = format!("experiment {} runs a command: there are no processes to choose", again.number);
            return Err(Failure::usage(what).next("Leave out --pid, --unit and --match."));
        };
        (live.processes, live.matches) = (live::identities(processes)?, matches.clone());
    }
    kept(begun_now(env!("CARGO_PKG_VERSION"), machine, workload, arms, policy, again.seed), settings)
}

/// A stored experiment by its number, or the last one of this machine, whose command may be executed.
fn found(number: Option<i64>, machine: &Machine, settings: &Settings) -> Result<(i64, Conducted), Failure> {
    let nothing = || {
        Failure::unavailable("there is no such stored experiment of this machine")
            .next(format!("Start one with {}.", suggestion::mention(&suggested_command::try_command())))
    };
    let History::At(path) = &settings.history else {
        return Err(Failure::usage("a stored experiment needs the store")
            .next("Leave out --no-store, or name the store with --store PATH."));
    };
    let unavailable = |error| Failure::unavailable(error);
    let store = if path.exists() { to_write(path, settings).map_err(unavailable)? } else { return Err(nothing()) };
    let (number, made) = match number {
        Some(number) => (number, store.get::<Conducted>(number).map_err(broken)?),
        None => store.latest(&machine.fingerprint(), |_| true).map_err(unavailable)?.ok_or_else(nothing)?,
    };
    check_owner(&store, &[&made.experiment], settings)?;
    Ok((number, made))
}

/// Goes to the folder in which an experiment was begun.
fn enter(experiment: &Experiment, number: i64) -> Result<(), Failure> {
    let folder = path_of(experiment.workload.folder.bytes());
    std::env::set_current_dir(&folder).map_err(|error| {
        Failure::unavailable(format!("the folder {} of experiment {number}: {error}", folder.display()))
    })
}

/// What is stored contains commands: they are executed only where nobody else can have written them.
///
/// # Errors
/// What would be executed.
pub fn check_owner(store: &Store, experiments: &[&Experiment], settings: &Settings) -> Result<(), Failure> {
    let imported = experiments.iter().find_map(|experiment| experiment.imported.as_deref());
    let workloads: Vec<_> = experiments.iter().map(|experiment| (&experiment.workload, &experiment.suite)).collect();
    let content = serde_json::to_vec(&workloads).map_err(|error| Failure::new(Exit::Internal, error))?;
    let line = |workload: &Workload| {
        let removes = workload.metric_file.as_ref().map_or_else(String::new, |file| format!(", after removing {file}"));
        let varies = workload.vary.as_ref().map_or_else(String::new, |script| format!(", after {script}"));
        let services = workload.parts.iter().flat_map(|parts| &parts.services);
        let scripts = services.flat_map(|service| std::iter::once(&service.start).chain(&service.ready));
        let services: String = scripts.map(|script| format!("{script}; ")).collect();
        let command = match &workload.live {
            None => format!("{services}{}", workload.command.join(" ")),
            Some(Live { source: Source::Command(script), .. }) => script.clone(),
            Some(Live { source: Source::Page(address), .. }) => format!("read {address}"),
            Some(_) => "place running processes".to_owned(),
        };
        format!("in {}{removes}{varies}: {command}", path_of(workload.folder.bytes()).display())
    };
    let lines = experiments.iter().map(|experiment| line(&experiment.workload)).collect();
    Commands { file: store.path(), origin: store.origin(), imported, content: &content, lines }.check(settings)
}

/// An experiment goes on where it was begun: on the same machine, with the same cpus.
pub fn refuse_other(experiment: &Experiment, machine: &Machine, number: i64) -> Result<(), Failure> {
    if experiment.machine.fingerprint() != machine.fingerprint() {
        let what = format!("experiment {number} was made on another machine, or on this one with other cpus");
        return Err(Failure::unavailable(what).next("Its runs and new ones cannot be compared."));
    }
    if experiment.machine.allowed != machine.allowed {
        let what = format!(
            "experiment {number} was started with cpus {}, but this process may use {}",
            experiment.machine.allowed, machine.allowed
        );
        return Err(Failure::unavailable(what).next("With other cpus the OS default is a different placement."));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes of one cpu each, and a card at the first.
    fn two_nodes(node: u32) -> Machine {
        let text = format!(
            "name = \"x\"\ncpus = \"0-1\"\nnodes = [{{ cpus = \"0\" }}, {{ cpus = \"1\" }}]\n\
             devices = [{{ kind = \"network\", names = [\"eth0\"], node = {node} }}]\n"
        );
        corewise_machine::machine_file::parse(&text).unwrap().machine
    }

    #[test]
    fn near_a_device_and_not_near_it_are_tried_where_they_differ() {
        let settings = Settings::of_environment(&crate::app::settings::Environment::default());
        let machine = two_nodes(0);
        if !machine.online.is_subset(&reachable_here(&machine)) {
            eprintln!("skipped: cpus 0 and 1 are not in this process's cpuset");
            return;
        }
        let [at, away] = near("eth0", &machine, &settings).unwrap();
        let told = |arm: &Arm| format!("{} {}", arm.name, arm.cpus.as_ref().unwrap());
        assert_eq!((told(&at), told(&away)), ("near(eth0) 0".into(), "!near(eth0) 1".into()));
        assert_eq!(at.reason, "near(eth0): node 0, as the system reports.");
        let nothing_else = near("eth0", &two_nodes(7), &settings).unwrap_err();
        assert!(nothing_else.what.starts_with("near(eth0) is every cpu that this process may use: "), "{nothing_else}");
        assert!(near("eth9", &machine, &settings).unwrap_err().what.contains("no such device"));
        let [server, elsewhere] = parts::near("eth0", &["server", "io", "load"], &machine, &settings).unwrap();
        let places = |arm: &Arm| arm.roles.iter().map(|place| format!("{} ", place.cpus)).collect::<String>();
        assert_eq!((server.name.as_str(), places(&server)), ("server=near(eth0), io=near(eth0)", "0 0 ".into()));
        assert_eq!(
            (elsewhere.name.as_str(), places(&elsewhere)),
            ("server=!near(eth0), io=!near(eth0)", "1 1 ".into())
        );
        assert_eq!((server.cpus.as_ref().unwrap(), &server.reason), (&machine.allowed, &at.reason));
        let typed = choices(&["server=near(eth0), load=1".into()], None).unwrap();
        let named = arms(&typed, &[], (None, &["server", "load"]), &machine, &settings).unwrap();
        assert_eq!((named[1].cpus_of("server"), &named[1].reason), (Some(&CpuSet::of(0)), &at.reason));
        let planned =
            arms(&[Choice::Near("eth0".into()), Choice::Planned], &[], (None, &[]), &machine, &settings).unwrap();
        assert_eq!(planned[1..3].iter().map(|arm| &arm.name[..]).collect::<Vec<_>>(), ["near(eth0)", "!near(eth0)"]);
    }

    #[test]
    fn placements_of_the_same_cpus_are_one() {
        let arm = |name: &str, cpus: Option<u32>| Arm::new(name, cpus.map(CpuSet::of), "");
        let mut arms =
            vec![arm("0", Some(0)), arm("os", None), arm("core:0", Some(0)), arm("1", Some(1)), arm("os", None)];
        only_once(&mut arms, &two_nodes(0));
        assert_eq!(arms.iter().map(|arm| &arm.name[..]).collect::<Vec<_>>(), ["0", "os", "1", "os"]);
    }
}
