//! Parts: the started services, the place of each role, and the lines that apply a winner. These are commands,
//! drop-ins of systemd units, and a fragment of a compose file.

use corewise_machine::CpuSet;
use corewise_machine::placement::CpuSetName;
use corewise_machine::placement::memory::MemoryMode;
use corewise_model::trial::{ArmMemory, LOAD, LiveWorkload, MEMORY_SIGN, PlacementArm, REST, ThreadRole};

use super::{ShownExperiment, format_command};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::printable::printable_name;
use crate::draw::story::StoryPart;
use crate::draw::suggestion::{self, quote_word};
use crate::draw::text::StyledLine;

/// A part that has a placement or a memory policy.
struct PlacedPart<'a> {
    role: &'a str,
    command: String,
    /// Its placement as an argument.
    on: &'a str,
    cpus: Option<&'a CpuSet>,
    memory: Option<&'a ArmMemory>,
}

/// Describes the started services, a line each, and the roles of threads.
pub fn draw_started(shown: ShownExperiment<'_>) -> Vec<StyledLine> {
    let workload = &shown.experiment.workload;
    let services = workload.parts.iter().flat_map(|parts| {
        let when = if parts.keep_started { "once for all runs" } else { "anew for each run" };
        parts.services.iter().map(move |service| {
            let line = StyledLine::new().plain(format!("Service {}, started {when}: ", printable_name(&service.name)));
            let line = line.strong(printable_name(&service.start));
            match &service.ready {
                Some(question) => line.plain("; ready when this succeeds: ").strong(printable_name(question)),
                None => line,
            }
        })
    });
    let threads = workload.thread_roles.iter().map(|role| {
        let text = format!("Role {}: threads whose names match ", printable_name(&role.name));
        StyledLine::new().plain(text).strong(printable_name(&role.pattern))
    });
    services.chain(threads).collect()
}

/// Returns the cpus and the memory policy of each role on each placement; empty if no placement has roles.
pub fn compose_roles(shown: ShownExperiment<'_>) -> Vec<StoryPart> {
    let (roles, arms) = (shown.experiment.workload.role_names(), &shown.experiment.arms);
    if arms.iter().all(|arm| arm.roles.is_empty()) {
        return Vec::new();
    }
    let columns = std::iter::once(GridColumn::text("cpus on the placement", 0).shrinking_to(12));
    let mut grid = TextGrid::new(columns.chain(roles.iter().map(|role| GridColumn::text(role, 1))).collect());
    for arm in arms {
        let of_role = |role: &String| {
            let cpus = arm.cpus_of(role).map_or_else(|| "OS default".to_owned(), ToString::to_string);
            let memory = arm.memory_of(role).map(|memory| format!(" {MEMORY_SIGN} {}", memory.policy));
            StyledLine::new().plain(format!("{cpus}{}", memory.unwrap_or_default()))
        };
        grid.add_row(
            std::iter::once(StyledLine::new().plain(printable_name(&arm.name)))
                .chain(roles.iter().map(of_role))
                .collect(),
        );
    }
    vec![grid.into()]
}

/// Returns the lines that apply a winner, in the order in which the parts are started.
pub fn draw_commands(shown: ShownExperiment<'_>, arm: &PlacementArm) -> Vec<StyledLine> {
    let workload = &shown.experiment.workload;
    let load = (LOAD, format_command(&workload.command_of(arm)));
    let of_arm = workload.services_of(arm);
    let told: String =
        workload.threads_as.iter().filter_map(|name| Some(format!("{name}={} ", arm.threads?))).collect();
    let shell = |start: &str| format!("sh -c {}", quote_word(&format!("{told}{start}")));
    let services = of_arm.iter().map(|service| (&service.name[..], shell(&service.start)));
    let all = services.chain(std::iter::once(load)).map(|(role, command)| place_part(arm, role, command));
    let has_threads = |part: &PlacedPart<'_>| workload.parts.is_none() && part.role == LOAD && !arm.roles.is_empty();
    let is_placed = |part: &PlacedPart<'_>| part.cpus.is_some() || part.memory.is_some() || has_threads(part);
    let all: Vec<PlacedPart<'_>> = all.filter(is_placed).collect();
    let mut lines: Vec<String> = all.iter().map(|part| run(arm, shown, part)).collect();
    let services = || all.iter().filter(|part| part.role != LOAD);
    lines.extend(services().flat_map(write_drop_in));
    let in_compose = services().filter_map(|part| Some((part.role, part.cpus?)));
    let in_compose: Vec<String> =
        in_compose.flat_map(|(role, cpus)| [format!("  {role}:"), format!("    cpuset: \"{cpus}\"")]).collect();
    if !in_compose.is_empty() {
        lines.extend(["".to_owned(), "# compose.yaml".to_owned(), "services:".to_owned()]);
        lines.extend(in_compose);
    }
    lines.into_iter().map(|line| StyledLine::new().plain("    ").strong(line)).collect()
}

/// Returns a part as placed on an arm; on an arm without roles all parts share one placement.
fn place_part<'a>(arm: &'a PlacementArm, role: &'a str, command: String) -> PlacedPart<'a> {
    let cpus = arm.cpus_of(role);
    let typed = arm.place_of(role).map_or_else(|| arm.placement_text(), |place| &place.expression);
    let on = if cpus.is_some() { typed } else { CpuSetName::All.word() };
    PlacedPart { role, command, on, cpus, memory: arm.memory_of(role) }
}

fn run(arm: &PlacementArm, shown: ShownExperiment<'_>, part: &PlacedPart<'_>) -> String {
    let memory = part.memory.map(|memory| &memory.policy[..]);
    // Roles of threads belong to the services, if there are any.
    let is_alone = shown.experiment.workload.parts.is_none();
    let roles = shown.experiment.workload.thread_roles.iter().filter(|_| is_alone || part.role != LOAD);
    let roles: Vec<(String, &CpuSet)> = roles
        .filter_map(|role| {
            let cpus = &arm.place_of(&role.name)?.cpus;
            Some((format!("{}={}:{cpus}", role.name, role.pattern), cpus))
        })
        .collect();
    let (Some(cpus), false) = (part.cpus, roles.is_empty()) else {
        let texts = roles.into_iter().map(|(text, _)| text).collect::<Vec<_>>();
        return suggestion::run_line(
            part.on,
            memory,
            (!texts.is_empty()).then(|| texts.join(",")).as_deref(),
            &part.command,
        );
    };
    // The cpus of thread roles must be within the program's.
    let all = roles.iter().fold(cpus.clone(), |all, (_, placed)| all.union(placed));
    let rest = format!("{}=.*:{cpus}", part.role);
    let roles: Vec<String> = roles.into_iter().map(|(text, _)| text).chain(std::iter::once(rest)).collect();
    suggestion::run_line(&all.to_string(), memory, Some(&roles.join(",")), &part.command)
}

/// Returns the commands that place the threads of running processes now: first all threads, then each role's by their names.
pub fn draw_live_commands(shown: ShownExperiment<'_>, live: &LiveWorkload, arm: &PlacementArm) -> Vec<StyledLine> {
    let lines = live
        .processes
        .iter()
        .flat_map(|process| placing_commands(process.id, arm, &shown.experiment.workload.thread_roles));
    lines.map(|line| StyledLine::new().plain("    ").strong(line)).collect()
}

fn placing_commands(process: u32, arm: &PlacementArm, roles: &[ThreadRole]) -> Vec<String> {
    let rest = arm.place_of(REST).map(|place| &place.cpus);
    let rest = rest.map(|cpus| format!("taskset --all-tasks --cpu-list --pid {cpus} {process}"));
    // The first matching role of a thread applies, so it must be set last.
    let named = roles.iter().rev().filter_map(|role| Some((role, &arm.place_of(&role.name)?.cpus)));
    let named = named.map(|(role, cpus)| {
        let pattern = quote_word(&role.pattern);
        format!("grep -lE -e {pattern} /proc/{process}/task/*/comm | cut -d/ -f5 | xargs -n1 taskset --cpu-list --pid {cpus}")
    });
    rest.into_iter().chain(named).collect()
}

fn write_drop_in(part: &PlacedPart<'_>) -> Vec<String> {
    let file = format!("# /etc/systemd/system/{}.service.d/corewise.conf", part.role);
    let mut lines = vec!["".to_owned(), file, "[Service]".to_owned()];
    lines.extend(part.cpus.map(|cpus| format!("CPUAffinity={cpus}")));
    // systemd.exec(5) has no weighted policy.
    if let Some(memory) = part.memory
        && let Some(mode) = memory.policy_mode().filter(|mode| *mode != MemoryMode::Weighted)
    {
        lines.push(format!("NUMAPolicy={mode}"));
        lines.extend((mode != MemoryMode::Local).then(|| format!("NUMAMask={}", memory.nodes)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use corewise_model::trial::RolePlace;

    use super::*;

    #[test]
    fn threads_of_running_processes_are_placed_by_their_names_and_the_first_role_last() {
        let place = |role: &str, cpu: u32| RolePlace {
            role: role.to_owned(),
            expression: cpu.to_string(),
            cpus: CpuSet::from_cpu(cpu),
            memory: None,
        };
        let role = |name: &str, pattern: &str| ThreadRole { name: name.to_owned(), pattern: pattern.to_owned() };
        let roles = [role("io", "^io-"), role("work", "^w"), role("idle", "idle")];
        let arm = PlacementArm {
            roles: vec![place("io", 0), place("work", 1), place(REST, 2)],
            ..PlacementArm::new("x", None, "")
        };
        let by_name = |pattern: &str, cpu: u32| {
            format!(
                "grep -lE -e {pattern} /proc/7/task/*/comm | cut -d/ -f5 | xargs -n1 taskset --cpu-list --pid {cpu}"
            )
        };
        let expected =
            ["taskset --all-tasks --cpu-list --pid 2 7".to_owned(), by_name("'^w'", 1), by_name("'^io-'", 0)];
        assert_eq!(placing_commands(7, &arm, &roles), expected);
    }
}
