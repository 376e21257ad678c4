//! Settings of systemd units.

use super::list::{self, Rules};
use super::text::{Fault, Piece};
use super::{Chosen, NotationLine, Read, nodes};
use crate::{CpuSet, Machine};

/// Prints the boundary of the cgroup and the starting mask.
pub(super) fn print(chosen: Chosen<'_>) -> Vec<NotationLine> {
    let Chosen { cpus, machine, .. } = chosen;
    let boundary = "A hard limit of the cgroup, for services, scopes and slices; needs cgroup v2 with cpuset.";
    let mask = "The mask that a service starts with; its processes may change it, and slices do not support it.";
    let mut lines = vec![
        NotationLine::new("boundary", format!("AllowedCPUs={cpus}")).remark(boundary),
        NotationLine::new("starting mask", format!("CPUAffinity={cpus}")).remark(mask),
    ];
    let memory = nodes::with_memory(cpus, machine);
    if machine.nodes.len() > 1 && !memory.is_empty() {
        let line = NotationLine::new("memory", format!("AllowedMemoryNodes={memory}")).secondary();
        lines.push(line.remark("Only if memory must come from there: the nodes nearest to these cpus."));
    }
    if cpus.highest() >= Some(SYSTEMD_CPUS) {
        lines = lines.into_iter().map(|line| line.remark("systemd supports cpus up to 8191.")).collect();
    }
    lines
}

/// Limit of systemd.
const SYSTEMD_CPUS: u32 = 8192;

/// Settings already read; `None` if not set, or reset by an empty value.
#[derive(Default)]
struct Settings {
    mask: Option<CpuSet>,
    boundary: Option<CpuSet>,
    nodes: Option<CpuSet>,
    mask_is_numa: bool,
    memory: Vec<String>,
}

/// Reads a value, lines of a unit file, or a command line with `-p AllowedCPUs=0-3`.
pub(super) fn read(text: Piece<'_>, machine: &Machine) -> Result<Read, Fault> {
    let mut settings = Settings::default();
    if !text.text.contains('=') {
        return Ok(Read::set(values(text)?.into_iter().collect()));
    }
    for line in text.lines().into_iter().filter(|line| !line.text.starts_with(['#', ';', '['])) {
        match line.split_once('=') {
            Some((key, value)) if !key.trim().text.contains(char::is_whitespace) && !key.text.starts_with('-') => {
                setting(key.trim(), value.trim(), &mut settings)?;
            }
            _ => command_line(line, &mut settings)?,
        }
    }
    conclude(text, settings, machine)
}

/// Reads the properties on a command line of systemd-run or systemctl set-property.
fn command_line(line: Piece<'_>, settings: &mut Settings) -> Result<(), Fault> {
    for word in line.words() {
        let word = word.unquoted();
        let word = word.strip_prefix("--property=").or_else(|| word.strip_prefix("-p")).unwrap_or(word);
        if let Some((key, value)) = word.unquoted().split_once('=') {
            setting(key, value.unquoted(), settings)?;
        }
    }
    Ok(())
}

fn setting(key: Piece<'_>, value: Piece<'_>, settings: &mut Settings) -> Result<(), Fault> {
    match key.text {
        "CPUAffinity" if value.text == "numa" => settings.mask_is_numa = true,
        "CPUAffinity" => add(&mut settings.mask, value)?,
        "AllowedCPUs" | "StartupAllowedCPUs" => add(&mut settings.boundary, value)?,
        "NUMAMask" if value.text != "all" => settings.nodes = Some(values(value)?.into_iter().collect()),
        "NUMAPolicy" | "NUMAMask" | "AllowedMemoryNodes" | "StartupAllowedMemoryNodes" => {
            settings.memory.push(format!("{}={}", key.text, value.text));
        }
        _ => {}
    }
    Ok(())
}

/// Adds a value to a setting: lines add up, and an empty one resets it.
fn add(setting: &mut Option<CpuSet>, value: Piece<'_>) -> Result<(), Fault> {
    if value.is_empty() {
        *setting = None;
    } else {
        setting.get_or_insert_default().extend(values(value)?);
    }
    Ok(())
}

fn values(text: Piece<'_>) -> Result<Vec<u32>, Fault> {
    list::read(text.unquoted(), Rules { spaces: true, ..Rules::default() })
}

fn conclude(text: Piece<'_>, settings: Settings, machine: &Machine) -> Result<Read, Fault> {
    let (mut mask, boundary) = (settings.mask, settings.boundary);
    if settings.mask_is_numa {
        let missing = || text.fault("CPUAffinity=numa uses the cpus of NUMAMask=, which is missing");
        let numbers = settings.nodes.ok_or_else(missing)?;
        let nodes = machine.nodes.iter().filter(|node| numbers.contains(node.number));
        mask = Some(nodes.fold(mask.unwrap_or_default(), |sum, node| sum.union(&node.cpus)));
    }
    let read = match (mask, boundary) {
        (None, None) => return Err(text.fault("neither CPUAffinity= nor AllowedCPUs= chooses cpus here")),
        (Some(mask), None) => {
            Read::set(mask).remark("CPUAffinity= is the mask that a service starts with; it may change it.")
        }
        (None, Some(boundary)) => Read::set(boundary).remark("AllowedCPUs= is a hard limit that no process can leave."),
        (Some(mask), Some(boundary)) if mask.is_disjoint(&boundary) => {
            Read::set(boundary).remark("No cpu of CPUAffinity= is in AllowedCPUs=, so only AllowedCPUs= applies.")
        }
        (Some(mask), Some(boundary)) => Read::set(mask.intersection(&boundary))
            .remark("The processes start on the cpus that both CPUAffinity= and AllowedCPUs= name."),
    };
    Ok(read.remarks(settings.memory.into_iter().map(|setting| format!("The memory setting is {setting}."))))
}
