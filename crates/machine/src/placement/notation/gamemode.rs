//! `pin_cores` and `park_cores` in the section `[cpu]` of gamemode.ini.

use super::choices::{NamedReading, agree};
use super::keyed::{ValueExtent, find_values};
use super::list::{self, ListSyntax, format_counted};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading};
use crate::{CpuSet, Machine};

/// Key of the cpus that a game gets.
pub(super) const PIN: &str = "pin_cores";
/// Key of the cpus that are switched off for a game.
pub(super) const PARK: &str = "park_cores";

/// Prints the setting that pins.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    // A single 0 or 1 would mean no and yes.
    let cpus = match chosen.cpus.iter().collect::<Vec<_>>().as_slice() {
        [only] => format!("{only}-{only}"),
        _ => chosen.cpus.to_string(),
    };
    vec![
        NotationLine::new("pin", format!("{PIN}={cpus}"))
            .with_remark("Belongs into the section [cpu] of gamemode.ini."),
    ]
}

/// Reads settings, or a list.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let mut parts = Vec::new();
    let mut refused = None;
    for key in [PIN, PARK] {
        for found in find_values(text, key, ValueExtent::Word) {
            if matches!(found.value.text, "yes" | "no" | "true" | "false" | "0" | "1") {
                refused =
                    Some(found.value.fault_here(format!("{key}={} is yes or no, and names no cpus", found.value.text)));
                continue;
            }
            let cpus: CpuSet = list::read_list(found.value, ListSyntax::default())?.into_iter().collect();
            let rest = machine.online.difference(&cpus);
            let remark = match key == PARK {
                true => format!("{PARK} switches these off for the game, which runs on {}.", format_counted(&rest)),
                false => format!("{PIN} is where the game runs."),
            };
            parts.push(NamedReading::new(key, NotationReading::from_set(cpus).with_remark(remark)));
        }
    }
    match refused {
        Some(fault) if parts.is_empty() => Err(fault.with_hint("pin_cores=0-7 names cpus").into_silent()),
        _ if parts.is_empty() => {
            let cpus = list::read_list(text.without_quotes(), ListSyntax::default())?;
            Ok(NotationReading::from_set(cpus.into_iter().collect()))
        }
        _ => agree(text, parts, || text.fault_here("no setting here names cpus")),
    }
}
