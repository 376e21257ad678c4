//! Files of a cgroup v2 cpuset, and Docker's options for the same.

use super::choices::{NamedReading, agree};
use super::keyed::{KeyedValue, ValueExtent, find_values};
use super::list::{self, ListSyntax};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, nodes};
use crate::Machine;

/// Prints the commands that write the group's files.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, machine, .. } = chosen;
    let place = "In the group's folder; the parent folder needs +cpuset in its cgroup.subtree_control.";
    let mut lines = vec![NotationLine::new("cpus", format!("echo {cpus} > cpuset.cpus")).with_remark(place)];
    let memory = nodes::with_memory(cpus, machine);
    if !memory.is_empty() {
        let line = NotationLine::new("memory", format!("echo {memory} > cpuset.mems"));
        lines.push(line.with_remark("The memory nearest to these cpus; omit it to allow all memory."));
    }
    lines
}

/// Prints Docker's options.
pub(super) fn print_docker(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, machine, .. } = chosen;
    let memory = nodes::with_memory(cpus, machine);
    let mems = if memory.is_empty() { String::new() } else { format!(" --cpuset-mems={memory}") };
    vec![
        NotationLine::new("options", format!("--cpuset-cpus={cpus}{mems}"))
            .with_remark("--cpus is different: a quota of time on any cpu."),
        NotationLine::new("compose file", format!("cpuset: \"{cpus}\"")).into_secondary(),
    ]
}

/// Files and keys by which a text is recognized.
pub(super) const KEYS: [&str; 4] =
    ["*cpuset.cpus", "*cpuset.cpus.effective", "*cpuset.effective_cpus", "*cpuset.cpus.exclusive"];

/// Reads a list, `cpuset.cpus = 0-3`, `echo 0-3 > …/cpuset.cpus`, `cgset -r cpuset.cpus=0-3 group`, or lines of several groups.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let rules = list::kernel_syntax(machine.possible.highest());
    let memory: Vec<String> = find_values(text, "*cpuset.mems", ValueExtent::Numbers)
        .iter()
        .map(|found| memory_remark(found.value.text))
        .collect();
    let mut groups: Vec<NamedReading> = Vec::new();
    for found in KEYS.iter().flat_map(|key| find_values(text, key, ValueExtent::Numbers)) {
        let cpus = list::read_list(found.value, ListSyntax { spaces: true, ..rules })?;
        let group = name_of_group(text, found.key);
        let again = groups.iter().position(|known| known.name == group).map(|known| groups.remove(known));
        let again = again.map(|_| "cpuset.cpus is set more than once; the last line applies.".to_owned());
        let read = NotationReading::from_set(cpus.into_iter().collect()).with_remarks(again);
        groups.push(NamedReading::new(group, read));
    }
    if groups.is_empty() && text.text.contains("cpuset") {
        let found = text.split_lines().into_iter().find(|line| line.text.contains("cpuset")).unwrap_or(text);
        return Err(found.fault_here("expected the value of cpuset.cpus or cpuset.mems"));
    }
    if groups.is_empty() {
        return read_bare(text, rules);
    }
    Ok(agree(text, groups, || text.fault_here("no line here sets cpuset.cpus"))?.with_remarks(memory))
}

/// Returns the path and the whole name around a key: "/sys/fs/cgroup/a/cpuset.cpus".
fn name_of_group<'a>(text: TextPiece<'a>, key: TextPiece<'a>) -> &'a str {
    let up_to = key.to_end_of(text).text;
    let end = text.text.len() - up_to.len() + key.text.len();
    let from = text.text[..end].rfind(|c: char| c.is_whitespace() || "\"'>=:".contains(c)).map_or(0, |place| place + 1);
    &text.text[from..end]
}

/// Reads one list.
fn read_bare(text: TextPiece<'_>, rules: ListSyntax) -> Result<NotationReading, TextFault> {
    let lines = text.split_lines();
    if let [_, second, ..] = lines.as_slice() {
        let fault = second.fault_here("expected one list of cpus, found a second one");
        return Err(fault.with_hint("a list is 0-3,8"));
    }
    Ok(NotationReading::from_set(list::read_list(text.without_quotes(), rules)?.into_iter().collect()))
}

fn memory_remark(nodes: &str) -> String {
    format!("Memory comes only from node {nodes}.")
}

/// Options and keys by which a text is recognized.
pub(super) const DOCKER_KEYS: [&str; 4] = ["cpuset-cpus", "cpuset", "CpusetCpus", "cpuset_cpus"];
/// Their counterparts for memory.
const DOCKER_MEMORY: [&str; 3] = ["cpuset-mems", "CpusetMems", "cpuset_mems"];

/// Reads a list, options, a whole `docker run` line, a compose file's `cpuset:`, or the output of `docker inspect`.
pub(super) fn read_docker(text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let mut parts = Vec::new();
    // cgexec -g cpuset:group
    let is_list = |found: &KeyedValue<'_>| !found.value.text.starts_with(|c: char| c.is_ascii_alphabetic());
    for found in DOCKER_KEYS.iter().flat_map(|key| find_values(text, key, ValueExtent::Word)).filter(is_list) {
        let cpus = list::read_list(found.value, ListSyntax::default())?.into_iter().collect();
        parts.push(NamedReading::new(found.value.text, NotationReading::from_set(cpus)));
    }
    let memory = DOCKER_MEMORY.iter().flat_map(|key| find_values(text, key, ValueExtent::Word));
    let memory: Vec<String> = memory.map(|found| memory_remark(found.value.text)).collect();
    if let (true, Some(quota)) = (parts.is_empty(), find_values(text, "--cpus", ValueExtent::Word).first()) {
        let fault = quota.value.fault_here("--cpus is a quota of time and chooses no cpus");
        return Err(fault.with_hint("--cpuset-cpus=0-3 chooses cpus"));
    }
    if parts.is_empty() {
        let cpus = list::read_list(text.without_quotes(), ListSyntax::default()).map_err(TextFault::into_silent)?;
        return Ok(NotationReading::from_set(cpus.into_iter().collect()));
    }
    Ok(agree(text, parts, || text.fault_here("no cpu is named here"))?.with_remarks(memory))
}
