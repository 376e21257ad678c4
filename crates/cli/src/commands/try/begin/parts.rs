//! The placements of roles that an experiment tries, and whether its services can be started.

use std::sync::atomic::AtomicBool;

use corewise_lab::experiment::parts::{PartsRunner, Trouble};
use corewise_lab::experiment::process::ProcessRunner;
use corewise_lab::placing::{memory_to_try, refuse_named};
use corewise_machine::placement::plan::{USUAL_MOST, plan_roles};
use corewise_machine::placement::roles::PlacedRole;
use corewise_machine::{CpuSet, Machine};
use corewise_model::links::{LinkMap, Matrix};
use corewise_model::trial::{Arm, Experiment, LOAD, Parts, RolePlace, Workload};
use corewise_sys::change::Journal;

use crate::app::failure::{Exit, Failure};
use crate::app::history::if_readable;
use crate::app::placing::{busiest, reachable_here, resolve_here};
use crate::app::settings::Settings;
use crate::draw::printable::named;

/// An arm from what was typed.
pub fn chosen(
    (text, typed): (&str, &[PlacedRole]),
    roles: &[&str],
    machine: &Machine,
    settings: &Settings,
) -> Result<Arm, Failure> {
    let mut reasons: Vec<String> = Vec::new();
    let place = |role: &PlacedRole| {
        if !roles.contains(&role.name.as_str()) {
            let known = roles.iter().map(|role| named(role)).collect::<Vec<_>>().join(", ");
            return Err(Failure::usage(format!("--on {text}: there is no role \"{}\"", named(&role.name)))
                .next(format!("The roles are {known}.")));
        }
        let resolution = resolve_here(&role.expression, machine, settings)?;
        refuse_named(&resolution.left_out)?;
        if role.expression.needs_devices() {
            reasons.extend(resolution.notes.into_iter().filter(|note| !reasons.contains(note)).collect::<Vec<_>>());
        }
        let memory = role.memory.as_ref().map(|memory| memory_to_try(memory, machine)).transpose()?;
        Ok(RolePlace {
            role: role.name.clone(),
            expression: role.expression.to_string(),
            cpus: resolution.cpus,
            memory,
        })
    };
    let places = typed.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    let reason = if reasons.is_empty() { "named on the command line".to_owned() } else { reasons.join(" ") };
    Ok(arm(text.trim().to_owned(), places, roles, reason, machine))
}

/// All roles but the last near a device, and away from it. The last is the load, or what else the processes do, and stands as it stood.
pub fn near(device: &str, roles: &[&str], machine: &Machine, settings: &Settings) -> Result<[Arm; 2], Failure> {
    let of_roles = |whole: Arm| {
        let cpus = whole.cpus.unwrap_or_default();
        let place = |role: &&str| RolePlace {
            role: (*role).to_owned(),
            expression: whole.name.clone(),
            cpus: cpus.clone(),
            memory: None,
        };
        let places: Vec<RolePlace> = roles[..roles.len().saturating_sub(1)].iter().map(place).collect();
        let name = places.iter().map(RolePlace::typed).collect::<Vec<_>>().join(", ");
        arm(name, places, roles, whole.reason, machine)
    };
    Ok(super::near(device, machine, settings)?.map(of_roles))
}

/// Those that are planned for services and their load; roles of threads are never planned unasked.
pub fn planned(parts: &Parts, machine: &Machine, settings: &Settings) -> Vec<Arm> {
    let mut roles: Vec<&str> = parts.services.iter().map(|service| service.name.as_str()).collect();
    roles.push(LOAD);
    let costs = latest_links(machine, settings).and_then(|map| Some(Matrix::of(&map.series.first()?.links)));
    let cost = costs.as_ref().map(|costs| |a: u32, b: u32| Some(costs.cost(costs.place(a)?, costs.place(b)?)));
    let cost = cost.as_ref().map(|cost| cost as &dyn Fn(u32, u32) -> Option<f64>);
    let reachable = reachable_here(machine);
    let known = (busiest(machine, settings), cost);
    let candidates = plan_roles(machine, &reachable, roles.len(), known, USUAL_MOST);
    let each = |candidate: corewise_machine::placement::plan::RoleCandidate| {
        let place = |(role, (expression, cpus)): (&&str, (String, CpuSet))| RolePlace {
            role: (*role).to_owned(),
            expression,
            cpus,
            memory: None,
        };
        let places: Vec<RolePlace> = roles.iter().zip(candidate.places).map(place).collect();
        let name = places.iter().map(RolePlace::typed).collect::<Vec<_>>().join(", ");
        let link =
            candidate.link_ns.map_or_else(String::new, |ns| format!(" A message between them costs {ns:.0} ns."));
        let counted = format!(" It stands for {} of {} such placements.", candidate.stands_for, candidate.of);
        arm(name, places, &roles, format!("{}{link}{counted}", candidate.reason), machine)
    };
    candidates.into_iter().map(each).collect()
}

fn latest_links(machine: &Machine, settings: &Settings) -> Option<LinkMap> {
    if_readable(settings)?
        .latest::<LinkMap>(&machine.fingerprint(), |map| !map.provenance.partial && map.unit.is_nanoseconds())
        .ok()?
        .map(|(_, map)| map)
}

/// The cpus of an arm are those of all its roles; a role without a placement may use all.
fn arm(name: String, places: Vec<RolePlace>, roles: &[&str], reason: String, machine: &Machine) -> Arm {
    let is_placed = |role: &&&str| places.iter().any(|place| place.role == ***role);
    let mut cpus: CpuSet = places.iter().flat_map(|place| place.cpus.iter()).collect();
    if roles.iter().filter(is_placed).count() < roles.len() {
        cpus = cpus.union(&machine.allowed);
    }
    Arm { roles: places, ..Arm::new(name, Some(cpus), reason) }
}

/// Whether all that has a memory policy is a program that is started for the trial: the memory of others stays where it is.
pub fn check_memory(workload: &Workload, arms: &[Arm]) -> Result<(), Failure> {
    let is_started = |role: &str| {
        workload.parts.as_ref().is_some_and(|parts| {
            role == LOAD || !parts.keep_started && parts.services.iter().any(|service| service.name == role)
        })
    };
    let of_role = arms.iter().flat_map(|arm| &arm.roles).filter(|place| place.memory.is_some());
    let of_role = of_role.filter(|place| !is_started(&place.role)).map(RolePlace::typed);
    let of_all = arms.iter().filter(|arm| arm.memory.is_some() && workload.goes_on()).map(|arm| arm.name.clone());
    let Some(place) = of_role.chain(of_all).next() else { return Ok(()) };
    let what = format!("{}: the memory of what runs already stays where it is", named(&place));
    Err(Failure::usage(what)
        .next("Only services that are started for each trial, and the load, can have a memory policy."))
}

/// A runner for an experiment with parts.
pub fn runner<'a>(
    experiment: &Experiment,
    load: ProcessRunner<'a>,
    stop: &'a AtomicBool,
    settings: &Settings,
) -> Result<PartsRunner<'a>, Failure> {
    // What is started for one trial ends with it.
    let is_kept = experiment.workload.goes_on();
    let journal = is_kept.then(|| settings.journal_folder().map(|folder| Journal::in_folder(folder.to_owned())));
    let journal = journal.transpose()?;
    PartsRunner::new(experiment, load, journal, stop).map_err(Failure::unavailable)
}

/// Starts the services once before an experiment is stored: what is wrong with them is wrong on every placement.
pub fn check(runner: &mut PartsRunner<'_>) -> Result<(), Failure> {
    runner.check().map_err(|trouble| match trouble {
        Trouble::Interrupted => Failure::new(Exit::Interrupted, "nothing was tried: it was ended before the first run"),
        Trouble::Failed { why, output } if output.trim().is_empty() => {
            Failure::unavailable(why).next("Nothing was tried; what was started was ended.")
        }
        Trouble::Failed { why, output } => {
            let lines = output.lines().map(|line| format!("\n    {}", named(line))).collect::<String>();
            Failure::unavailable(why).next(format!("Its last lines:{lines}"))
        }
    })
}
