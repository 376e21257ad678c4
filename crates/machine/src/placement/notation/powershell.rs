//! The ProcessorAffinity of a running process in PowerShell.

use super::choices::{NamedReading, agree};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, mask, windows};
use crate::{CpuSet, Machine};

/// Prints a line for each processor group that has cpus of the set.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let groups = windows::groups_of_machine(chosen.machine);
    let mut remarks = windows::numbering_remarks(chosen, &groups);
    let mut lines = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let value = windows::group_bits(group, chosen.cpus) as i64;
        if value == 0 {
            continue;
        }
        let negative = "The number is a signed 64-bit value, so the highest cpu makes it negative.".to_owned();
        let text = format!("(Get-Process -Name app).ProcessorAffinity = {value}");
        let (label, text) = match groups.len() {
            1 => ("process".to_owned(), text),
            _ => (format!("group {number}"), format!("{text}  # group {number}")),
        };
        lines.push(NotationLine::new(label, text).with_remarks((value < 0).then_some(negative)));
    }
    if groups.len() > 1 {
        remarks.push("The mask belongs to the group of the process, and fails if its threads are in several.".into());
    }
    remarks.push(
        "For one process of that name; for several: Get-Process app | ForEach-Object { $_.ProcessorAffinity = … }."
            .into(),
    );
    match lines.first_mut() {
        Some(first) => first.remarks.extend(remarks),
        None => lines.push(NotationLine { label: "process".into(), text: None, secondary: false, remarks }),
    }
    lines
}

/// The property of a process.
const PROPERTY: &str = "ProcessorAffinity";

/// Returns true for a text with the property, and not with a longer name such as IIS's.
pub(super) fn is_recognized(text: TextPiece<'_>) -> bool {
    text.text_after(PROPERTY).is_some_and(|rest| !rest.text.starts_with(char::is_alphanumeric))
}

/// Reads numbers and assignments to ProcessorAffinity, each optionally with `group N:` before or `# group N` after it.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let groups = windows::groups_of_machine(machine);
    let mut cpus = CpuSet::new();
    let mut remarks = Vec::new();
    let mut processes = Vec::new();
    for line in text.split_lines() {
        let (number, value) = windows::group_of(line, &groups, &mut remarks)?;
        let value = match value.text_after(PROPERTY) {
            Some(rest) => match rest.split_once('=') {
                Some((_, value)) => value,
                // A question, or the heading of its answer.
                None => continue,
            },
            None if value.text.bytes().all(|byte| byte == b'-') => continue,
            None => value,
        };
        // A block of a loop may end behind it.
        let end = value.text.find(['}', ';', '#']).unwrap_or(value.text.len());
        let value = value.sub_piece(0, end).trim();
        // powershell -Command "… = 15"
        let is_closed = value.text.matches('"').count() == 1;
        let value = value.strip_suffix("\"").filter(|_| is_closed).unwrap_or(value);
        let value = strip_casts(value);
        let word = mask::read_integer(value)?;
        let group = &groups[number];
        let all = if group.cpus.len() >= 64 { u64::MAX } else { (1 << group.cpus.len()) - 1 };
        let beyond = word & !all;
        if beyond != 0 && (word as i64) > 0 {
            let what = format!("bit {} is no cpu: this group has {}", 63 - beyond.leading_zeros(), group.cpus.len());
            return Err(value.fault_here(what));
        }
        if beyond != 0 {
            remarks
                .push(format!("A negative number sets all bits up to 63; this group has {} cpus.", group.cpus.len()));
        }
        let found = windows::of_bits(group, word & all).unwrap_or_default();
        // Several groups of one process are named; other lines are of other processes.
        match windows::named_group(line) {
            Some(_) => cpus = cpus.union(&found),
            None => processes.push(NamedReading::new(line.text, NotationReading::from_set(found))),
        }
    }
    if cpus.is_empty() && processes.is_empty() {
        return Err(text.fault_here("expected = and a number").into_silent());
    }
    if !processes.is_empty() {
        cpus = cpus.union(&agree(text, processes, || text.fault_here("no line here names cpus"))?.cpus);
    }
    Ok(windows::finish_reading(cpus, &groups).with_remarks(remarks))
}

/// Removes casts, parentheses and quotation marks: `[IntPtr](255)`.
fn strip_casts(value: TextPiece<'_>) -> TextPiece<'_> {
    let value = value.trim().without_quotes();
    let behind_cast = value.strip_prefix("[").and_then(|inner| inner.split_once(']')).map(|(_, rest)| rest);
    let inside = || value.strip_prefix("(").and_then(|inner| inner.strip_suffix(")"));
    behind_cast.or_else(inside).map_or(value, strip_casts)
}
