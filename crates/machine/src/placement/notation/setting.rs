//! Settings of other programs that name cpus by a key, and options of their command lines. [`settings_table`](super::settings_table) has
//! the keys; a further program is a row there.

use super::choices::{NamedReading, agree};
use super::command::find_commands;
use super::keyed::{KeyedValue, find_values};
use super::list::{self, ListSyntax, format_counted};
use super::setting_value::SettingValue;
use super::settings_table::{ARGUMENTS, ArgumentRow, COMMANDS, CommandRow, SETTINGS, SettingRow};
use super::text::{TextFault, TextPiece};
use super::{ChosenCpus, NotationLine, NotationReading, calls, reports};
use crate::Machine;

/// Returns true if a text has a setting that names cpus.
pub(super) fn is_recognized(text: TextPiece<'_>) -> bool {
    settings_in(text).iter().any(|(row, found)| !is_count(row, found))
        || has_thread_sets(text.text)
        || !commands_in(text).is_empty()
        || !arguments_in(text).is_empty()
        || calls::is_recognized(text)
        || reports::is_recognized(text)
}

/// Prints the settings of irqbalance and of the processes' status, which take these cpus as they are.
pub(super) fn print_lines(chosen: ChosenCpus<'_>) -> Vec<NotationLine> {
    let line = NotationLine::new("irqbalance", format!("IRQBALANCE_BANNED_CPULIST={}", chosen.cpus));
    vec![line.with_remark("Keeps interrupts that irqbalance moves off these cpus.")]
}

/// Returns the known settings of a text, in the order of the table.
fn settings_in(text: TextPiece<'_>) -> Vec<(&'static SettingRow, KeyedValue<'_>)> {
    let of_row = |row: &'static SettingRow| {
        let found = row.keys.iter().flat_map(move |key| find_values(text, key, row.value.extent()));
        let found = found.filter(move |found| row.value.may_be(found.value) && !is_of_guest(text, found.key));
        found.map(move |found| (row, found))
    };
    let is_meant = |row: &&SettingRow| text.text.contains(row.beside);
    SETTINGS.iter().filter(is_meant).flat_map(of_row).collect()
}

/// Returns true if a key is in an option that describes a guest: `-numa node,nodeid=0,cpus=0-3`, `numa0: cpus=0-3,memory=4096`.
fn is_of_guest(text: TextPiece<'_>, key: TextPiece<'_>) -> bool {
    let before = &text.text[..text.text.len() - key.to_end_of(text).text.len()];
    let line = before.rsplit('\n').next().unwrap_or(before).trim_start();
    let is_numbered = line.split_once(':').is_some_and(|(name, _)| {
        name.strip_prefix("numa")
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    });
    is_numbered || before.rsplit(char::is_whitespace).next().is_some_and(|word| word.starts_with("node,"))
}

/// Returns true if a value is a number of cpus, threads or shares, and names none.
fn is_count(row: &SettingRow, found: &KeyedValue<'_>) -> bool {
    let is_number = || found.value.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    matches!(row.value, SettingValue::Count(_)) || row.value == SettingValue::CountOrList && is_number()
}

/// Returns the fault of a setting that is a number of cpus, threads or shares.
pub(super) fn find_count(text: TextPiece<'_>) -> Option<TextFault> {
    let (row, found) = settings_in(text).into_iter().find(|(row, found)| is_count(row, found))?;
    let KeyedValue { key, value } = found;
    Some(match row.value {
        SettingValue::Count(why) => value.fault_here(format!("{}={}: {why}", key.text, value.text)),
        _ => value
            .fault_here(format!("{}={} is a number of cpus, and names none", key.text, value.text))
            .with_hint(format!("{0}-{0} would be cpu {0}", value.text)),
    })
}

/// Returns the options of known commands: the row, the option and its value.
fn commands_in(text: TextPiece<'_>) -> Vec<(&'static CommandRow, &'static str, TextPiece<'_>)> {
    let mut found = Vec::new();
    let is_named = |row: &&'static CommandRow| row.programs.iter().any(|program| text.text.contains(program));
    for row in COMMANDS.iter().filter(is_named) {
        for words in find_commands(text, |name| row.programs.contains(&name)) {
            found.extend(option_values(&words, row.options).into_iter().map(|(value, option)| (row, option, value)));
        }
    }
    found
}

/// Returns the arguments of known commands that are cpus, each with its row.
fn arguments_in(text: TextPiece<'_>) -> Vec<(&'static ArgumentRow, TextPiece<'_>)> {
    let mut found = Vec::new();
    let is_named = |row: &&'static ArgumentRow| row.programs.iter().any(|program| text.text.contains(program));
    for row in ARGUMENTS.iter().filter(is_named) {
        for words in find_commands(text, |name| row.programs.contains(&name)) {
            let named = || words.iter().position(|word| word.text == row.behind).map(|place| place + 1);
            let Some(begin) = row.behind.is_empty().then_some(0).or_else(named) else { continue };
            let behind = words[begin..].iter().filter(|word| !word.text.starts_with('-')).skip(row.skipped);
            let taken: Vec<_> = behind.take(if row.has_more { usize::MAX } else { 1 }).collect();
            if let (Some(first), Some(last)) = (taken.first(), taken.last()) {
                found.push((row, first.up_to(**last, text)));
            }
        }
    }
    found
}

/// Reads all settings of a text, which must agree.
pub(super) fn read_text(text: TextPiece<'_>, machine: &Machine) -> Result<NotationReading, TextFault> {
    let mut parts = suricata_sets(text, machine)?;
    for (row, found) in settings_in(text).into_iter().filter(|(row, found)| !is_count(row, found)) {
        let read = row.value.read(found.value, machine)?;
        let name = [row.program, found.key.text].join(" ");
        parts.push(NamedReading::new(name.trim(), explain(read, row.program, found.key.text, row.remark, machine)));
    }
    for (row, option, value) in commands_in(text) {
        parts.push(NamedReading::new(format!("{} {option}", row.programs[0]), row.value.read(value, machine)?));
    }
    for (row, value) in arguments_in(text) {
        parts.push(NamedReading::new(row.programs[0], row.value.read(value, machine)?));
    }
    parts.extend(calls::read_calls(text, machine)?);
    parts.extend(reports::read_reports(text, machine)?);
    let nothing = || text.fault_here("no setting that is known here names cpus");
    agree(text, parts, || find_count(text).unwrap_or_else(nothing))
}

/// Adds the program and the meaning of a setting.
fn explain(read: NotationReading, program: &str, key: &str, remark: &str, machine: &Machine) -> NotationReading {
    let key = key.trim_end_matches(['\'', ',']);
    let others = machine.online.difference(&read.cpus);
    let remark = remark.replace("{others}", &format_counted(&others));
    let whose = if program.is_empty() { key.to_owned() } else { format!("{key} of {program}") };
    match remark.is_empty() {
        true => read.with_remark(format!("A value of {whose}.")),
        false => read.with_remark(format!("A value of {whose}: {remark}")),
    }
}

/// Returns the values of options on a command line, up to `--`.
fn option_values<'a>(words: &[TextPiece<'a>], options: &[&'static str]) -> Vec<(TextPiece<'a>, &'static str)> {
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate().take_while(|(_, word)| word.text != "--") {
        for option in options {
            let Some(attached) = option_value(*word, option) else { continue };
            let value = if attached.is_empty() { words.get(place + 1).copied() } else { Some(attached) };
            found.extend(value.map(|value| (value.without_quotes(), *option)));
        }
    }
    found
}

/// Returns what is written to an option: `--cpu=0-3`, `-C0-3`; empty if the value is the next word.
fn option_value<'a>(word: TextPiece<'a>, option: &str) -> Option<TextPiece<'a>> {
    let rest = word.strip_prefix(option)?;
    match option.starts_with("--") {
        true if rest.is_empty() => Some(rest),
        true => rest.strip_prefix("="),
        false => Some(rest).filter(|rest| rest.is_empty() || rest.text.starts_with(|c: char| c.is_ascii_digit())),
    }
}

/// Reads the sets of threads in suricata.yaml: `- worker-cpu-set:` and, below, `cpu: [ "1-3", "5" ]`.
fn suricata_sets(text: TextPiece<'_>, machine: &Machine) -> Result<Vec<NamedReading>, TextFault> {
    let mut parts = Vec::new();
    let mut name = None;
    for line in text.split_lines() {
        let line = line.strip_prefix("-").unwrap_or(line).trim();
        let (key, value) = line.split_once(':').map_or((line, line), |(key, value)| (key.trim(), value.trim()));
        if key.text.ends_with("-cpu-set") {
            name = Some(key.text);
        }
        let inside = value.strip_prefix("[").and_then(|value| value.strip_suffix("]"));
        let (Some(name), Some(inside), "cpu") = (name, inside, key.text) else { continue };
        let items = inside.split(|c| c == ',').into_iter().map(|item| item.trim().without_quotes());
        let mut cpus = Vec::new();
        for item in items.filter(|item| !item.is_empty()) {
            match item.text {
                "all" => cpus.extend(machine.online.iter()),
                _ => cpus.extend(list::read_list(item, ListSyntax::default())?),
            }
            list::check_count(cpus.len(), item)?;
        }
        if !cpus.is_empty() {
            parts.push(NamedReading::new(name, NotationReading::from_order(cpus)));
        }
    }
    Ok(parts)
}

/// Returns true for a configuration of suricata.
fn has_thread_sets(text: &str) -> bool {
    text.contains("-cpu-set:") && text.contains("cpu:")
}
