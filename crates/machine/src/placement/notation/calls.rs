//! Calls that pin a process or thread, in source code and in the output of strace.

use super::choices::NamedReading;
use super::list::{self, ListSyntax};
use super::setting_value::SettingValue;
use super::text::{TextFault, TextPiece};
use super::{NotationReading, windows};
use crate::Machine;

/// Place and form of the cpus in a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallArgument {
    /// A set or list in brackets, or Python's `range`.
    Brackets,
    /// The first argument, a cpu; repeated calls add cpus.
    First,
    /// The last argument, a mask with Windows' numbering.
    LastMask,
}

/// Functions with the place of their cpus.
const CALLS: [(&str, CallArgument); 12] = [
    ("sched_setaffinity(", CallArgument::Brackets),
    ("sched_getaffinity(", CallArgument::Brackets),
    ("cpu_affinity(", CallArgument::Brackets),
    ("set_affinity(", CallArgument::Brackets),
    ("CPU_SET(", CallArgument::First),
    ("CPU_SET_S(", CallArgument::First),
    ("AffinityLock.acquireLock(", CallArgument::First),
    ("numa_run_on_node_cpu(", CallArgument::First),
    ("SetProcessAffinityMask(", CallArgument::LastMask),
    ("SetThreadAffinityMask(", CallArgument::LastMask),
    ("setThreadAffinityMask(", CallArgument::LastMask),
    ("setProcessAffinityMask(", CallArgument::LastMask),
];

/// Returns true if a text has a call with its cpus written out.
pub(super) fn is_recognized(text: TextPiece<'_>) -> bool {
    !find_arguments(text).is_empty()
}

/// Reads the calls of a text.
pub(super) fn read_calls(text: TextPiece<'_>, machine: &Machine) -> Result<Vec<NamedReading>, TextFault> {
    let mut parts = Vec::new();
    let mut added = Vec::new();
    let listed = ListSyntax { spaces: true, ..ListSyntax::default() };
    for (name, form, value) in find_arguments(text) {
        let name = name.trim_end_matches('(');
        match form {
            CallArgument::First => added.extend(list::read_list(value, listed)?),
            CallArgument::Brackets if value.text.contains("..") => return Err(value.fault_here("this set is cut off")),
            CallArgument::Brackets => {
                let read = NotationReading::from_order(read_elements(value)?);
                parts.push(NamedReading::new(name, read));
            }
            CallArgument::LastMask if value.text.contains("<<") => {
                parts.push(NamedReading::new(name, windows::read_numbers(value, read_shifts(value)?, machine)?));
            }
            CallArgument::LastMask => {
                parts.push(NamedReading::new(name, SettingValue::WindowsMask.read(value, machine)?));
            }
        }
    }
    if !added.is_empty() {
        let read = NotationReading::from_order(added).with_remark("The cpus of all these calls together.");
        parts.push(NamedReading::new("calls", read));
    }
    Ok(parts)
}

/// Reads the bits of `1 << 3`, `1ULL << 2 | 1ULL << 3`.
fn read_shifts(value: TextPiece<'_>) -> Result<Vec<u32>, TextFault> {
    let bit = |part: TextPiece<'_>| {
        let (one, bit) = part.split_once('<').ok_or_else(|| part.fault_here("expected a bit such as 1 << 3"))?;
        let is_one = one.text.trim().trim_end_matches(['u', 'U', 'l', 'L']) == "1";
        let bit = bit.strip_prefix("<").filter(|_| is_one);
        bit.ok_or_else(|| part.fault_here("expected a bit such as 1 << 3"))?.trim().read_number("a bit of the mask")
    };
    value.split(|c| c == '|').into_iter().map(|part| bit(part.trim())).collect()
}

/// Returns the calls with cpus written out as numbers: the function, the form, and the cpus.
fn find_arguments(text: TextPiece<'_>) -> Vec<(&'static str, CallArgument, TextPiece<'_>)> {
    let mut found = Vec::new();
    for (name, form) in CALLS {
        for (place, _) in text.text.match_indices(name) {
            let is_longer = text.text[..place].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let rest = text.sub_piece(place + name.len(), text.text.len());
            if let Some(value) = find_argument(rest, form).filter(|_| !is_longer) {
                found.push((name, form, value));
            }
        }
    }
    found
}

/// Returns the cpus of a call from the text behind its parenthesis.
fn find_argument(rest: TextPiece<'_>, form: CallArgument) -> Option<TextPiece<'_>> {
    let rest = rest.split_lines().first().copied()?;
    let is_number = |piece: &TextPiece<'_>| piece.text.starts_with(|c: char| c.is_ascii_digit());
    let end = find_end(rest.text);
    let arguments = rest.sub_piece(0, end);
    match form {
        CallArgument::First => arguments.split(|c| c == ',').first().map(|first| first.trim()).filter(is_number),
        CallArgument::LastMask => arguments.split(|c| c == ',').last().map(|last| last.trim()).filter(is_number),
        CallArgument::Brackets => {
            if let Some(range) = arguments.text_after("range(") {
                let begin = arguments.text.len() - range.text.len() - "range(".len();
                return Some(arguments.sub_piece(begin, begin + "range(".len() + find_end(range.text)));
            }
            let begin = arguments.text.find(['[', '{'])?;
            let inner = arguments.sub_piece(begin + 1, end);
            let inner = inner.sub_piece(0, inner.text.find([']', '}']).unwrap_or(inner.text.len())).trim();
            is_number(&inner).then_some(inner)
        }
    }
}

/// Returns the place of the parenthesis that closes a call.
fn find_end(text: &str) -> usize {
    let mut depth = 0_usize;
    for (place, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return place,
            ')' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Reads `0, 1, 2`, `0 1 2`, or `range(2, 6)`.
fn read_elements(value: TextPiece<'_>) -> Result<Vec<u32>, TextFault> {
    let Some(range) = value.strip_prefix("range(") else {
        let spaced = ListSyntax { spaces: true, ..ListSyntax::default() };
        return list::read_list(value, spaced);
    };
    let bounds = range.split(|c| c == ',').into_iter().map(|bound| bound.read_number("a bound of the range"));
    let cpus: Vec<u32> = match bounds.collect::<Result<Vec<u32>, TextFault>>()?.as_slice() {
        [end] => (0..*end).collect(),
        [begin, end] => (*begin..*end).collect(),
        [begin, end, step] if *step > 0 => (*begin..*end).step_by(*step as usize).collect(),
        _ => return Err(range.fault_here("expected range(END), range(BEGIN, END) or range(BEGIN, END, STEP)")),
    };
    list::check_count(cpus.len(), range)?;
    Ok(cpus)
}
