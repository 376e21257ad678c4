//! Launch options of Steam: a command with `%command%` in place of the game.

use super::choices::{NamedReading, agree};
use super::command::has_command;
use super::keyed::{ValueExtent, find_values};
use super::list::{self, ListSyntax};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, numactl, taskset};
use crate::Machine;

/// Placeholder of the game.
pub(super) const MARK: &str = "%command%";
/// Wine's variable, `8:0,1,2,3,4,5,6,7`: how many cpus a game sees, and which they are.
pub(super) const TOPOLOGY: &str = "WINE_CPU_TOPOLOGY";

/// Prints launch options with taskset, and for Proton.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, order, .. } = chosen;
    let topology = format!("{TOPOLOGY}={}:{} {MARK}", order.len(), list::in_order(order, ","));
    vec![
        NotationLine::new("launch options", format!("taskset -c {cpus} {MARK}")),
        NotationLine::new("Proton", topology)
            .into_secondary()
            .with_remark("Wine also tells the game that there are only these; taskset alone does not."),
    ]
}

/// Reads launch options.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let mut parts = Vec::new();
    for found in find_values(text, TOPOLOGY, ValueExtent::Word) {
        let Some((count, cpus)) = found.value.split_once(':') else {
            return Err(found
                .value
                .fault_here("this is a number of cpus, and names none")
                .with_hint("4:0,1,2,3 names four"));
        };
        let cpus = list::read_list(cpus, ListSyntax::default())?;
        if count.read_number("a number of cpus")? as usize != cpus.len() {
            return Err(found.value.fault_here(format!("{} cpus follow the number {}", cpus.len(), count.text)));
        }
        parts.push(NamedReading::new(TOPOLOGY, NotationReading::from_order(cpus)));
    }
    if has_command(text, taskset::is_program) {
        parts.push(NamedReading::new("taskset", taskset::read_text(text)?));
    }
    if has_command(text, numactl::is_program) {
        parts.push(NamedReading::new("numactl", numactl::read_text(text, machine)?));
    }
    agree(text, parts, || text.fault_here("nothing before the game chooses cpus").with_hint("taskset -c 0-7 %command%"))
}
