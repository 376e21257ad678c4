//! Rules of Process Lasso, a Windows program that holds every process of a name on chosen cpus.
//!
//! Cpus are a list with semicolons, "0;5-8;13-15;21" ("Bitsum's CPU Affinity Textual Representation",
//! bitsum.com/company-news/bitsums-cpu-affinity-textual-representation). The file prolasso.ini has the rules of all processes in one line,
//! `DefaultAffinitiesEx=`. Each rule has three fields: the process, a mask from old versions that is 0 now, and the list.

use super::choices::{NamedReading, agree};
use super::list::{self, in_order};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, windows};
use crate::Machine;

/// Key of the rules in the section `[ProcessDefaults]` of prolasso.ini.
const KEY: &str = "DefaultAffinitiesEx=";

/// Prints the rule of a program.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let groups = windows::groups_of_machine(chosen.machine);
    let [group] = groups.as_slice() else {
        let why = "A rule's numbers are those of one processor group, and Windows is assumed to make several here.";
        return vec![NotationLine::without_text("rule", why)];
    };
    let bits = windows::group_bits(group, chosen.cpus);
    if bits == 0 {
        return vec![NotationLine::without_text("rule", "None of these cpus is online, so none has a number there.")];
    }
    let there: Vec<u32> = (0..u64::BITS).filter(|bit| bits & 1 << bit != 0).collect();
    let cpus = in_order(&there, ";");
    vec![
        NotationLine::new("rule", format!("app.exe,0,{cpus}"))
            .with_remark("Belongs behind DefaultAffinitiesEx= in prolasso.ini, with a comma after other rules; dialogs take the list.")
            .with_remarks(windows::numbering_remarks(chosen, &groups)),
    ]
}

/// Returns true for a rule, `app.exe,0,0-3`, or the line of rules.
pub(super) fn is_recognized(text: TextPiece<'_>) -> bool {
    text.text.starts_with(KEY) || text.text.contains(".exe,")
}

/// Reads a list of cpus, a rule, or the line of rules, which must agree.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let rules = text.strip_prefix(KEY).unwrap_or(text);
    let mut parts = Vec::new();
    for rule in rules.split(|c| c == ',').chunks(3) {
        let [process, .., cpus] = rule else { return read_cpus(rule[0], machine) };
        parts.push(NamedReading::new(process.text, read_cpus(*cpus, machine)?));
    }
    agree(text, parts, || rules.fault_here("there is no rule"))
}

/// Reads a list with semicolons.
fn read_cpus(cpus: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let mut numbers = Vec::new();
    for part in cpus.split(|c| c == ';') {
        numbers.extend(list::read_list(part, list::ListSyntax::default())?);
        list::check_count(numbers.len(), part)?;
    }
    windows::read_numbers(cpus, numbers, machine)
}
