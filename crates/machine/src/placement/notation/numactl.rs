//! Notation of numactl(8).

use super::list::{self, Rules, counted, counted_nodes};
use super::text::{Fault, Piece};
use super::{Chosen, NotationLine, Read, nodes};
use crate::{CpuSet, Machine};

/// Prints the prefix with cpus and, if the set is whole nodes, with nodes.
pub(super) fn print(chosen: Chosen<'_>) -> Vec<NotationLine> {
    let Chosen { cpus, machine, .. } = chosen;
    let all = if cpus.is_subset(&machine.allowed) { "" } else { "--all " };
    let needs_all = || "--all: some of these cpus are outside the cpus of this process.".to_owned();
    let memory = nodes::with_memory(cpus, machine);
    let mut lines = vec![
        NotationLine::new("cpus", format!("numactl {all}--physcpubind={cpus}"))
            .remarks((!all.is_empty()).then(needs_all))
            .remarks(memory_remark(&memory)),
    ];
    if let Some(numbers) = nodes::exactly(cpus, machine) {
        lines.push(whole_nodes(&numbers, &memory, all, machine));
    }
    lines
}

fn memory_remark(memory: &CpuSet) -> Option<String> {
    let bound = format!("add --membind={memory} to get memory from there or fail");
    (!memory.is_empty()).then(|| format!("The memory policy is unchanged: {bound}, or --localalloc for the default."))
}

fn whole_nodes(numbers: &CpuSet, memory: &CpuSet, all: &str, machine: &Machine) -> NotationLine {
    let line = NotationLine::new("nodes", format!("numactl {all}--cpunodebind={numbers}")).secondary();
    let without = nodes::memoryless(numbers, machine);
    let remark = || {
        let nearest = format!("the nearest memory is on {}", counted_nodes(memory));
        format!("No memory on {}, so numactl may refuse: use --physcpubind; {nearest}.", counted_nodes(&without))
    };
    line.remarks((!without.is_empty()).then(remark))
}

/// State while options are read.
#[derive(Default)]
struct State {
    all: bool,
    cpus: Option<Read>,
    binds: usize,
    remarks: Vec<String>,
}

/// An option that takes a value.
#[derive(Clone, Copy)]
enum Valued {
    Cpus,
    Nodes,
    Memory(&'static str),
}

/// Options that take a value: letter, name, and effect.
const VALUED: [(&str, &str, Valued); 9] = [
    ("-C", "--physcpubind", Valued::Cpus),
    ("-N", "--cpunodebind", Valued::Nodes),
    ("-c", "--cpubind", Valued::Nodes),
    ("-m", "--membind", Valued::Memory("only from")),
    ("-i", "--interleave", Valued::Memory("round-robin over")),
    ("-w", "--weighted-interleave", Valued::Memory("by the kernel's weights over")),
    ("-p", "--preferred", Valued::Memory("preferably from")),
    ("-P", "--preferred-many", Valued::Memory("preferably from")),
    ("-W", "--weights", Valued::Memory("by weights of")),
];

/// Options without a value that do not select cpus.
const PLAIN: [&str; 6] = ["-l", "--localalloc", "-b", "--balancing", "-t", "--strict"];

/// Reads a cpu list of --physcpubind, options, a whole command line, or the output of --show.
pub(super) fn read(text: Piece<'_>, machine: &Machine) -> Result<Read, Fault> {
    if let Some(value) = text.after("physcpubind:") {
        return shown(value.lines().first().copied().unwrap_or(value), text);
    }
    let mut words = text.words();
    if words[0].text == "numactl" || words[0].text.ends_with("/numactl") {
        words.remove(0);
    } else if !words[0].text.starts_with('-') {
        return cpus(text, false, machine);
    }
    let mut state = State::default();
    let mut arguments = words.into_iter();
    while let Some(word) = arguments.next() {
        if word.text == "--" || !word.text.starts_with('-') {
            break;
        }
        option(word, &mut arguments, &mut state, machine)?;
    }
    let missing = || text.fault("no option here chooses cpus").hint("-C 0-3 chooses cpus, -N 0 the cpus of a node");
    let mut read = state.cpus.ok_or_else(missing)?;
    if state.binds > 1 {
        read = read.remark("cpus are chosen more than once; the last option applies.");
    }
    Ok(read.remarks(state.remarks))
}

/// Reads the cpus and the memory policy of `numactl --show`.
fn shown(cpus: Piece<'_>, text: Piece<'_>) -> Result<Read, Fault> {
    let listed = list::read(cpus, Rules { spaces: true, ..Rules::default() })?;
    let said = |name: &str| text.lines().into_iter().find_map(|line| line.strip_prefix(name)).map(Piece::trim);
    let policy = said("policy:").filter(|policy| policy.text != "default");
    let policy = policy.map(|policy| format!("The policy of memory is {}.", policy.text));
    let nodes = said("membind:").map(|nodes| format!("Memory comes only from node {}.", nodes.text));
    Ok(Read::set(listed.into_iter().collect()).remarks(policy).remarks(nodes))
}

fn option<'a>(
    word: Piece<'a>,
    arguments: &mut impl Iterator<Item = Piece<'a>>,
    state: &mut State,
    machine: &Machine,
) -> Result<(), Fault> {
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
        let value = value.ok_or_else(|| word.fault(format!("{long} needs a value")))?;
        return valued(what, value, state, machine);
    }
    Err(word.fault(format!("unknown option: {}", word.text)))
}

fn valued(what: Valued, value: Piece<'_>, state: &mut State, machine: &Machine) -> Result<(), Fault> {
    match what {
        Valued::Memory(words) => state.remarks.push(format!("Memory comes {words} node {}.", value.text)),
        Valued::Cpus => {
            state.cpus = Some(cpus(value, state.all, machine)?);
            state.binds += 1;
        }
        Valued::Nodes => {
            state.cpus = Some(node_cpus(value, state.all, machine)?);
            state.binds += 1;
        }
    }
    Ok(())
}

/// A list with its `!` and `+`.
struct Signs<'a> {
    inverted: bool,
    relative: bool,
    list: Piece<'a>,
}

fn signs(value: Piece<'_>) -> Signs<'_> {
    let rest = value.strip_prefix("!");
    let (inverted, value) = (rest.is_some(), rest.unwrap_or(value));
    let rest = value.strip_prefix("+");
    Signs { inverted, relative: rest.is_some(), list: rest.unwrap_or(value) }
}

/// Reads the numbers of a list; `+` counts along `usable`, `all` is all of it, `!` is the rest of `whole`.
fn numbers(value: Piece<'_>, usable: &CpuSet, whole: &CpuSet, what: &str) -> Result<CpuSet, Fault> {
    let signs = signs(value);
    let named = match signs.list.text {
        "all" => usable.clone(),
        _ => {
            let listed = list::read(signs.list, Rules::default())?;
            let nth = |index: u32| {
                let fault = || signs.list.fault(format!("+{index}: there are {} {what} to count", usable.len()));
                usable.iter().nth(index as usize).ok_or_else(fault)
            };
            match signs.relative {
                true => listed.into_iter().map(nth).collect::<Result<CpuSet, Fault>>()?,
                false => listed.into_iter().collect(),
            }
        }
    };
    Ok(if signs.inverted { whole.difference(&named) } else { named })
}

fn cpus(value: Piece<'_>, all: bool, machine: &Machine) -> Result<Read, Fault> {
    let usable = if all { &machine.online } else { &machine.allowed };
    let read = Read::set(numbers(value, usable, &machine.present, "cpus")?);
    let signs = signs(value);
    let relative = format!("+ counts only the cpus that this process may use: {usable}.");
    let outside = read.cpus.intersection(&machine.online).difference(usable);
    let refused = format!("numactl refuses {}: outside the cpus of this process; --all takes it.", counted(&outside));
    let refused = (!outside.is_empty() && !signs.inverted).then_some(refused);
    let inverse = "! is every cpu of the machine except these, including those outside the cpuset.".to_owned();
    Ok(read.remarks(signs.relative.then_some(relative)).remarks(signs.inverted.then_some(inverse)).remarks(refused))
}

fn node_cpus(value: Piece<'_>, all: bool, machine: &Machine) -> Result<Read, Fault> {
    if value.text == "same" || value.text.contains(':') || value.text.contains('/') {
        return Err(value.fault("this form depends on devices or earlier options, and is not supported"));
    }
    let known = nodes::numbers(machine);
    let usable = |node: &&crate::machine::Node| all || !node.cpus.is_disjoint(&machine.allowed);
    let usable: CpuSet = machine.nodes.iter().filter(usable).map(|node| node.number).collect();
    let chosen = numbers(value, &usable, &known, "nodes")?;
    let unknown = chosen.difference(&known);
    if !unknown.is_empty() {
        let (unknown, known) = (counted_nodes(&unknown), counted_nodes(&known));
        return Err(value.fault(format!("this machine has {known}, and no {unknown}")));
    }
    let nodes = machine.nodes.iter().filter(|node| chosen.contains(node.number));
    let read = Read::set(nodes.fold(CpuSet::new(), |sum, node| sum.union(&node.cpus)));
    if read.cpus.is_empty() {
        return Err(value.fault(format!("there are no cpus on {}", counted_nodes(&chosen))));
    }
    let without = nodes::memoryless(&chosen, machine);
    let refused =
        || format!("No memory on {}, so numactl may refuse: -C {} works.", counted_nodes(&without), read.cpus);
    let remark = (!without.is_empty()).then(refused);
    let cpus = format!("On this machine {} = {}.", counted_nodes(&chosen), counted(&read.cpus));
    Ok(read.remark(cpus).remarks(remark))
}
