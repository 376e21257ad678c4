//! A value without anything that names its notation: `0-3,8`, `ff`, `32`, `CPUS="0-3"`. Every notation that has such values reads it, and a
//! value with several meanings is a question.

use super::choices::{NamedReading, agree};
use super::peeled::{PeeledValue, peel_value};
use super::text::{TextFault, TextPiece};
use super::{Notation, NotationChoice, NotationReading, dispatch, guess, libvirt, list, mask};
use crate::placement::{self, ResolveContext};
use crate::{CpuSet, Machine, suggested_command};

/// A reading of the value in one notation.
struct BareReading {
    notation: Notation,
    reading: NotationReading,
}

/// Reads a value in the notations of its form.
///
/// # Errors
/// If it has none, or if two readings differ.
pub(super) fn read_bare(text: TextPiece<'_>, machine: &Machine) -> Result<(Notation, NotationReading), TextFault> {
    let PeeledValue { key, value } = peel_value(text);
    check_key(text, key, value)?;
    let words = value.split_words();
    if words.len() > 1 && words.iter().all(|word| word.text.starts_with("0x")) {
        let read = |word: &TextPiece<'_>| Ok(NamedReading::new(word.text, mask::read_hexadecimal(*word)?));
        let parts = words.iter().map(read).collect::<Result<Vec<_>, TextFault>>()?;
        return Ok((Notation::Hexadecimal, agree(value, parts, || value.fault_here("no mask is given"))?));
    }
    let mut readings: Vec<BareReading> = Vec::new();
    let mut fault = None;
    for notation in possible_notations(value.text) {
        match dispatch::read_piece(notation, value, machine) {
            Ok(reading) if !reading.cpus.is_empty() => readings.push(BareReading { notation, reading }),
            Ok(_) => {}
            Err(found) => fault = fault.or(Some(found)),
        }
    }
    // "cores 0-3" may be objects.
    let is_core = key.is_some_and(|key| matches!(key.to_ascii_lowercase().as_str(), "core" | "cores"));
    let expression_text = if is_core { format!("core:{}", value.text) } else { value.text.to_owned() };
    let expression = read_expression(&expression_text, machine);
    let counts = key.is_some() && value.text.bytes().all(|byte| byte.is_ascii_digit());
    let first = readings.first();
    let is_one = readings.iter().all(|other| first.is_some_and(|first| other.reading.cpus == first.reading.cpus));
    let is_same = expression.as_ref().is_none_or(|cpus| first.is_none_or(|first| first.reading.cpus == *cpus));
    if let (true, true, false) = (is_one, is_same, counts)
        && !readings.is_empty()
    {
        let BareReading { notation, reading } = readings.swap_remove(0);
        let known = key.map(|key| format!("{key} is no setting that is known here: read as a value alone."));
        return Ok((notation, reading.with_remarks(known)));
    }
    if readings.is_empty() {
        return Err(unreadable(value, expression.is_some(), fault));
    }
    let expression = expression.map(|cpus| (expression_text, cpus));
    Err(ask_back(value, key.filter(|_| counts), &readings, expression))
}

/// Refuses keys that do not name cpus: whatever stands behind them may be nodes, memory, ports.
fn check_key(text: TextPiece<'_>, key: Option<&str>, value: TextPiece<'_>) -> Result<(), TextFault> {
    const OF_CPUS: [&str; 8] = ["cpu", "core", "affinity", "mask", "pin", "isol", "lcore", "processor"];
    const OTHER: [&str; 18] = [
        "mem",
        "node",
        "numa",
        "socket",
        "irq",
        "exclu",
        "ban",
        "avoid",
        "skip",
        "without",
        "reserv",
        "housekeep",
        "offline",
        "forbid",
        "deny",
        "ignore",
        "shares",
        "count",
    ];
    let Some(key) = key else { return Ok(()) };
    let lower = key.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&OF_CPUS) && !has(&OTHER) {
        return Ok(());
    }
    if let (false, Some(question)) = (has(&OTHER), guess::ask_about_value(key, value)) {
        return Err(question);
    }
    let what = format!("\"{key}\" is no setting that is known here, and may name something other than cpus");
    Err(text.fault_here(what).with_hint("give the value alone if it names cpus"))
}

/// Returns true for options of tools that pin, without the tool: `-c 0-3`, `-C0-3`; other programs write `-numa` and `-XX:`.
fn is_short_option(value: &str) -> bool {
    let Some(option) = value.strip_prefix('-') else { return false };
    let behind = option.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    (1..=3).contains(&(option.len() - behind.len())) && !behind.starts_with(':')
}

/// Returns the notations of a value's form.
fn possible_notations(value: &str) -> Vec<Notation> {
    let is_of = |allowed: &str| value.chars().all(|c| c.is_ascii_digit() || allowed.contains(c));
    let is_hexadecimal = |c: char| c.is_ascii_hexdigit() || matches!(c, ',' | '_');
    let groups: Vec<&str> = value.split(',').collect();
    let is_grouped = groups.len() > 1 && groups[1..].iter().all(|group| group.trim_start_matches("0x").len() == 8);
    let spaced: Vec<&str> = value.split_whitespace().collect();
    let are_binary = spaced.iter().all(|word| word.bytes().all(|byte| matches!(byte, b'0' | b'1')));
    if is_short_option(value) {
        return vec![Notation::Taskset, Notation::Numactl, Notation::Likwid, Notation::Dpdk];
    }
    if value.starts_with("0b") {
        return vec![Notation::Binary];
    }
    let mut forms = Vec::new();
    let mut add = |is_form: bool, notation| forms.extend(is_form.then_some(notation));
    add(value.contains('{'), Notation::OpenMp);
    add(value.contains(';') && is_of("-; "), Notation::ProcessLasso);
    add(value.starts_with('-') && is_of("-"), Notation::Decimal);
    add(value.starts_with(|c: char| c.is_ascii_uppercase()) && value.contains(':'), Notation::Likwid);
    let first_word = value.split(':').next().unwrap_or_default();
    let is_name = first_word.len() > 1 && first_word.chars().all(|c| c.is_ascii_alphanumeric());
    let is_object = value.contains(':') && is_name && first_word.starts_with(|c: char| c.is_ascii_alphabetic());
    add(is_object && !value.contains(['=', ' ']), Notation::Hwloc);
    if value.starts_with("0x") {
        add(spaced.len() == 1, Notation::Hexadecimal);
        // A mask for each task, or groups of 32 bits.
        add(groups.len() > 1 && !is_grouped, Notation::Slurm);
        return forms;
    }
    if libvirt::is_map(TextPiece::new(value)) {
        return vec![Notation::Libvirt];
    }
    let is_list = value.starts_with(|c: char| c.is_ascii_digit() || c == '^') && is_of(",-:/^ N\t\n");
    add(is_list && value.contains('^'), Notation::Libvirt);
    add(
        is_list && !value.contains('^') && spaced.len() == 1 && !is_grouped || matches!(value, "all" | "N"),
        Notation::List,
    );
    add(is_list && spaced.len() > 1, Notation::Systemd);
    let is_mask = value.chars().all(is_hexadecimal) && (groups.len() == 1 || is_grouped);
    add(is_mask && value.contains(|c: char| c.is_ascii_hexdigit()), Notation::Hexadecimal);
    add(value.len() > 2 && is_of(""), Notation::Decimal);
    let is_long = spaced.len() > 1 || value.len() > 2;
    add(are_binary && is_long && !value.is_empty(), if spaced.len() > 1 { Notation::Nginx } else { Notation::Binary });
    add(are_binary && spaced.len() > 1 && spaced.iter().skip(1).all(|word| word.len() == 4), Notation::Binary);
    forms
}

/// Returns the cpus of an expression of the placement language that has words of its own.
fn read_expression(value: &str, machine: &Machine) -> Option<CpuSet> {
    if !value.contains(|c: char| c.is_ascii_alphabetic()) || value.starts_with("0x") || matches!(value, "all" | "N") {
        return None;
    }
    let context = ResolveContext { machine, reachable: &machine.allowed, quiet: None, worth: None };
    Some(placement::parse(value).ok()?.resolve_on(&context).ok()?.cpus)
}

/// Explains a value without a readable form.
fn unreadable(value: TextPiece<'_>, is_expression: bool, fault: Option<TextFault>) -> TextFault {
    if is_expression {
        let command = suggested_command::place_cpus_of(value.text).quoted_line();
        return value.fault_here("this is the placement language, and no other tool's notation").with_hint(command);
    }
    fault.unwrap_or_else(|| {
        let what = "no notation is recognized here, by a key, a command or the form of a value";
        value.fault_here(what).with_hint(format!("--from names one: {}", suggested_command::place_help().quoted_line()))
    })
}

/// Returns the question which of several readings is meant.
fn ask_back(
    value: TextPiece<'_>,
    count: Option<&str>,
    readings: &[BareReading],
    expression: Option<(String, CpuSet)>,
) -> TextFault {
    let text = value.text.to_owned();
    let choice = |reading: &BareReading| NotationChoice {
        meaning: format!("{}: {}", reading.notation, list::format_counted(&reading.reading.cpus)),
        command: suggested_command::place_from(
            &["--from".to_owned(), reading.notation.word().to_owned()],
            std::slice::from_ref(&text),
        ),
    };
    let mut choices: Vec<NotationChoice> = readings.iter().map(choice).collect();
    choices.extend(expression.map(|(expression, cpus)| NotationChoice {
        meaning: format!("the placement language: {}", list::format_counted(&cpus)),
        command: suggested_command::place_cpus_of(&expression),
    }));
    let meanings: Vec<&str> = choices.iter().map(|choice| choice.meaning.as_str()).collect();
    let number = count.map(|key| format!("{key} may be a number of cpus; or ")).unwrap_or_default();
    let what = format!("this has several meanings: {number}{}", meanings.join("; "));
    value.fault_here(what).with_choices(choices)
}
