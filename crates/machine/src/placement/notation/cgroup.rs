//! Files of a cgroup v2 cpuset, and Docker's options for the same.

use super::list::{self, Rules};
use super::text::{Fault, Piece};
use super::{Chosen, NotationLine, Read, nodes};
use crate::Machine;

/// Prints the commands that write the group's files.
pub(super) fn print(chosen: Chosen<'_>) -> Vec<NotationLine> {
    let Chosen { cpus, machine, .. } = chosen;
    let place = "In the group's folder; the parent folder needs +cpuset in its cgroup.subtree_control.";
    let mut lines = vec![NotationLine::new("cpus", format!("echo {cpus} > cpuset.cpus")).remark(place)];
    let memory = nodes::with_memory(cpus, machine);
    if !memory.is_empty() {
        let line = NotationLine::new("memory", format!("echo {memory} > cpuset.mems"));
        lines.push(line.remark("The memory nearest to these cpus; omit it to allow all memory."));
    }
    lines
}

/// Prints Docker's options.
pub(super) fn print_docker(chosen: Chosen<'_>) -> Vec<NotationLine> {
    let Chosen { cpus, machine, .. } = chosen;
    let memory = nodes::with_memory(cpus, machine);
    let mems = if memory.is_empty() { String::new() } else { format!(" --cpuset-mems={memory}") };
    vec![
        NotationLine::new("options", format!("--cpuset-cpus={cpus}{mems}"))
            .remark("--cpus is different: a quota of time on any cpu."),
        NotationLine::new("compose file", format!("cpuset: \"{cpus}\"")).secondary(),
    ]
}

/// Reads a list, `cpuset.cpus = 0-3`, or `echo 0-3 > …/cpuset.cpus`.
pub(super) fn read(text: Piece<'_>, machine: &Machine) -> Result<Read, Fault> {
    let rules = list::kernel(machine.possible.highest());
    let mut cpus = None;
    let mut memory = Vec::new();
    let mut again = None;
    for line in text.lines() {
        let (value, file) = file_and_value(line);
        match file {
            Some(file) if file.ends_with("cpuset.mems") => memory.push(value.text),
            Some(file) if !file.contains("cpuset.cpus") => {
                return Err(line.fault("expected the value of cpuset.cpus or cpuset.mems"));
            }
            None if cpus.is_some() => {
                return Err(line.fault("expected one list of cpus, found a second one").hint("a list is 0-3,8"));
            }
            _ => {
                again = cpus.as_ref().map(|_| "cpuset.cpus is set more than once; the last line applies.".to_owned());
                cpus = Some(list::read(value, rules)?);
            }
        }
    }
    let cpus = cpus.ok_or_else(|| text.fault("no line here sets cpuset.cpus"))?;
    Ok(Read::set(cpus.into_iter().collect()).remarks(again).remarks(memory.iter().map(|nodes| memory_remark(nodes))))
}

fn memory_remark(nodes: &str) -> String {
    format!("Memory comes only from node {nodes}.")
}

/// Splits a line into its value and, if the line names one, its file.
fn file_and_value(line: Piece<'_>) -> (Piece<'_>, Option<&str>) {
    if let Some((echo, file)) = line.split_once('>') {
        let value = echo.trim().strip_prefix("echo").unwrap_or(echo).trim();
        return (value.unquoted(), Some(file.trim().unquoted().text));
    }
    match line.split_once('=').or_else(|| line.split_once(' ')).or_else(|| line.split_once(':')) {
        Some((file, value)) if file.text.contains("cpuset") => (value.trim().unquoted(), Some(file.trim().text)),
        _ => (line.unquoted(), None),
    }
}

/// Reads a list, options, a whole `docker run` line, or a compose file's `cpuset:`.
pub(super) fn read_docker(text: Piece<'_>) -> Result<Read, Fault> {
    let mut cpus = None;
    let mut memory = None;
    let mut quota = None;
    let mut words = text.words().into_iter();
    while let Some(word) = words.next() {
        let (name, given) = match word.split_once('=') {
            Some((name, value)) => (name.text, Some(value)),
            None => (word.text, None),
        };
        if !matches!(name, "--cpuset-cpus" | "--cpuset-mems" | "--cpus" | "cpuset:") {
            continue;
        }
        let value = given.or_else(|| words.next()).ok_or_else(|| word.fault(format!("{name} needs a value")))?;
        match name {
            "--cpuset-mems" => memory = Some(value.unquoted().text),
            "--cpus" => quota = Some(value),
            _ => cpus = Some(list::read(value.unquoted(), Rules::default())?),
        }
    }
    let quota_fault = |quota: Piece<'_>| quota.fault("--cpus is a quota of time and chooses no cpus");
    let cpus = match (cpus, quota) {
        (Some(cpus), _) => cpus,
        (None, Some(quota)) => return Err(quota_fault(quota).hint("--cpuset-cpus=0-3 chooses cpus")),
        (None, None) => list::read(text.unquoted(), Rules::default())?,
    };
    Ok(Read::set(cpus.into_iter().collect()).remarks(memory.map(memory_remark)))
}
