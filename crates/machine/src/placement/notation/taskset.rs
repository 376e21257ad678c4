//! Notation of taskset(1) of util-linux.

use super::choices::{NamedReading, agree, keep_speaking};
use super::command::find_commands;
use super::list::{self, ListSyntax, format_counted};
use super::mask;
use super::text::{TextFault, TextPiece};
use super::{NotationLine, NotationReading};
use crate::CpuSet;

/// Prints the prefix with a list, and with a mask.
pub(super) fn print_lines(cpus: &CpuSet) -> Vec<NotationLine> {
    vec![
        NotationLine::new("list", format!("taskset -c {cpus}")),
        NotationLine::new("mask", format!("taskset 0x{}", cpus.to_hexadecimal())).into_secondary(),
    ]
}

/// Options of a command line.
#[derive(Default)]
struct TasksetOptions {
    list: bool,
    process: bool,
    all_threads: bool,
}

/// Returns true for the program's name.
pub(super) fn is_program(name: &str) -> bool {
    name == "taskset"
}

/// Reads a mask (`0x55`, a bare `32`), the arguments (`-c 0-3`), command lines (`taskset -pc 0-3 1234`), or taskset's output about a
/// process.
pub(super) fn read_text(text: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    if let Some(read) = read_report(text)? {
        return Ok(read);
    }
    let commands = find_commands(text, is_program);
    if commands.is_empty() {
        return read_arguments(text, text.split_words());
    }
    let read = |words: Vec<TextPiece<'_>>| {
        let name = words.iter().take(4).map(|word| word.text).collect::<Vec<_>>().join(" ");
        Ok(NamedReading::new(format!("taskset {name}"), read_arguments(text, words)?))
    };
    let parts = keep_speaking(commands.into_iter().map(read))?;
    agree(text, parts, || text.fault_here("no line here chooses cpus"))
}

/// Reads the arguments of one command.
fn read_arguments<'a>(text: TextPiece<'a>, words: Vec<TextPiece<'a>>) -> Result<NotationReading, TextFault> {
    let mut options = TasksetOptions::default();
    let mut arguments = words.into_iter();
    let value = loop {
        let Some(word) = arguments.next() else {
            return Err(text.fault_here("expected a mask or, after -c, a cpu list"));
        };
        if !word.text.starts_with('-') {
            break word.without_quotes();
        }
        if let Some(value) = word.strip_prefix("--cpu-list=") {
            options.list = true;
            break value.without_quotes();
        }
        if let Some(value) = attached_list(word) {
            options.list = true;
            break value.without_quotes();
        }
        read_option(word, &mut options)?;
    };
    if value.text.starts_with('$') {
        return Err(value.fault_here("this is a variable of the shell: give its value").into_silent());
    }
    let rest: Vec<TextPiece<'_>> = arguments.collect();
    // $(pidof app) is one process, or several.
    let is_found = rest.first().is_some_and(|word| word.text.starts_with(['$', '`']));
    let rest = if is_found { 1 } else { rest.len() };
    if options.process && rest == 0 {
        let fault = value.fault_here("a single argument after -p is the process; this line only shows its cpus");
        return Err(fault.with_hint("write the mask or list before the process: taskset -pc 0-3 1234").into_silent());
    }
    if options.process && rest > 1 {
        return Err(text.fault_here("expected a mask or list and a process after -p, found more"));
    }
    let read = if options.list { NotationReading::from_order(read_list(value)?) } else { read_mask(value)? };
    Ok(read.with_remarks(option_remarks(&options)))
}

/// Returns the list that is written to the option without a space, `-c0-3`.
fn attached_list(word: TextPiece<'_>) -> Option<TextPiece<'_>> {
    word.strip_prefix("-c").filter(|value| value.text.starts_with(|c: char| c.is_ascii_digit()))
}

/// Reads the output of `taskset -p` and `taskset -cp`: "pid 1's current affinity mask: 3", and "new" after a change. The last line of a
/// process counts.
fn read_report(text: TextPiece<'_>) -> Result<Option<NotationReading>, TextFault> {
    let mut parts: Vec<NamedReading> = Vec::new();
    for line in text.split_lines() {
        let list = line.text_after(" affinity list:");
        let Some(value) = list.or_else(|| line.text_after(" affinity mask:")) else { continue };
        let value = value.trim().without_quotes();
        let reading = match list {
            Some(_) => NotationReading::from_set(read_list(value)?.into_iter().collect()),
            None => mask::read_hexadecimal(value)?,
        };
        let process = line.text.split(['\'', '\u{2019}']).next().unwrap_or_default();
        parts.retain(|part| part.name != process);
        parts.push(NamedReading::new(process, reading));
    }
    if parts.is_empty() {
        return Ok(None);
    }
    agree(text, parts, || text.fault_here("no line here names cpus")).map(Some)
}

fn read_option(word: TextPiece<'_>, options: &mut TasksetOptions) -> Result<(), TextFault> {
    match word.text {
        "--cpu-list" => options.list = true,
        "--pid" => options.process = true,
        "--all-tasks" => options.all_threads = true,
        long if long.starts_with("--") => return Err(word.fault_here(format!("taskset has no option {long}"))),
        _ => {
            for letter in word.split_characters().skip(1) {
                match letter.text {
                    "c" => options.list = true,
                    "p" => options.process = true,
                    "a" => options.all_threads = true,
                    other => return Err(letter.fault_here(format!("taskset has no option -{other}"))),
                }
            }
        }
    }
    Ok(())
}

fn read_list(value: TextPiece<'_>) -> Result<Vec<u32>, TextFault> {
    if value.text.starts_with("0x") {
        return Err(value.fault_here("after -c taskset takes a list, not a mask").with_hint("leave out -c"));
    }
    list::read_list(value, ListSyntax { stride: true, ..ListSyntax::default() })
}

fn read_mask(value: TextPiece<'_>) -> Result<NotationReading, TextFault> {
    if value.text.contains('-') {
        let fault = value.fault_here("without -c taskset takes a mask, and this is a list");
        return Err(fault.with_hint(format!("taskset -c {}", value.text)));
    }
    let digits = value.strip_prefix("0x").unwrap_or(value);
    let groups = digits.split(|c| c == ',');
    let all = groups.iter().map(|group| mask::digits_of(*group)).collect::<Result<String, _>>()?;
    let cpus = mask::of_digits(value, &all)?;
    let bare = (digits.text == value.text).then(|| without_prefix(value, &cpus));
    let mut read = NotationReading::from_set(cpus).with_remarks(bare);
    if groups.iter().skip(1).any(|group| group.text.len() != 8) {
        read = read.with_remark("Unlike the kernel, taskset drops commas without padding groups to eight digits.");
    }
    Ok(read)
}

/// Explains a mask without `0x`, and its meaning as a list.
fn without_prefix(value: TextPiece<'_>, cpus: &CpuSet) -> String {
    let begin = "Without -c taskset reads a hexadecimal mask, with or without 0x";
    match CpuSet::parse_list(value.text) {
        Ok(list) if list != *cpus => {
            format!(
                "{begin}: {} is {}; for {} write taskset -c {}.",
                value.text,
                format_counted(cpus),
                format_counted(&list),
                value.text
            )
        }
        _ => format!("{begin}."),
    }
}

fn option_remarks(options: &TasksetOptions) -> Vec<String> {
    let mut remarks = Vec::new();
    if options.process && !options.all_threads {
        remarks
            .push("-p without -a moves one thread of a running process; its other threads stay where they are.".into());
    }
    if options.process && options.all_threads {
        remarks.push("-a moves the existing threads; later ones inherit from the thread that starts them.".into());
    }
    remarks
}
