//! Strings as they stand in files, terminals and mails, recognized without a word about their notation.

use super::super::recognize_notation;
use super::machines;
use crate::Machine;

/// The cpus in the order of the text, `?` for a question with commands, `!` for a refusal.
fn outcome(text: &str, machine: &Machine) -> String {
    match recognize_notation(text, machine) {
        Ok(found) => found.reading.cpus.to_string(),
        Err(error) if !error.choices.is_empty() => "?".to_owned(),
        Err(_) => "!".to_owned(),
    }
}

/// Returns a text of the tables: `\n` and `\t` are line breaks and tabs, `\\` is a backslash.
fn unescape(text: &str) -> String {
    let parts = text.split("\\\\").map(|part| part.replace("\\n", "\n").replace("\\t", "\t"));
    parts.collect::<Vec<_>>().join("\\")
}

/// Compares all lines of a table, `CPUS <tab> TEXT`, so that one run shows every difference.
fn check(machine: &Machine, table: &str) {
    let wrong = |line: &str| {
        let (cpus, text) = line.split_once('\t').expect("a tab behind the cpus");
        let text = unescape(text);
        let found = outcome(&text, machine);
        let why = || {
            recognize_notation(&text, machine).map_or_else(|error| error.what, |found| found.reading.remarks.join(" "))
        };
        (found != cpus).then(|| format!("{text}\n    {found} in place of {cpus}: {}", why()))
    };
    let wrong: Vec<String> = table.lines().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.lines().count(), wrong.join("\n"));
}

/// 64 cpus in four nodes of eight cores; cpu n and n + 32 are siblings.
#[test]
fn commands_are_recognized_behind_anything() {
    check(&machines::threadripper(), include_str!("wild/commands.tsv"));
}

#[test]
fn settings_are_recognized_by_their_keys() {
    check(&machines::threadripper(), include_str!("wild/settings.tsv"));
}

/// Files, commands, reports and calls of many programs.
#[test]
fn texts_of_many_programs_are_read_or_asked_back() {
    check(&machines::threadripper(), include_str!("wild/programs.tsv"));
}

/// Lines and whole sections of configuration files, scripts and forum posts.
#[test]
fn configurations_are_read_or_asked_back() {
    check(&machines::threadripper(), include_str!("wild/configurations.tsv"));
}

#[test]
fn windows_texts_are_recognized() {
    check(&crate::generate::one_package_machine(16, false, &[]), include_str!("wild/windows.tsv"));
}

#[test]
fn bare_values_are_read_or_asked_back() {
    check(&machines::threadripper(), include_str!("wild/values.tsv"));
}

#[test]
fn a_question_names_its_commands_and_an_answer_its_notation() {
    let machine = machines::threadripper();
    let question = recognize_notation("32", &machine).unwrap_err();
    let commands: Vec<String> = question.choices.iter().map(|choice| choice.command.shell_line()).collect();
    assert_eq!(commands, ["corewise place --from list -- 32", "corewise place --from hex -- 32"]);
    assert_eq!(question.what, "this has several meanings: list: cpu 32; hex: cpus 1,4,5");
    let nodes = recognize_notation("node 0 cpus: 0 1\nnode 1 cpus: 2 3", &machine).unwrap_err();
    let commands: Vec<String> = nodes.choices.iter().map(|choice| choice.command.shell_line()).collect();
    assert_eq!(commands, ["corewise place 0,1", "corewise place 2,3", "corewise place 0-3"]);
    let read = |text| recognize_notation(text, &machine).unwrap().reading.remarks.join(" ");
    assert_eq!(
        read("IRQBALANCE_BANNED_CPUS=ff"),
        "Read as a setting of another program, recognized by its key. A value of IRQBALANCE_BANNED_CPUS of irqbalance: these are \
         banned, so interrupts go to the others: cpus 8-63."
    );
    assert!(read("worker_cpu_affinity 0001 0010;").contains("One set for each worker: worker 0: 0, worker 1: 1."));
    assert!(read("#CPUAffinity=1 2").contains("This is a comment: as it stands, it has no effect."));
}

/// What is printed in a notation is recognized as the same cpus, or asked back.
#[test]
fn what_is_printed_is_recognized() {
    use super::super::{Notation, print_notation};
    for (name, machine) in machines::all() {
        for count in [1, 2, 7, 32] {
            let order: Vec<u32> = machine.online.iter().take(count).collect();
            let cpus: crate::CpuSet = order.iter().copied().collect();
            for notation in Notation::ALL.into_iter().filter(|notation| *notation != Notation::Kubernetes) {
                let texts = super::round_trip::whole_texts(
                    notation,
                    &print_notation(notation, &cpus, &order, &machine),
                    &machine,
                );
                for text in texts {
                    match recognize_notation(&text, &machine) {
                        Ok(found) => assert_eq!(found.reading.cpus, cpus, "{name}: {notation}: {text}"),
                        Err(error) => assert!(!error.choices.is_empty(), "{name}: {notation}: {text}: {error}"),
                    }
                }
            }
        }
    }
}
