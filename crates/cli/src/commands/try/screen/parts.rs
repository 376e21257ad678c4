//! Lines that put the winning placements of parts in force: commands, drop-ins of systemd units, a fragment of a compose file.

use corewise_model::trial::{Arm, LOAD, Parts, RolePlace};

use super::{Shown, in_a_shell};
use crate::draw::text::Line;
use crate::shell::tip::in_shell;

/// The lines, each part's in the order in which it is started.
pub fn apply(shown: Shown<'_>, parts: &Parts, arm: &Arm) -> Vec<Line> {
    let services = parts.services.iter().map(|service| (&service.name, format!("sh -c {}", in_shell(&service.start))));
    let load = LOAD.to_owned();
    let load = (&load, in_a_shell(&shown.experiment.workload.command));
    let all: Vec<(RolePlace, String)> = services
        .chain(std::iter::once(load))
        .filter_map(|(role, command)| Some((place(arm, role)?, command)))
        .collect();
    let mut lines: Vec<String> = all.iter().map(|(place, command)| run(arm, shown, place, command)).collect();
    let of_services: Vec<&RolePlace> = all.iter().map(|(place, _)| place).filter(|place| place.role != LOAD).collect();
    for place in &of_services {
        lines.extend(drop_in(place));
    }
    if !of_services.is_empty() {
        lines.extend(["".to_owned(), "# compose.yaml".to_owned(), "services:".to_owned()]);
    }
    for place in of_services {
        lines.push(format!("  {}:", place.role));
        lines.push(format!("    cpuset: \"{}\"", place.cpus));
    }
    lines.into_iter().map(|line| Line::new().plain("    ").strong(line)).collect()
}

/// Where a role stands; on an arm without roles everything stands in one place.
fn place(arm: &Arm, role: &str) -> Option<RolePlace> {
    let whole = || {
        let cpus = arm.cpus.clone().filter(|_| arm.roles.is_empty())?;
        Some(RolePlace { role: role.to_owned(), expression: arm.name.clone(), cpus, memory: None })
    };
    arm.place_of(role).cloned().or_else(whole)
}

fn run(arm: &Arm, shown: Shown<'_>, place: &RolePlace, command: &str) -> String {
    let memory = place.memory.as_ref().map_or_else(String::new, |memory| format!(" --memory {memory}"));
    // Roles of threads have to be inside the cpus of the program.
    let of_threads = shown.experiment.workload.thread_roles.iter().filter(|_| place.role != LOAD);
    let of_threads: Vec<(String, &RolePlace)> = of_threads
        .filter_map(|role| {
            let placed = arm.place_of(&role.name)?;
            Some((format!("{}={}:{}", role.name, role.pattern, placed.cpus), placed))
        })
        .collect();
    if of_threads.is_empty() {
        return format!("corewise run --on {}{memory} -- {command}", in_shell(&place.expression));
    }
    let all = of_threads.iter().fold(place.cpus.clone(), |all, (_, placed)| all.union(&placed.cpus));
    let rest = format!("{}=.*:{}", place.role, place.cpus);
    let roles: Vec<String> = of_threads.into_iter().map(|(text, _)| text).chain(std::iter::once(rest)).collect();
    format!("corewise run --on {all}{memory} --roles {} -- {command}", in_shell(&roles.join(",")))
}

fn drop_in(place: &RolePlace) -> Vec<String> {
    let file = format!("# /etc/systemd/system/{}.service.d/corewise.conf", place.role);
    let mut lines = vec!["".to_owned(), file, "[Service]".to_owned(), format!("CPUAffinity={}", place.cpus)];
    // systemd.exec(5) has no weighted policy.
    if let Some((mode, nodes)) = place.memory.as_deref().and_then(|memory| memory.split_once(':'))
        && mode != "weighted"
    {
        lines.extend([format!("NUMAPolicy={mode}"), format!("NUMAMask={nodes}")]);
    } else if place.memory.as_deref() == Some("local") {
        lines.push("NUMAPolicy=local".to_owned());
    }
    lines
}
