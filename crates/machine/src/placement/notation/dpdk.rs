//! Options of DPDK's environment: `-l` with a list, `-c` with a mask, and `--lcores` with a map.

use super::choices::{NamedReading, agree};
use super::command::find_commands;
use super::keyed::{ValueExtent, find_values};
use super::list::{self, ListSyntax, format_counted};
use super::peeled::peel_value;
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, mask};
use crate::CpuSet;

/// Prints the list, and the map whose first lcore is 0.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, order, .. } = chosen;
    let map: Vec<String> = order.iter().enumerate().map(|(lcore, cpu)| format!("{lcore}@{cpu}")).collect();
    vec![
        NotationLine::new("list", format!("-l {cpus}"))
            .with_remark("The first cpu runs the main lcore, unless --main-lcore names another."),
        NotationLine::new("map", format!("--lcores {}", map.join(",")))
            .into_secondary()
            .with_remark("Also for cpus above 127, the highest number of an lcore by default."),
    ]
}

/// Returns true for an example or application of DPDK.
pub(super) fn is_program(name: &str) -> bool {
    const NAMES: [&str; 9] =
        ["testpmd", "l2fwd", "l3fwd", "helloworld", "pktgen", "basicfwd", "skeleton", "dpdk-testpmd", "ip_pipeline"];
    name.starts_with("dpdk-") && name != "dpdk-devbind.py" || NAMES.contains(&name)
}

/// Returns true if a text without a known program has DPDK's options: `--lcores`, or `-l`/`-c` with `-n` behind it.
pub(super) fn has_options(text: &str) -> bool {
    let has = |option: &str| text.split_whitespace().any(|word| word.trim_start_matches(|c| c != '-') == option);
    let value = peel_value(TextPiece::new(text)).value;
    text.contains("--lcores") || (has("-l") || has("-c")) && has("-n") && value.text.starts_with(['-', '.', '/'])
}

/// Reads options, or a list.
pub(super) fn read_text(text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let mut parts = Vec::new();
    for words in find_commands(text, is_program) {
        parts.push(NamedReading::new("options", read_options(text, &words)?));
    }
    if !parts.is_empty() {
        return agree(text, parts, || no_option(text));
    }
    if let [found, ..] = find_values(text, "--lcores", ValueExtent::Word).as_slice() {
        return read_map(found.value);
    }
    let words = peel_value(text).value.split_words();
    if words.iter().any(|word| word.text.starts_with("-l") || word.text.starts_with("-c")) {
        return read_options(text, &words);
    }
    Ok(NotationReading::from_set(list::read_list(text.without_quotes(), ListSyntax::default())?.into_iter().collect()))
}

fn no_option(text: TextPiece<'_>) -> TextFault {
    text.fault_here("neither -l, -c nor --lcores chooses cpus here").with_hint("-l 0-3 chooses cpus 0-3").into_silent()
}

/// Reads the options before `--`.
fn read_options(text: TextPiece<'_>, words: &[TextPiece<'_>]) -> Result<NotationReading, TextFault> {
    for (place, word) in words.iter().enumerate().take_while(|(_, word)| word.text != "--") {
        let valued = |option: &str| {
            let rest = word.strip_prefix(option)?;
            let attached = rest.strip_prefix("=").or(Some(rest)).filter(|value| !value.is_empty());
            attached.or_else(|| words.get(place + 1).copied()).map(TextPiece::without_quotes)
        };
        if let Some(value) = valued("--lcores") {
            return read_map(value);
        }
        if word.text.starts_with("--") {
            continue;
        }
        if let Some(value) = valued("-l") {
            return read_map(value);
        }
        if let Some(value) = valued("-c") {
            return Ok(mask::read_hexadecimal(value)?.with_remark("-c takes a hexadecimal mask, with or without 0x."));
        }
    }
    Err(no_option(text))
}

/// Reads `0-3`, `0@4,1@5`, `(0-3)@(4-7)`: lcores, each with the cpus that it runs on.
fn read_map(value: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let mut order = Vec::new();
    let mut groups = Vec::new();
    for part in outside_groups(value) {
        let (lcores, cpus) = part.split_once('@').unwrap_or((part, part));
        let read = list::read_list(without_group(cpus), ListSyntax::default())?;
        list::check_count(order.len() + read.len(), part)?;
        if part.text.contains('@') {
            let set: CpuSet = read.iter().copied().collect();
            groups.push(format!("lcore {} on {}", without_group(lcores).text, format_counted(&set)));
        }
        order.extend(read);
    }
    let remark = groups.iter().take(8).cloned().collect::<Vec<_>>().join("; ");
    let more = if groups.len() > 8 { "; …" } else { "" };
    Ok(NotationReading::from_order(order).with_remarks((!groups.is_empty()).then(|| format!("{remark}{more}."))))
}

fn without_group(piece: TextPiece<'_>) -> TextPiece<'_> {
    let piece = piece.trim();
    piece.strip_prefix("(").and_then(|inner| inner.strip_suffix(")")).unwrap_or(piece)
}

/// Splits at commas outside parentheses.
fn outside_groups(value: TextPiece<'_>) -> Vec<TextPiece<'_>> {
    let depth = std::cell::Cell::new(0_i32);
    value.split(|character| {
        depth.set(depth.get() + i32::from(character == '(') - i32::from(character == ')'));
        character == ',' && depth.get() == 0
    })
}
