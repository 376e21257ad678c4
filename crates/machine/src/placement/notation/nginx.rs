//! `worker_cpu_affinity` of nginx: a binary mask for each worker.

use super::choices::one_for_each;
use super::keyed::{ValueExtent, find_values};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, mask};
use crate::{CpuSet, Machine};

/// The directive.
pub(super) const KEY: &str = "worker_cpu_affinity";

/// Prints a mask for each cpu, in order, and the mask for workers that nginx places on these cpus itself.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, order, .. } = chosen;
    let count = order.len();
    let by_nginx =
        NotationLine::new("placed by nginx", format!("worker_processes {count}; {KEY} auto {};", format_mask(cpus)))
            .with_remark("auto binds the workers to these cpus one by one; belongs to the main context of nginx.conf.");
    if order.iter().map(|cpu| *cpu as usize + 2).sum::<usize>() > LONGEST_MASKS {
        return vec![by_nginx];
    }
    let masks: Vec<String> = order.iter().map(|cpu| format_mask(&CpuSet::from_cpu(*cpu))).collect();
    let text = format!("worker_processes {count}; {KEY} {};", masks.join(" "));
    let one_each = NotationLine::new("one worker per cpu", text)
        .with_remark("One mask for each worker, in this order; belongs to the main context of nginx.conf.");
    vec![one_each, by_nginx.into_secondary()]
}

/// Maximum characters of the masks of single workers; more cpus get one mask for all.
const LONGEST_MASKS: usize = 16 << 10;

fn format_mask(cpus: &CpuSet) -> String {
    let bits = mask::format_binary(cpus).replace(' ', "");
    let short = bits.trim_start_matches('0');
    if short.is_empty() { "0".to_owned() } else { short.to_owned() }
}

/// Reads the directive, or masks alone.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let found = find_values(text, KEY, ValueExtent::Line);
    if let [_, second, ..] = found.as_slice() {
        return Err(second.key.fault_here(format!("{KEY} is given twice")));
    }
    // A directive ends with its semicolon, on whatever line.
    let begun = found.first().map_or(text, |found| found.key.to_end_of(text));
    let value = match found.first() {
        Some(found) if !begun.text.contains(';') => found.value,
        _ => directive_rest(begun),
    };
    let mut words = value.split_words();
    words.iter_mut().for_each(|word| *word = word.strip_suffix(";").unwrap_or(*word));
    words.retain(|word| !word.is_empty());
    if words.first().is_some_and(|word| word.text == "auto") {
        words.remove(0);
        let Some(limit) = words.first() else {
            let all = NotationReading::from_set(machine.online.clone());
            return Ok(all.with_remark("auto binds the workers one by one to all cpus."));
        };
        let read = mask::read_binary(*limit)?;
        return Ok(read.with_remark("auto binds the workers one by one to these cpus."));
    }
    let sets = words.iter().map(|word| Ok(mask::read_binary(*word)?.cpus)).collect::<Result<Vec<_>, TextFault>>()?;
    Ok(one_for_each("worker", &sets).with_remark("Masks of nginx are binary, cpu 0 at the right."))
}

/// Returns what follows the directive, which may begin with `auto`.
fn directive_rest(text: TextPiece<'_>) -> TextPiece<'_> {
    let rest = text.text_after(KEY).unwrap_or(text).trim();
    rest.split_once(';').map_or(rest, |(value, _)| value)
}
