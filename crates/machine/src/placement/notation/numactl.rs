//! Notation of numactl(8).

use super::choices::{NamedReading, agree, keep_speaking};
use super::command::find_commands;
use super::keyed::{ValueExtent, find_values};
use super::list::{self, ListSyntax, counted_nodes, format_counted};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, nodes};
use crate::{CpuSet, Machine};

/// Prints the prefix with cpus and, if the set is whole nodes, with nodes.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, machine, .. } = chosen;
    let all = if cpus.is_subset(&machine.allowed) { "" } else { "--all " };
    let needs_all = || "--all: some of these cpus are outside the cpus of this process.".to_owned();
    let memory = nodes::with_memory(cpus, machine);
    let mut lines = vec![
        NotationLine::new("cpus", format!("numactl {all}--physcpubind={cpus}"))
            .with_remarks((!all.is_empty()).then(needs_all))
            .with_remarks(memory_remark(&memory)),
    ];
    if let Some(numbers) = nodes::exact_nodes(cpus, machine) {
        lines.push(whole_nodes(&numbers, &memory, all, machine));
    }
    lines
}

fn memory_remark(memory: &CpuSet) -> Option<String> {
    let bound = format!("add --membind={memory} to get memory from there or fail");
    (!memory.is_empty()).then(|| format!("The memory policy is unchanged: {bound}, or --localalloc for the default."))
}

fn whole_nodes(numbers: &CpuSet, memory: &CpuSet, all: &str, machine: &Machine) -> NotationLine {
    let line = NotationLine::new("nodes", format!("numactl {all}--cpunodebind={numbers}")).into_secondary();
    let without = nodes::memoryless_nodes(numbers, machine);
    let remark = || {
        let nearest = format!("the nearest memory is on {}", counted_nodes(memory));
        format!("No memory on {}, so numactl may refuse: use --physcpubind; {nearest}.", counted_nodes(&without))
    };
    line.with_remarks((!without.is_empty()).then(remark))
}

/// State while options are read.
#[derive(Default)]
struct NumactlState {
    all: bool,
    cpus: Option<NotationReading>,
    binds: usize,
    has_policy: bool,
    remarks: Vec<String>,
}

/// An option that takes a value.
#[derive(Clone, Copy)]
enum ValuedOption {
    Cpus,
    Nodes,
    Memory(&'static str),
}

/// Effect of weights, which are no policy of their own.
const WEIGHTS: &str = "by weights of";

/// Options that take a value: letter, name, and effect.
const VALUED: [(&str, &str, ValuedOption); 9] = [
    ("-C", "--physcpubind", ValuedOption::Cpus),
    ("-N", "--cpunodebind", ValuedOption::Nodes),
    ("-c", "--cpubind", ValuedOption::Nodes),
    ("-m", "--membind", ValuedOption::Memory("only from")),
    ("-i", "--interleave", ValuedOption::Memory("round-robin over")),
    ("-w", "--weighted-interleave", ValuedOption::Memory("by the kernel's weights over")),
    ("-p", "--preferred", ValuedOption::Memory("preferably from")),
    ("-P", "--preferred-many", ValuedOption::Memory("preferably from")),
    ("-W", "--weights", ValuedOption::Memory(WEIGHTS)),
];

/// Options without a value that do not select cpus.
const PLAIN: [&str; 6] = ["-l", "--localalloc", "-b", "--balancing", "-t", "--strict"];

/// Returns true for the program's name.
pub(super) fn is_program(name: &str) -> bool {
    name == "numactl"
}

/// Keys by which its options are recognized without the program.
pub(super) const KEYS: [&str; 3] = ["--physcpubind", "--cpunodebind", "physcpubind"];

/// Reads a cpu list of --physcpubind, options, command lines, or the output of --show.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    if let Some(value) = text.text_after("physcpubind:") {
        return read_shown(value.split_lines().first().copied().unwrap_or(value), text);
    }
    let read = |words: Vec<TextPiece<'_>>| {
        let name = words.iter().take(4).map(|word| word.text).collect::<Vec<_>>().join(" ");
        Ok(NamedReading::new(format!("numactl {name}"), read_options(text, words, machine)?))
    };
    let mut parts = keep_speaking(find_commands(text, is_program).into_iter().map(read))?;
    if !parts.is_empty() {
        return agree(text, parts, || no_option(text));
    }
    // NUMACTL_ARGS="--interleave=all --physcpubind=0-3"
    for (key, what) in [(KEYS[0], ValuedOption::Cpus), (KEYS[1], ValuedOption::Nodes)] {
        for found in find_values(text, key, ValueExtent::Word).iter().filter(|_| !text.text.starts_with('-')) {
            let mut state = NumactlState::default();
            read_valued_option(what, found.value, &mut state, machine)?;
            parts.extend(state.cpus.map(|read| NamedReading::new(key, read)));
        }
    }
    match parts.is_empty() {
        false => agree(text, parts, || no_option(text)),
        true if text.text.starts_with('-') => read_options(text, text.split_words(), machine),
        true => read_cpus(text, false, machine),
    }
}

fn no_option(text: TextPiece<'_>) -> TextFault {
    text.fault_here("no option here chooses cpus")
        .with_hint("-C 0-3 chooses cpus, -N 0 the cpus of a node")
        .into_silent()
}

/// Reads the options of one command.
fn read_options<'a>(
    text: TextPiece<'a>,
    words: Vec<TextPiece<'a>>,
    machine: &Machine,
) -> Result<NotationReading, TextFault> {
    let mut state = NumactlState::default();
    let mut arguments = words.into_iter();
    while let Some(word) = arguments.next() {
        if word.text == "--" || !word.text.starts_with('-') {
            break;
        }
        read_option(word, &mut arguments, &mut state, machine)?;
    }
    let mut read = state.cpus.ok_or_else(|| no_option(text))?;
    if state.binds > 1 {
        read = read.with_remark("cpus are chosen more than once; the last option applies.");
    }
    Ok(read.with_remarks(state.remarks))
}

/// Reads the cpus and the memory policy of `numactl --show`.
fn read_shown(cpus: TextPiece<'_>, text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let listed = list::read_list(cpus, ListSyntax { spaces: true, ..ListSyntax::default() })?;
    let said =
        |name: &str| text.split_lines().into_iter().find_map(|line| line.strip_prefix(name)).map(TextPiece::trim);
    let policy = said("policy:").filter(|policy| policy.text != "default");
    let policy = policy.map(|policy| format!("The policy of memory is {}.", policy.text));
    let nodes = said("membind:").map(|nodes| format!("Memory comes only from node {}.", nodes.text));
    Ok(NotationReading::from_set(listed.into_iter().collect()).with_remarks(policy).with_remarks(nodes))
}

fn read_option<'a>(
    word: TextPiece<'a>,
    arguments: &mut impl Iterator<Item = TextPiece<'a>>,
    state: &mut NumactlState,
    machine: &Machine,
) -> Result<(), TextFault> {
    if matches!(word.text, "--all" | "-a") {
        state.all = true;
        return Ok(());
    }
    if PLAIN.contains(&word.text) {
        return Ok(());
    }
    let (name, given) = match word.split_once('=') {
        Some((name, value)) if word.text.starts_with("--") => (name, Some(value)),
        _ => (word, None),
    };
    for (letter, long, what) in VALUED {
        let attached = name.strip_prefix(letter).filter(|_| !name.text.starts_with("--"));
        if name.text != long && attached.is_none() {
            continue;
        }
        let value = given.or(attached.filter(|value| !value.is_empty())).or_else(|| arguments.next());
        let value = value.ok_or_else(|| word.fault_here(format!("{long} needs a value")))?;
        return read_valued_option(what, value, state, machine);
    }
    Err(word.fault_here(format!("unknown option: {}", word.text)))
}

fn read_valued_option(
    what: ValuedOption,
    value: TextPiece<'_>,
    state: &mut NumactlState,
    machine: &Machine,
) -> Result<(), TextFault> {
    match what {
        ValuedOption::Memory(words) if state.has_policy && words != WEIGHTS => {
            return Err(value.fault_here("numactl refuses a second memory policy: \"conflicting policies\""));
        }
        ValuedOption::Memory(words) => {
            state.has_policy |= words != WEIGHTS;
            state.remarks.push(format!("Memory comes {words} node {}.", value.text));
        }
        ValuedOption::Cpus => {
            state.cpus = Some(read_cpus(value, state.all, machine)?);
            state.binds += 1;
        }
        ValuedOption::Nodes => {
            state.cpus = Some(node_cpus(value, state.all, machine)?);
            state.binds += 1;
        }
    }
    Ok(())
}

/// A list with its `!` and `+`.
struct SignedList<'a> {
    inverted: bool,
    relative: bool,
    list: TextPiece<'a>,
}

fn split_signs(value: TextPiece<'_>) -> SignedList<'_> {
    let rest = value.strip_prefix("!");
    let (inverted, value) = (rest.is_some(), rest.unwrap_or(value));
    let rest = value.strip_prefix("+");
    SignedList { inverted, relative: rest.is_some(), list: rest.unwrap_or(value) }
}

/// Reads the numbers of a list; `+` counts along `usable`, `all` is all of it, `!` is the rest of `whole`.
fn read_numbers(value: TextPiece<'_>, usable: &CpuSet, whole: &CpuSet, what: &str) -> Result<CpuSet, TextFault> {
    let signs = split_signs(value);
    let named = match signs.list.text {
        "all" => usable.clone(),
        _ => {
            let listed = list::read_list(signs.list, ListSyntax::default())?;
            let nth = |index: u32| {
                let fault = || signs.list.fault_here(format!("+{index}: there are {} {what} to count", usable.len()));
                usable.iter().nth(index as usize).ok_or_else(fault)
            };
            match signs.relative {
                true => listed.into_iter().map(nth).collect::<Result<CpuSet, TextFault>>()?,
                false => listed.into_iter().collect(),
            }
        }
    };
    Ok(if signs.inverted { whole.difference(&named) } else { named })
}

fn read_cpus(value: TextPiece<'_>, all: bool, machine: &Machine) -> Result<NotationReading, TextFault> {
    let usable = if all { &machine.online } else { &machine.allowed };
    let read = NotationReading::from_set(read_numbers(value, usable, &machine.present, "cpus")?);
    let signs = split_signs(value);
    let relative = format!("+ counts only the cpus that this process may use: {usable}.");
    let outside = read.cpus.intersection(&machine.online).difference(usable);
    let refused =
        format!("numactl refuses {}: outside the cpus of this process; --all takes it.", format_counted(&outside));
    let refused = (!outside.is_empty() && !signs.inverted).then_some(refused);
    let inverse = "! is every cpu of the machine except these, including those outside the cpuset.".to_owned();
    Ok(read
        .with_remarks(signs.relative.then_some(relative))
        .with_remarks(signs.inverted.then_some(inverse))
        .with_remarks(refused))
}

fn node_cpus(value: TextPiece<'_>, all: bool, machine: &Machine) -> Result<NotationReading, TextFault> {
    if value.text == "same" || value.text.contains(':') || value.text.contains('/') {
        return Err(value.fault_here("this form depends on devices or earlier options, and is not supported"));
    }
    let known = nodes::node_numbers(machine);
    let usable = |node: &&crate::machine::NumaNode| all || !node.cpus.is_disjoint(&machine.allowed);
    let usable: CpuSet = machine.nodes.iter().filter(usable).map(|node| node.number).collect();
    let chosen = read_numbers(value, &usable, &known, "nodes")?;
    let read = NotationReading::from_set(nodes::cpus_of_nodes(value, &chosen, machine)?);
    let without = nodes::memoryless_nodes(&chosen, machine);
    let refused =
        || format!("No memory on {}, so numactl may refuse: -C {} works.", counted_nodes(&without), read.cpus);
    let remark = (!without.is_empty()).then(refused);
    let cpus = format!("On this machine {} = {}.", counted_nodes(&chosen), format_counted(&read.cpus));
    Ok(read.with_remark(cpus).with_remarks(remark))
}
