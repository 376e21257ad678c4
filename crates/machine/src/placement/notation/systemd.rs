//! Settings of systemd units.

use super::choices::{NamedReading, agree};
use super::list::{self, ListSyntax};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, nodes};
use crate::{CpuSet, Machine};

/// Prints the boundary of the cgroup and the starting mask.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, machine, .. } = chosen;
    let boundary = "A hard limit of the cgroup, for services, scopes and slices; needs cgroup v2 with cpuset.";
    let mask = "The mask that a service starts with; its processes may change it, and slices do not support it.";
    let mut lines = vec![
        NotationLine::new("boundary", format!("AllowedCPUs={cpus}")).with_remark(boundary),
        NotationLine::new("starting mask", format!("CPUAffinity={cpus}")).with_remark(mask),
    ];
    let memory = nodes::with_memory(cpus, machine);
    if machine.nodes.len() > 1 && !memory.is_empty() {
        let line = NotationLine::new("memory", format!("AllowedMemoryNodes={memory}")).into_secondary();
        lines.push(line.with_remark("Only if memory must come from there: the nodes nearest to these cpus."));
    }
    if cpus.highest() >= Some(SYSTEMD_CPUS) {
        lines = lines.into_iter().map(|line| line.with_remark("systemd supports cpus up to 8191.")).collect();
    }
    lines
}

/// Limit of systemd.
const SYSTEMD_CPUS: u32 = 8192;

/// Settings by which a text is recognized.
pub(super) const KEYS: [&str; 5] = ["CPUAffinity", "AllowedCPUs", "StartupAllowedCPUs", "EffectiveCPUs", "NUMAMask"];

/// Settings already read; `None` if not set, or reset by an empty value.
#[derive(Default)]
struct SystemdSettings {
    mask: Option<CpuSet>,
    boundary: Option<CpuSet>,
    /// Limit while the system starts up and shuts down.
    startup: Option<CpuSet>,
    /// Limit in force, with those of all slices above; only `systemctl show` prints it.
    effective: Option<CpuSet>,
    nodes: Option<CpuSet>,
    mask_is_numa: bool,
    memory: Vec<String>,
}

/// Reads a value, lines of a unit file, or a command line with `-p AllowedCPUs=0-3`. Lines of several files, as grep prints them, are read
/// file by file.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    if !text.text.contains('=') {
        return Ok(NotationReading::from_set(read_values(text)?.into_iter().collect()));
    }
    let mut files: Vec<(&str, SystemdSettings)> = Vec::new();
    for line in text.split_lines().into_iter().filter(|line| !line.text.starts_with(['#', ';', '['])) {
        let (file, line) = split_file(line);
        if files.last().is_none_or(|(last, _)| *last != file) {
            files.push((file, SystemdSettings::default()));
        }
        let Some((_, settings)) = files.last_mut() else { continue };
        match line.split_once('=') {
            Some((key, value)) if !key.trim().text.contains(char::is_whitespace) && !key.text.starts_with('-') => {
                read_setting(key.trim(), value.trim(), settings)?;
            }
            _ => command_line(line, settings)?,
        }
    }
    let mut parts = Vec::new();
    for (file, settings) in files {
        parts.push(NamedReading::new(file, finish_reading(text, settings, machine)?));
    }
    agree(text, parts, || nothing_chosen(text))
}

fn nothing_chosen(text: TextPiece<'_>) -> TextFault {
    text.fault_here("neither CPUAffinity= nor AllowedCPUs= chooses cpus here")
}

/// Splits off the file, and the number of the line, that grep prints before a setting.
fn split_file(line: TextPiece<'_>) -> (&str, TextPiece<'_>) {
    let key_end = line.text.find('=').unwrap_or(0);
    match line.text[..key_end].rfind(':') {
        Some(place) if line.text[..place].contains(['/', '.']) => {
            let file = line.text.split(':').next().unwrap_or_default();
            (file, line.sub_piece(place + 1, line.text.len()))
        }
        _ => ("", line),
    }
}

/// Reads the properties on a command line of systemd-run or systemctl set-property.
fn command_line(line: TextPiece<'_>, settings: &mut SystemdSettings) -> Result<(), TextFault> {
    for word in line.split_words() {
        let word = word.without_quotes();
        let word = word.strip_prefix("--property=").or_else(|| word.strip_prefix("-p")).unwrap_or(word);
        if let Some((key, value)) = word.without_quotes().split_once('=') {
            read_setting(key, value.without_quotes(), settings)?;
        }
    }
    Ok(())
}

fn read_setting(key: TextPiece<'_>, value: TextPiece<'_>, settings: &mut SystemdSettings) -> Result<(), TextFault> {
    match key.text {
        "CPUAffinity" if value.text == "numa" => settings.mask_is_numa = true,
        "CPUAffinity" => add_to_setting(&mut settings.mask, value)?,
        "AllowedCPUs" => add_to_setting(&mut settings.boundary, value)?,
        "StartupAllowedCPUs" => add_to_setting(&mut settings.startup, value)?,
        "EffectiveCPUs" => add_to_setting(&mut settings.effective, value)?,
        "NUMAMask" if value.text != "all" => settings.nodes = Some(read_values(value)?.into_iter().collect()),
        "NUMAPolicy" | "NUMAMask" | "AllowedMemoryNodes" | "StartupAllowedMemoryNodes" => {
            settings.memory.push(format!("{}={}", key.text, value.text));
        }
        _ => {}
    }
    Ok(())
}

/// Adds a value to a setting: lines add up, and an empty one resets it.
fn add_to_setting(setting: &mut Option<CpuSet>, value: TextPiece<'_>) -> Result<(), TextFault> {
    if value.is_empty() {
        *setting = None;
    } else {
        setting.get_or_insert_default().extend(read_values(value)?);
    }
    Ok(())
}

fn read_values(text: TextPiece<'_>) -> Result<Vec<u32>, TextFault> {
    list::read_list(text.without_quotes(), ListSyntax { spaces: true, ..ListSyntax::default() })
}

fn finish_reading(
    text: TextPiece<'_>,
    settings: SystemdSettings,
    machine: &Machine,
) -> Result<NotationReading, TextFault> {
    let limit = settings.effective.or(settings.boundary);
    let starting = settings.startup.as_ref().map(|cpus| {
        let after = limit.as_ref().map_or_else(|| "all cpus are allowed".to_owned(), |cpus| format!("cpus {cpus} are"));
        format!("StartupAllowedCPUs={cpus} holds only while the system starts up and shuts down; otherwise {after}.")
    });
    let (mut mask, boundary) = (settings.mask, limit);
    if mask.is_none() && boundary.is_none() && !settings.mask_is_numa {
        let only = settings.startup.map(NotationReading::from_set);
        return Ok(only.ok_or_else(|| nothing_chosen(text))?.with_remarks(starting));
    }
    if settings.mask_is_numa {
        let missing = || text.fault_here("CPUAffinity=numa uses the cpus of NUMAMask=, which is missing");
        let numbers = settings.nodes.ok_or_else(missing)?;
        let nodes = machine.nodes.iter().filter(|node| numbers.contains(node.number));
        mask = Some(nodes.fold(mask.unwrap_or_default(), |sum, node| sum.union(&node.cpus)));
    }
    let read = match (mask, boundary) {
        (None, None) => return Err(nothing_chosen(text)),
        (Some(mask), None) => NotationReading::from_set(mask)
            .with_remark("CPUAffinity= is the mask that a service starts with; it may change it."),
        (None, Some(boundary)) => {
            NotationReading::from_set(boundary).with_remark("AllowedCPUs= is a hard limit that no process can leave.")
        }
        (Some(mask), Some(boundary)) if mask.is_disjoint(&boundary) => NotationReading::from_set(boundary)
            .with_remark("No cpu of CPUAffinity= is in AllowedCPUs=, so only AllowedCPUs= applies."),
        (Some(mask), Some(boundary)) => NotationReading::from_set(mask.intersection(&boundary))
            .with_remark("The processes start on the cpus that both CPUAffinity= and AllowedCPUs= name."),
    };
    Ok(read
        .with_remarks(starting)
        .with_remarks(settings.memory.into_iter().map(|setting| format!("The memory setting is {setting}."))))
}
