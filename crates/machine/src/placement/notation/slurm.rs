//! `--cpu-bind` of Slurm's srun, and the variables that it sets.

use super::choices::{NamedReading, agree, one_for_each};
use super::keyed::{ValueExtent, find_values};
use super::list::{self, ListSyntax};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, mask, nodes, tree};
use crate::{CpuSet, Machine};

/// Prints one mask for all tasks of a node, and one cpu for each task.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let ChosenCpus { cpus, order, .. } = chosen;
    let allocation = "Cpus outside the job's allocation are not available; request whole nodes with --exclusive.";
    let numbers = order.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    vec![
        NotationLine::new("each task on all", format!("--cpu-bind=mask_cpu:0x{}", cpus.to_hexadecimal()))
            .with_remark("With several tasks on a node, each gets the same mask.")
            .with_remark(allocation),
        NotationLine::new("one task per cpu", format!("--cpu-bind=map_cpu:{numbers}"))
            .into_secondary()
            .with_remark("One task per cpu in this order, separately on each node."),
    ]
}

/// Keys by which a text is recognized.
pub(super) const KEYS: [&str; 9] = [
    "--cpu-bind",
    "--cpu_bind",
    "CPU_BIND",
    "SLURM_CPU_BIND",
    "SLURM_CPU_BIND_LIST",
    "SLURM_CPU_BIND_TYPE",
    "CPU_IDs",
    "CpuSpecList",
    "CPUSpecList",
];

/// Keys with Slurm's own numbers ("abstract CPU IDs" in slurm.conf(5)).
const ABSTRACT_KEYS: [&str; 3] = ["CPU_IDs", "CpuSpecList", "CPUSpecList"];

/// Kinds of binding that name cpus or nodes.
pub(super) const KINDS: [&str; 5] = ["mask_cpu:", "map_cpu:", "mask_ldom:", "map_ldom:", "list:"];

/// Reads `mask_cpu:…`, `map_cpu:…`, `mask_ldom:…` and `map_ldom:…`, as option, as variable or on a whole srun line, and `CPU_IDs=`.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let mut parts = Vec::new();
    for key in ["--cpu-bind", "--cpu_bind", "SLURM_CPU_BIND", "CPU_BIND"] {
        for found in find_values(text, key, ValueExtent::Word) {
            parts.push(NamedReading::new(found.value.text, read_binding(found.value, machine)?));
        }
    }
    let of_list = find_values(text, "SLURM_CPU_BIND_LIST", ValueExtent::Word);
    let kind = find_values(text, "SLURM_CPU_BIND_TYPE", ValueExtent::Word).first().map(|found| found.value);
    for found in of_list {
        parts.push(NamedReading::new(found.value.text, read_kind(kind, found.value, machine)?));
    }
    for key in ABSTRACT_KEYS {
        for found in find_values(text, key, ValueExtent::Word) {
            parts.extend(read_abstract_ids(found.value, machine)?);
        }
    }
    if parts.is_empty() && text.text.starts_with("0x") {
        return read_masks(text);
    }
    if parts.is_empty() {
        return read_binding(text.without_quotes(), machine);
    }
    agree(text, parts, || text.fault_here("no binding here names cpus"))
}

/// Reads a value of `--cpu-bind`.
fn read_binding(value: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let words = value.split(|c| c == ',');
    let verbosity = |word: &&TextPiece<'_>| matches!(word.text, "verbose" | "v" | "quiet" | "q");
    let Some(first) = words.iter().find(|word| !verbosity(word)) else {
        return Err(value.fault_here("expected mask_cpu: or map_cpu: and a list"));
    };
    let Some((kind, _)) = first.split_once(':') else { return Err(unreadable_kind(*first)) };
    let list = first.to_end_of(value).text_after(":").unwrap_or(*first);
    read_kind(Some(kind), list, machine)
}

/// Reads a list of a kind. Without a kind masks are known by their `0x`.
fn read_kind(
    kind: Option<TextPiece<'_>>,
    list: TextPiece<'_>,
    machine: &Machine,
) -> Result<NotationReading, TextFault> {
    match kind.map_or("", |kind| kind.text.trim_end_matches([':', ','])) {
        "mask_cpu" => read_masks(list),
        "map_cpu" => read_map(list),
        "mask_ldom" => read_nodes(list, true, machine),
        "map_ldom" => read_nodes(list, false, machine),
        "list" => read_sets(list),
        "" if list.text.starts_with("0x") => read_masks(list),
        "" => Err(list.fault_here("SLURM_CPU_BIND_TYPE= is missing: this may be masks or cpus")),
        _ => Err(unreadable_kind(kind.unwrap_or(list))),
    }
}

/// Reads `list:0-3:4-7` of other launchers with this option: a list for each process.
fn read_sets(list: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let read = |part: TextPiece<'_>| Ok(list::read_list(part, ListSyntax::default())?.into_iter().collect());
    let sets = list.split(|c| c == ':').into_iter().map(read).collect::<Result<Vec<CpuSet>, TextFault>>()?;
    Ok(one_for_each("process", &sets))
}

/// Reads NUMA nodes, by number or as masks, one for each task.
fn read_nodes(list: TextPiece<'_>, is_mask: bool, machine: &Machine) -> Result<NotationReading, TextFault> {
    let mut sets = Vec::new();
    for item in list.split(|c| c == ',') {
        let (value, _) = split_repeated(item)?;
        let numbers = match is_mask {
            true => mask::of_digits(value, &mask::digits_of(value.strip_word("0x").unwrap_or(value))?)?,
            false => CpuSet::from_cpu(value.read_number("a number of a NUMA node")?),
        };
        sets.push(nodes::cpus_of_nodes(value, &numbers, machine)?);
    }
    Ok(one_for_each("task", &sets).with_remark("The numbers are NUMA nodes."))
}

/// Reads `CPU_IDs=` of `scontrol show job -d`, or the `CpuSpecList=` of a node. Slurm counts the threads of a core one after another there; where that differs from the
/// system's numbers, both readings are parts.
fn read_abstract_ids(value: TextPiece<'_>, machine: &Machine) -> Result<Vec<NamedReading>, TextFault> {
    let ids = list::read_list(value, ListSyntax::default())?;
    let order = tree::tree_order(machine);
    let plain = NotationReading::from_set(ids.iter().copied().collect());
    let counted: Option<CpuSet> = ids.iter().map(|id| order.get(*id as usize).copied()).collect();
    let mut parts = vec![NamedReading::new("the system's numbers", plain)];
    parts.extend(
        counted.map(|cpus| NamedReading::new("Slurm's own numbers, core by core", NotationReading::from_set(cpus))),
    );
    Ok(parts)
}

fn unreadable_kind(kind: TextPiece<'_>) -> TextFault {
    let fault = match kind.text {
        "cores" | "sockets" | "threads" | "ldoms" | "rank" | "rank_ldom" | "none" | "no" => kind
            .fault_here(format!("{} depends on Slurm's allocation, and names no cpus itself", kind.text))
            .into_silent(),
        _ => kind.fault_here(format!("expected mask_cpu: or map_cpu:, found \"{}\"", kind.text)),
    };
    fault.with_hint("mask_cpu:0xff for a mask, map_cpu:0,1,2 for one cpu per task")
}

/// Splits a value and its number of repetitions: `0xf*4`.
fn split_repeated(item: TextPiece<'_>) -> Result<(TextPiece<'_>, u32), TextFault> {
    match item.split_once('*') {
        Some((value, times)) => Ok((value, times.read_number("a number of repetitions")?)),
        None => Ok((item, 1)),
    }
}

fn read_masks(list: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let mut order = Vec::new();
    let mut tasks = Vec::new();
    for item in list.split(|c| c == ',') {
        let (value, times) = split_repeated(item)?;
        let digits = value.strip_word("0x").unwrap_or(value);
        let cpus = mask::of_digits(value, &mask::digits_of(digits)?)?;
        order.extend(cpus.iter());
        tasks.push((cpus, times));
    }
    let read = match tasks.as_slice() {
        [(_, 1)] => NotationReading::from_set(order.into_iter().collect())
            .with_remark("Every task of a node gets this one mask."),
        _ => NotationReading::from_order(order)
            .with_remark(format!("Each task gets its own mask: {}.", describe_tasks(&tasks))),
    };
    Ok(read.with_remark("Masks of mask_cpu are hexadecimal with or without 0x."))
}

fn describe_tasks(tasks: &[(CpuSet, u32)]) -> String {
    let several = |times: u32| if times == 1 { String::new() } else { format!(" ({times} tasks)") };
    let shown = tasks.iter().take(8).map(|(cpus, times)| format!("{cpus}{}", several(*times)));
    let more = if tasks.len() > 8 { ", …" } else { "" };
    shown.collect::<Vec<_>>().join(", then ") + more
}

fn read_map(list: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let mut order = Vec::new();
    for item in list.split(|c| c == ',') {
        let (value, _) = split_repeated(item)?;
        let cpu = match value.strip_word("0x") {
            Some(_) => {
                let number = mask::read_integer(value)?;
                let known = u32::try_from(number).ok().filter(|cpu| *cpu <= crate::cpu_set::MAXIMUM_CPU);
                known.ok_or_else(|| value.fault_here("this is too large for a cpu number"))?
            }
            None => value.read_number("a cpu number")?,
        };
        order.push(cpu);
    }
    Ok(NotationReading::from_order(order.iter().copied())
        .with_remark(format!("One cpu per task: {}.", list::in_order(&order, ", "))))
}
