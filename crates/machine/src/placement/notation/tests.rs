//! Every notation, printed and read: lines written by hand, random sets, and mistakes.

mod machines;
mod mistakes;
mod printing;
mod reading;
mod reading_topology;
mod round_trip;
mod wild;

use super::{Notation, NotationError, NotationLine, NotationReading};
use crate::{CpuSet, Machine};

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

/// The lines of a set, in rising order of its cpus.
fn lines(notation: Notation, list: &str, machine: &Machine) -> Vec<NotationLine> {
    let cpus = set(list);
    super::print_notation(notation, &cpus, &cpus.iter().collect::<Vec<_>>(), machine)
}

/// The lines as a user sees them: text, then remarks behind it.
fn shown(lines: &[NotationLine]) -> String {
    let line = |line: &NotationLine| {
        let remarks = line.remarks.iter().map(|remark| format!("\n    {remark}")).collect::<String>();
        format!("{}: {}{remarks}", line.label, line.text.as_deref().unwrap_or("-"))
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn read(notation: Notation, text: &str, machine: &Machine) -> NotationReading {
    super::read_notation(notation, text, machine).unwrap_or_else(|error| panic!("{notation} {text}: {error:?}"))
}

/// The cpus as a list, in the order of the text.
fn in_order(notation: Notation, text: &str, machine: &Machine) -> String {
    super::list::in_order(&read(notation, text, machine).order, ",")
}

/// The cpus, and the remarks behind them.
fn explained(notation: Notation, text: &str, machine: &Machine) -> String {
    let read = read(notation, text, machine);
    let remarks = read.remarks.iter().map(|remark| format!("\n    {remark}")).collect::<String>();
    format!("{}{remarks}", read.cpus)
}

fn mistake(notation: Notation, text: &str, machine: &Machine) -> NotationError {
    super::read_notation(notation, text, machine).expect_err(text)
}
