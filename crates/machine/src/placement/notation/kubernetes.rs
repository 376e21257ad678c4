//! The kubelet's static cpu manager policy, which counts cpus and chooses them itself. Its settings and its state file name cpus.

use super::choices::{NamedReading, agree};
use super::keyed::{ValueExtent, find_values};
use super::list::{self, ListSyntax, format_counted};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading};
use crate::{CpuSet, Machine};

/// Prints the possible settings: the number of cpus, whole cores, and the cpus reserved from containers.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, machine, .. } = chosen;
    let count = cpus.len();
    let choice = "You cannot choose a container's cpus: the kubelet's static policy takes a number and chooses.";
    let resources = format!("resources: {{requests: {{cpu: \"{count}\"}}, limits: {{cpu: \"{count}\"}}}}");
    let mut lines = vec![
        NotationLine::new("container", resources)
            .with_remark(choice)
            .with_remark("A container has exclusive cpus only with cpuManagerPolicy: static, in a Guaranteed pod."),
    ];
    let partial: CpuSet = machine
        .cores
        .iter()
        .filter(|core| !core.cpus.is_disjoint(cpus) && !core.cpus.is_subset(cpus))
        .flat_map(|core| core.cpus.intersection(cpus).iter().collect::<Vec<_>>())
        .collect();
    lines.push(match partial.is_empty() {
        true => NotationLine::new("kubelet, whole cores", "cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}")
            .with_remark("These are whole cores; with this option the kubelet assigns only whole cores."),
        false => {
            let verb = if partial.len() == 1 { "is one thread" } else { "are single threads" };
            let why = format!("full-pcpus-only does not fit: {} {verb} of a core.", format_counted(&partial));
            NotationLine::without_text("kubelet, whole cores", why)
        }
    });
    let others = machine.online.difference(cpus);
    lines.push(match others.is_empty() {
        true => NotationLine::without_text(
            "kubelet, the rest",
            "No cpu is left to reserve, and the static policy needs one.",
        ),
        false => NotationLine::new("kubelet, the rest", format!("reservedSystemCPUs: \"{others}\""))
            .with_remark("Reserves the other cpus for the system, so that exclusive cpus come only from these."),
    });
    lines
}

/// Settings of the kubelet that name its reserved cpus.
const RESERVED: [&str; 3] = ["reservedSystemCPUs", "--reserved-cpus", "reserved-cpus"];

/// Keys by which a text is recognized.
pub(super) const KEYS: [&str; 4] = [RESERVED[0], RESERVED[1], RESERVED[2], "defaultCpuSet"];

/// Reads the reserved cpus, or the kubelet's file `cpu_manager_state`.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let mut parts = Vec::new();
    for found in RESERVED.iter().flat_map(|key| find_values(text, key, ValueExtent::Word)) {
        let cpus: CpuSet = list::read_list(found.value, ListSyntax::default())?.into_iter().collect();
        let others = machine.online.difference(&cpus);
        let remark = format!("The kubelet keeps these for the system; exclusive cpus come from the others: {others}.");
        parts.push(NamedReading::new(found.key.text, NotationReading::from_set(cpus).with_remark(remark)));
    }
    parts.extend(read_state(text)?);
    let hint = "resources: and cpus: are numbers of cpus; reservedSystemCPUs: \"0-1\" names some";
    agree(text, parts, || text.fault_here("no setting of the kubelet here names cpus").with_hint(hint))
}

/// Reads the shared pool, and the exclusive cpus of each container: `{"defaultCpuSet":"0-1","entries":{POD:{"name":"2-3"}}}`.
fn read_state(text: TextPiece<'_>) -> Result<Vec<NamedReading>, TextFault> {
    let read =
        |value| Ok(NotationReading::from_set(list::read_list(value, ListSyntax::default())?.into_iter().collect()));
    let mut parts = Vec::new();
    for found in find_values(text, "defaultCpuSet", ValueExtent::Word) {
        parts.push(NamedReading::new("shared pool", read(found.value)?));
    }
    let Some(entries) = text.text_after("\"entries\"") else { return Ok(parts) };
    let entries = entries.split(|c| matches!(c, '}' | ',' | '{'));
    for entry in entries.into_iter().map(TextPiece::trim).filter(|entry| !entry.text.starts_with("\"checksum\"")) {
        let Some((name, value)) = entry.split_once(':') else { continue };
        let (name, value) = (name.trim().without_quotes(), value.trim());
        // A list with a comma: its rest is a piece of its own.
        let value =
            value.strip_prefix("\"").and_then(|begin| begin.to_end_of(text).split_once('"')).map(|(value, _)| value);
        if let Some(value) = value.filter(|value| value.text.starts_with(|c: char| c.is_ascii_digit())) {
            parts.push(NamedReading::new(format!("container {}", name.text), read(value)?));
        }
    }
    Ok(parts)
}
