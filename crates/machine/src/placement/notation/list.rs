//! Cpu lists as tools write and read them, in their written order.

use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading};
pub(super) use crate::placement::order::{format_counted, in_order};
use crate::{CpuSet, Machine};

/// Syntax of a tool's lists, beyond numbers and ascending ranges.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ListSyntax {
    /// White space separates like a comma.
    pub spaces: bool,
    /// `0-10:2` is every second cpu.
    pub stride: bool,
    /// `0-31:2/8` is the first two of every eight cpus.
    pub group: bool,
    /// `N` is this cpu, and `all` is `0-N`.
    pub last: Option<u32>,
    /// `3-0` counts down.
    pub descending: bool,
    /// `^3` removes cpu 3.
    pub exclusion: bool,
    /// `4..8` is `4-8`.
    pub dots: bool,
}

/// Returns the rules of the kernel's own lists, as in files of /sys and on the kernel command line.
pub(super) fn kernel_syntax(last: Option<u32>) -> ListSyntax {
    ListSyntax { stride: true, group: true, last, ..ListSyntax::default() }
}

/// Prints the list.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    vec![NotationLine::new("list", chosen.cpus.to_string())]
}

/// Reads a list as the kernel takes it.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    Ok(NotationReading::from_order(read_list(text, kernel_syntax(machine.possible.highest()))?))
}

/// Maximum cpus read from one text, so that a hostile text cannot take all memory.
const MOST: usize = 1 << 20;

/// Checks that a text names at most [`MOST`] cpus, repetitions included; the fault is at `piece`.
pub(super) fn check_count(count: usize, piece: TextPiece<'_>) -> Result<(), TextFault> {
    if count <= MOST {
        return Ok(());
    }
    Err(piece.fault_here("with this the text names more than a million cpus, with many repetitions"))
}

/// Reads a list; cpus named twice appear twice.
pub(super) fn read_list(list: TextPiece<'_>, rules: ListSyntax) -> Result<Vec<u32>, TextFault> {
    let list = list.trim();
    if list.is_empty() {
        return Err(list.fault_here("expected a list of cpus such as 0-3,8, found nothing"));
    }
    let mut cpus = Vec::new();
    for item in list.split(|c| c == ',' || rules.spaces && c.is_whitespace()) {
        let item = item.trim();
        if item.is_empty() && rules.spaces {
            continue;
        }
        match item.strip_prefix("^") {
            Some(excluded) if rules.exclusion => {
                let excluded: CpuSet = read_range(excluded, rules)?.into_iter().collect();
                cpus.retain(|cpu| !excluded.contains(*cpu));
            }
            _ => cpus.extend(read_range(item, rules)?),
        }
        check_count(cpus.len(), item)?;
    }
    Ok(cpus)
}

/// Reads a number, a range, or a range with a stride.
fn read_range(item: TextPiece<'_>, rules: ListSyntax) -> Result<Vec<u32>, TextFault> {
    if let (Some(last), "all") = (rules.last, item.text) {
        return Ok((0..=last).collect());
    }
    let (bounds, stride) = match item.split_once(':') {
        Some((bounds, stride)) if rules.stride => (bounds, Some(stride)),
        _ => (item, None),
    };
    let dots = bounds.text.find("..").filter(|_| rules.dots);
    let around = |at| (bounds.sub_piece(0, at), bounds.sub_piece(at + 2, bounds.text.len()));
    let (first, last) = match dots.map(around).or_else(|| bounds.split_once('-')) {
        Some((first, last)) => (read_number(first, rules)?, read_number(last, rules)?),
        None => {
            let only = read_number(bounds, rules)?;
            if stride.is_some() {
                return Err(item.fault_here("a stride belongs to a range, such as 0-6:2"));
            }
            (only, only)
        }
    };
    if last < first && rules.descending {
        return Ok((last..=first).rev().collect());
    }
    if last < first {
        return Err(item.fault_here(format!("the range {first}-{last} ends before it begins")));
    }
    let (used, group) = match stride {
        Some(stride) => read_stride(stride, rules)?,
        None => (1, 1),
    };
    Ok((first..=last).filter(|cpu| (cpu - first) % group < used).collect())
}

/// Reads a stride: the number of cpus used, and the length of a group.
fn read_stride(stride: TextPiece<'_>, rules: ListSyntax) -> Result<(u32, u32), TextFault> {
    let (used, group) = match stride.split_once('/') {
        Some((used, group)) if rules.group => {
            (used.read_number("a number of cpus")?, group.read_number("a number of cpus")?)
        }
        _ => (1, stride.read_number("a stride")?),
    };
    if used == 0 || used > group {
        return Err(stride.fault_here("a stride is at least 1, and takes at most the cpus of its group"));
    }
    Ok((used, group))
}

fn read_number(piece: TextPiece<'_>, rules: ListSyntax) -> Result<u32, TextFault> {
    match rules.last {
        Some(last) if piece.text == "N" => Ok(last),
        _ => piece.read_number("a cpu number or a range such as 0-3"),
    }
}

/// Formats nodes with their noun: "node 0" or "nodes 0,3".
pub(super) fn counted_nodes(numbers: &CpuSet) -> String {
    if numbers.len() == 1 { format!("node {numbers}") } else { format!("nodes {numbers}") }
}
