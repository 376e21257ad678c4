//! Locations of hwloc's tools, as hwloc(7) describes them.

mod object;

use super::choices::{NamedReading, agree, keep_speaking};
use super::command::find_commands;
use super::text::{TextFault, TextPiece};
use super::{NotationLine, NotationReading, mask, nodes};
use crate::suggested_command;
use crate::{CpuSet, Machine};
use object::{HwlocOptions, find_objects};

/// Prints the prefix with a mask. hwloc takes masks by the system's numbers, whatever the numbering of objects.
pub(super) fn print_lines(cpus: &CpuSet) -> Vec<NotationLine> {
    let text = format!("hwloc-bind 0x{} --", mask::format_grouped(cpus).replace(',', ",0x"));
    vec![NotationLine::new("mask", text).with_remark("Masks use the system's numbers, pu:0-3 hwloc's own.")]
}

/// Options that do not select cpus: without a value, and with one.
const PLAIN: [&str; 14] = [
    "--strict",
    "--taskset",
    "-f",
    "--force",
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--po",
    "--lo",
    "--no",
    "--nodeset-output",
    "--physical-output",
    "--logical-output",
];
const WITH_VALUE: [&str; 8] =
    ["--pid", "--tid", "--mempolicy", "--best-memattr", "--intersect", "-I", "--number-of", "-N"];

/// Returns true for a program that takes locations.
pub(super) fn is_program(name: &str) -> bool {
    matches!(name, "hwloc-bind" | "hwloc-calc")
}

/// Reads locations, or command lines of hwloc-bind or hwloc-calc.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let read = |words: Vec<TextPiece<'_>>| {
        let name = words.first().map_or("", |word| word.text);
        Ok(NamedReading::new(format!("hwloc {name}"), read_locations(text, words, true, machine)?))
    };
    let parts = keep_speaking(find_commands(text, is_program).into_iter().map(read))?;
    if parts.is_empty() {
        return read_locations(text, text.split_words(), false, machine);
    }
    agree(text, parts, || text.fault_here("no location is named here"))
}

/// Reads the arguments of one command. As hwloc-bind does, a word that is no location begins the program after `--` or without it.
fn read_locations<'a>(
    text: TextPiece<'a>,
    words: Vec<TextPiece<'a>>,
    is_command: bool,
    machine: &Machine,
) -> Result<NotationReading, TextFault> {
    let mut options =
        HwlocOptions { physical: false, single: false, only_thread: None, disallowed: false, nodeset: false };
    let mut locations = Vec::new();
    let mut memory = Vec::new();
    let mut for_memory = false;
    let mut arguments = words.into_iter();
    while let Some(word) = arguments.next() {
        match word.text {
            "--" => break,
            "--membind" => for_memory = true,
            "--cpubind" => for_memory = false,
            "--get" | "--get-last-cpu-location" => return Err(word.fault_here("this line only shows cpus")),
            known if WITH_VALUE.contains(&known) => drop(arguments.next()),
            other if other.starts_with('-') => read_option(word, &mut options)?,
            other if is_command && !is_location(other) => break,
            other if for_memory => memory.push(other),
            _ => locations.push(word),
        }
    }
    if locations.is_empty() {
        let fault = text.fault_here("no location is named here");
        return Err(fault.with_hint("hwloc-bind core:0-3 -- ./app").into_silent());
    }
    let mut cpus = CpuSet::new();
    for location in locations {
        cpus = combine_location(&cpus, location, &options, machine)?;
    }
    Ok(finish_reading(cpus, &options, machine)
        .with_remarks(memory.iter().map(|place| format!("Memory is bound to {place}."))))
}

/// Returns true if a word has the form of a location: with a colon, a mask, or the whole machine.
fn is_location(word: &str) -> bool {
    let bare = word.trim_start_matches(['~', '^', 'x']);
    let is_tuple =
        || bare.split_once(':').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '['));
    matches!(bare, "all" | "root" | "machine")
        || word.starts_with("0x")
        || bare.starts_with("0x")
        || bare.contains('=')
        || is_tuple()
}

fn read_option(word: TextPiece<'_>, options: &mut HwlocOptions) -> Result<(), TextFault> {
    match word.text {
        "-p" | "--physical" | "--pi" | "--physical-input" => options.physical = true,
        "-l" | "--logical" | "--li" | "--logical-input" => options.physical = false,
        "--single" => options.single = true,
        "--disallowed" => options.disallowed = true,
        "-n" | "--nodeset" | "--ni" | "--nodeset-input" => options.nodeset = true,
        "--no-smt" => options.only_thread = Some(0),
        other if other.starts_with("--no-smt=") => {
            let thread = word.text_after("=").unwrap_or(word).read_number("which thread of each core")?;
            options.only_thread = Some(thread as usize);
        }
        other if PLAIN.contains(&other) => {}
        other => return Err(word.fault_here(format!("unknown option: {other}"))),
    }
    Ok(())
}

fn finish_reading(mut cpus: CpuSet, options: &HwlocOptions, machine: &Machine) -> NotationReading {
    if let Some(thread) = options.only_thread {
        let kept = |core: &crate::machine::MachineObject| core.cpus.iter().nth(thread);
        cpus = cpus.intersection(&machine.cores.iter().filter_map(kept).collect());
    }
    if options.single {
        cpus = cpus.lowest().map(CpuSet::from_cpu).unwrap_or_default();
    }
    let logical = format!(
        "hwloc has its own numbering of objects (logical indexes); the cpus here are as {} shows them.",
        suggested_command::topology().quoted_line()
    );
    let physical =
        "-p: objects use the system's numbers, which need not be unique; the first match is taken.".to_owned();
    let confined = "hwloc counts only the cpus that this process may use; --disallowed counts all.".to_owned();
    let is_confined = *options.counted_cpus(machine) != machine.online;
    NotationReading::from_set(cpus)
        .with_remark(if options.physical { physical } else { logical })
        .with_remarks(is_confined.then_some(confined))
}

/// Combines the selected cpus with one more location: union, difference (`~`), intersection (`x`), or symmetric difference (`^`).
fn combine_location(
    so_far: &CpuSet,
    word: TextPiece<'_>,
    options: &HwlocOptions,
    machine: &Machine,
) -> Result<CpuSet, TextFault> {
    if let Some(rest) = word.strip_prefix("~") {
        return Ok(so_far.difference(&read_location(rest, options, machine)?));
    }
    if let Some(rest) = word.strip_prefix("x") {
        return Ok(so_far.intersection(&read_location(rest, options, machine)?));
    }
    if let Some(rest) = word.strip_prefix("^") {
        let other = read_location(rest, options, machine)?;
        return Ok(so_far.union(&other).difference(&so_far.intersection(&other)));
    }
    Ok(so_far.union(&read_location(word, options, machine)?))
}

fn read_location(word: TextPiece<'_>, options: &HwlocOptions, machine: &Machine) -> Result<CpuSet, TextFault> {
    if matches!(word.text, "all" | "root" | "machine" | "machine:0") {
        return Ok(options.counted_cpus(machine).clone());
    }
    let is_mask = word.text.starts_with("0x");
    if is_mask && !options.nodeset {
        return read_bitmap(word, &machine.online);
    }
    if let Some(set) = word.strip_prefix("nodeset=").or(is_mask.then_some(word)) {
        let numbers = read_bitmap(set, &nodes::node_numbers(machine))?;
        let chosen = machine.nodes.iter().filter(|node| numbers.contains(node.number));
        return Ok(chosen.fold(CpuSet::new(), |sum, node| sum.union(&node.cpus)));
    }
    if word.text.contains('=') {
        return Err(word.fault_here("devices and other attributes are not supported"));
    }
    let mut parents = vec![options.counted_cpus(machine).clone()];
    for tuple in word.split(|c| c == '.') {
        parents = find_objects(tuple, &parents, options, machine)?;
    }
    Ok(parents.iter().fold(CpuSet::new(), |sum, set| sum.union(set)))
}

/// Reads a mask in groups of 32 bits, each with or without `0x`. An empty group is zero, and a leading `0xf...f` sets all higher bits that
/// exist.
fn read_bitmap(word: TextPiece<'_>, all: &CpuSet) -> Result<CpuSet, TextFault> {
    let (infinite, word) = match word.strip_prefix("0xf...f") {
        Some(rest) => (true, rest.strip_prefix(",").unwrap_or(rest)),
        None => (false, word),
    };
    if infinite && word.is_empty() {
        return Ok(all.clone());
    }
    let mut all_digits = String::new();
    let groups = word.split(|c| c == ',');
    for (index, group) in groups.iter().enumerate() {
        let digits = mask::digits_of(group.strip_prefix("0x").unwrap_or(*group))?;
        if digits.len() > 8 && groups.len() > 1 {
            return Err(group.fault_here("a group between commas has at most eight digits"));
        }
        let width = if index > 0 || infinite { 8 } else { 0 };
        all_digits.push_str(&format!("{digits:0>width$}"));
    }
    let first_above = if infinite { all_digits.len() * 4 } else { usize::MAX };
    let cpus = mask::of_digits(word, &all_digits)?;
    Ok(cpus.iter().chain(all.iter().filter(|cpu| *cpu as usize >= first_above)).collect())
}
