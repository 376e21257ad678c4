//! `--cpu-bind` of Slurm's srun.

use super::list;
use super::mask;
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading};
use crate::CpuSet;

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

/// Reads `mask_cpu:…` and `map_cpu:…`, as option or on a whole srun line.
pub(super) fn read_text(text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    let value = find_value(text);
    let words = value.split(|c| c == ',');
    let verbosity = |word: &&TextPiece<'_>| matches!(word.text, "verbose" | "v" | "quiet" | "q");
    let Some(first) = words.iter().find(|word| !verbosity(word)) else {
        return Err(value.fault_here("expected mask_cpu: or map_cpu: and a list"));
    };
    let Some((kind, _)) = first.split_once(':') else { return Err(unreadable_kind(*first)) };
    let list = first.to_end_of(value).text_after(":").unwrap_or(*first);
    match kind.text {
        "mask_cpu" => read_masks(list),
        "map_cpu" => read_map(list),
        _ => Err(unreadable_kind(kind)),
    }
}

/// Returns the value of `--cpu-bind`, or the whole text without that option.
fn find_value(text: TextPiece<'_>) -> TextPiece<'_> {
    let mut words = text.split_words().into_iter();
    while let Some(word) = words.next() {
        for option in ["--cpu-bind", "--cpu_bind"] {
            if let Some(rest) = word.strip_prefix(option) {
                return rest.strip_prefix("=").or_else(|| words.next()).unwrap_or(rest).without_quotes();
            }
        }
    }
    text.without_quotes()
}

fn unreadable_kind(kind: TextPiece<'_>) -> TextFault {
    let fault = match kind.text {
        "cores" | "sockets" | "threads" | "ldoms" | "rank" | "rank_ldom" | "map_ldom" | "mask_ldom" | "none" | "no" => {
            kind.fault_here(format!("{} depends on Slurm's allocation, and names no cpus itself", kind.text))
        }
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
