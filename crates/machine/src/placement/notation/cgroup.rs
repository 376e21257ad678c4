//! Files of a cgroup v2 cpuset, and Docker's options for the same.

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

/// Reads a list, `cpuset.cpus = 0-3`, or `echo 0-3 > …/cpuset.cpus`.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let rules = list::kernel_syntax(machine.possible.highest());
    let mut cpus = None;
    let mut memory = Vec::new();
    let mut again = None;
    for line in text.split_lines() {
        let (value, file) = file_and_value(line);
        match file {
            Some(file) if file.ends_with("cpuset.mems") => memory.push(value.text),
            Some(file) if !file.contains("cpuset.cpus") => {
                return Err(line.fault_here("expected the value of cpuset.cpus or cpuset.mems"));
            }
            None if cpus.is_some() => {
                return Err(line
                    .fault_here("expected one list of cpus, found a second one")
                    .with_hint("a list is 0-3,8"));
            }
            _ => {
                again = cpus.as_ref().map(|_| "cpuset.cpus is set more than once; the last line applies.".to_owned());
                cpus = Some(list::read_list(value, rules)?);
            }
        }
    }
    let cpus = cpus.ok_or_else(|| text.fault_here("no line here sets cpuset.cpus"))?;
    Ok(NotationReading::from_set(cpus.into_iter().collect())
        .with_remarks(again)
        .with_remarks(memory.iter().map(|nodes| memory_remark(nodes))))
}

fn memory_remark(nodes: &str) -> String {
    format!("Memory comes only from node {nodes}.")
}

/// Splits a line into its value and, if the line names one, its file.
fn file_and_value(line: TextPiece<'_>) -> (TextPiece<'_>, Option<&str>) {
    if let Some((echo, file)) = line.split_once('>') {
        let value = echo.trim().strip_prefix("echo").unwrap_or(echo).trim();
        return (value.without_quotes(), Some(file.trim().without_quotes().text));
    }
    match line.split_once('=').or_else(|| line.split_once(' ')).or_else(|| line.split_once(':')) {
        Some((file, value)) if file.text.contains("cpuset") => (value.trim().without_quotes(), Some(file.trim().text)),
        _ => (line.without_quotes(), None),
    }
}

/// Reads a list, options, a whole `docker run` line, or a compose file's `cpuset:`.
pub(super) fn read_docker(text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let mut cpus = None;
    let mut memory = None;
    let mut quota = None;
    let mut words = text.split_words().into_iter();
    while let Some(word) = words.next() {
        let (name, given) = match word.split_once('=') {
            Some((name, value)) => (name.text, Some(value)),
            None => (word.text, None),
        };
        if !matches!(name, "--cpuset-cpus" | "--cpuset-mems" | "--cpus" | "cpuset:") {
            continue;
        }
        let value = given.or_else(|| words.next()).ok_or_else(|| word.fault_here(format!("{name} needs a value")))?;
        match name {
            "--cpuset-mems" => memory = Some(value.without_quotes().text),
            "--cpus" => quota = Some(value),
            _ => cpus = Some(list::read_list(value.without_quotes(), ListSyntax::default())?),
        }
    }
    let quota_fault = |quota: TextPiece<'_>| quota.fault_here("--cpus is a quota of time and chooses no cpus");
    let cpus = match (cpus, quota) {
        (Some(cpus), _) => cpus,
        (None, Some(quota)) => return Err(quota_fault(quota).with_hint("--cpuset-cpus=0-3 chooses cpus")),
        (None, None) => list::read_list(text.without_quotes(), ListSyntax::default())?,
    };
    Ok(NotationReading::from_set(cpus.into_iter().collect()).with_remarks(memory.map(memory_remark)))
}
