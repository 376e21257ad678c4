//! Several readings of one text: one answer if they agree, otherwise a question with the command of each.

use super::text::{TextFault, TextPiece};
use super::{NotationChoice, NotationReading, list};
use crate::{CpuSet, suggested_command};

/// Readings that are named in a question.
const MOST_NAMED: usize = 8;

/// A reading of a part of a text.
#[derive(Clone, Debug)]
pub(super) struct NamedReading {
    /// The part: "worker 0", "NUMA node 1", "IRQBALANCE_BANNED_CPUS".
    pub name: String,
    pub reading: NotationReading,
}

impl NamedReading {
    pub fn new(name: impl Into<String>, reading: NotationReading) -> Self {
        Self { name: name.into(), reading }
    }

    fn describe(&self) -> String {
        format!("{}: {}", self.name, list::format_counted(&self.reading.cpus))
    }

    fn offer(&self) -> NotationChoice {
        NotationChoice { meaning: self.describe(), command: suggested_command::place_cpus(&self.reading.cpus) }
    }
}

/// Returns the reading that all parts share.
///
/// # Errors
/// If they differ: a question that names them, and all of them together. If there is none, `nothing`.
pub(super) fn agree(
    text: TextPiece<'_>,
    parts: Vec<NamedReading>,
    nothing: impl FnOnce() -> TextFault,
) -> Result<NotationReading, TextFault> {
    let mut different: Vec<NamedReading> = Vec::new();
    for part in parts {
        if !different.iter().any(|known| known.reading.cpus == part.reading.cpus) {
            different.push(part);
        }
    }
    let parts = match <[NamedReading; 1]>::try_from(different) {
        Ok([only]) => return Ok(only.reading),
        Err(parts) if parts.is_empty() => return Err(nothing()),
        Err(parts) => parts,
    };
    let shown: Vec<String> = parts.iter().take(MOST_NAMED).map(NamedReading::describe).collect();
    let more = parts.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let what = format!("this names different cpus, and one of these may be meant: {}{more}", shown.join("; "));
    let all = parts.iter().fold(CpuSet::new(), |all, part| all.union(&part.reading.cpus));
    let mut choices: Vec<NotationChoice> = parts.iter().take(MOST_NAMED).map(NamedReading::offer).collect();
    if !parts.iter().any(|part| part.reading.cpus == all) {
        choices.push(NamedReading::new("all together", NotationReading::from_set(all)).offer());
    }
    Err(text.fault_here(what).with_choices(choices))
}

/// Returns the readings of the parts that name cpus.
///
/// # Errors
/// The first fault; that of a part without cpus only if no other part has some.
pub(super) fn keep_speaking(
    readings: impl IntoIterator<Item = Result<NamedReading, TextFault>>,
) -> Result<Vec<NamedReading>, TextFault> {
    let (mut parts, mut silent) = (Vec::new(), None);
    for reading in readings {
        match reading {
            Ok(part) => parts.push(part),
            Err(fault) if fault.is_silent => silent = silent.or(Some(fault)),
            Err(fault) => return Err(fault),
        }
    }
    match silent {
        Some(fault) if parts.is_empty() => Err(fault),
        _ => Ok(parts),
    }
}

/// Returns the union of sets for one process or thread each, with a remark that lists them.
pub(super) fn one_for_each(who: &str, sets: &[CpuSet]) -> NotationReading {
    let read = NotationReading::from_order(sets.iter().flat_map(CpuSet::iter));
    if sets.len() < 2 {
        return read;
    }
    let shown = sets.iter().enumerate().take(MOST_NAMED).map(|(index, cpus)| format!("{who} {index}: {cpus}"));
    let more = if sets.len() > MOST_NAMED { format!(", … ({} in all)", sets.len()) } else { String::new() };
    read.with_remark(format!("One set for each {who}: {}{more}.", shown.collect::<Vec<_>>().join(", ")))
}
