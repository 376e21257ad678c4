//! `cpu-map` of HAProxy: which cpus its processes and threads run on.

use super::choices::one_for_each;
use super::list::{self, ListSyntax};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading};
use crate::CpuSet;

/// The keyword.
pub(super) const KEY: &str = "cpu-map";

/// Prints a map of all threads, one cpu each, and one in which they share all cpus.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, order, .. } = chosen;
    let (count, numbers) = (order.len(), list::in_order(order, " "));
    vec![
        NotationLine::new("one thread per cpu", format!("{KEY} auto:1/1-{count} {numbers}")).with_remark(format!(
            "For the section global, with nbthread {count}: thread 1 runs on the first, and so on."
        )),
        NotationLine::new("shared", format!("{KEY} 1/all {cpus}"))
            .into_secondary()
            .with_remark("Every thread of the first group may run on each of these."),
    ]
}

/// Returns true for a text with the keyword; behind `=` it belongs to another program.
pub(super) fn is_recognized(text: TextPiece<'_>) -> bool {
    text.text_after(KEY).is_some_and(|rest| !rest.text.starts_with('='))
}

/// Reads lines with `cpu-map`, one set for each.
pub(super) fn read_text(text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let mut sets: Vec<CpuSet> = Vec::new();
    let mut order = Vec::new();
    let mut described = Vec::new();
    for line in text.split_lines() {
        let Some(rest) = line.text_after(KEY) else { continue };
        let words = rest.split_words();
        let Some((threads, lists)) = words.split_first() else {
            return Err(line.fault_here("expected threads and cpus"));
        };
        let mut cpus = Vec::new();
        for list in lists {
            cpus.extend(list::read_list(*list, ListSyntax::default())?);
        }
        if cpus.is_empty() {
            return Err(threads.fault_here("no cpus follow the threads").with_hint("cpu-map 1/all 0-3"));
        }
        let each = if threads.text.starts_with("auto:") { " in turn" } else { "" };
        sets.push(cpus.iter().copied().collect());
        described.push(format!("{}: {}{each}", threads.text.trim_start_matches("auto:"), list::in_order(&cpus, ",")));
        order.extend(cpus);
    }
    if sets.is_empty() {
        let cpus = list::read_list(text.without_quotes(), ListSyntax { spaces: true, ..ListSyntax::default() })?;
        return Ok(NotationReading::from_order(cpus));
    }
    let shown = described.iter().take(8).cloned().collect::<Vec<_>>().join("; ");
    let more = if described.len() > 8 { "; …" } else { "" };
    let read = NotationReading { order: NotationReading::from_order(order).order, ..one_for_each("line", &sets) };
    Ok(NotationReading { remarks: vec![format!("Processes and threads: {shown}{more}.")], ..read })
}
