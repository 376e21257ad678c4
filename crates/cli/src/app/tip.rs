//! Tips for a wrong command line: options of another tool that were taken for our own, `place --from taskset -c 0-3`, and commands that
//! have another name here, `corewise top`.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use corewise_machine::suggested_command::place_from;

use crate::draw::suggestion::quote_words;

/// Adds the whole intended line to the error, if it is known. `place` is the definition of that command, with the
/// common options.
pub fn with_whole_line(mut error: clap::Error, words: &[OsString], place: &clap::Command) -> clap::Error {
    let line = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(unknown))) => suggest_separator(words, unknown, place),
        _ => None,
    };
    if let Some(line) = line {
        let tip = format!("options of another tool come after '--': {line}").into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Other words for what a command does, and the command.
const OTHER_NAMES: [(&str, &[&str]); 15] = [
    ("watch", &["top", "htop", "monitor", "live", "ps"]),
    ("run", &["pin", "bind", "exec", "launch", "start", "taskset", "numactl", "affinity"]),
    ("try", &["bench", "benchmark", "compare", "test", "perf", "measure", "ab"]),
    ("topology", &["info", "lstopo", "lscpu", "cpus", "cores", "show", "list", "machines"]),
    ("place", &["mask", "convert", "translate", "read", "parse", "where"]),
    ("irq", &["irqs", "interrupts", "irqbalance"]),
    ("keep", &["rules", "daemon", "enforce", "service", "why"]),
    ("undo", &["revert", "restore", "reset", "unpin", "rollback"]),
    ("doctor", &["check", "status", "diagnose", "audit", "isolation"]),
    ("tail", &["latency", "jitter", "noise", "stalls"]),
    ("links", &["core-to-core", "c2c", "pingpong", "ping-pong"]),
    ("memory", &["bandwidth", "numa", "mem"]),
    ("history", &["results", "log", "logs"]),
    ("record", &["dump", "snapshot", "save"]),
    ("--version", &["version"]),
];

/// Adds the command that does what an unknown one seems to mean. `below` is the command behind which it was typed.
pub fn with_other_name(mut error: clap::Error, below: Option<&str>) -> clap::Error {
    let typed = match error.get(ContextKind::InvalidSubcommand).or_else(|| error.get(ContextKind::InvalidArg)) {
        Some(ContextValue::String(typed)) => typed.to_ascii_lowercase(),
        _ => return error,
    };
    let name = match below {
        None => find_other_name(&typed),
        Some("keep") if ["list", "ls", "show", "status"].contains(&&*typed) => Some("keep"),
        Some(_) => None,
    };
    if let Some(name) = name {
        let tip = format!("this is 'corewise {name}' here").into();
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Options of other tools for cpus and nodes, and the tool.
const OTHER_OPTIONS: [(&str, &str); 6] = [
    ("-c", "taskset"),
    ("--cpu-list", "taskset"),
    ("-C", "numactl"),
    ("--physcpubind", "numactl"),
    ("-N", "numactl"),
    ("--cpunodebind", "numactl"),
];

/// Replaces clap's tip to make a value of an unknown option: by the option that has two hyphens, as in `-on 0`, or by what does the same as
/// one of another tool. A negative number gets no tip. `definition` is that of the command, with the common options.
pub fn with_own_option(mut error: clap::Error, words: &[OsString], definition: &clap::Command) -> clap::Error {
    let unknown = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(unknown))) if unknown.starts_with('-') => unknown,
        _ => return error,
    };
    let is_meant = |word: &&str| {
        let name = word.split_once('=').map_or(*word, |(name, _)| name);
        word.len() > 2 && word.starts_with(unknown.as_str()) && has_option(definition, &format!("-{name}"))
    };
    let meant = words.iter().skip(1).filter_map(|word| word.to_str()).find(is_meant);
    let tip = match (meant, OTHER_OPTIONS.iter().find(|(option, _)| option == unknown)) {
        (Some(word), _) => Some(format!("an option of several letters has two hyphens: -{word}")),
        (None, Some(_)) if has_option(definition, "--on") => {
            Some("cpus are given by --on, nodes as in '--on node:0'".into())
        }
        (None, Some((option, tool))) if has_option(definition, "--from") => {
            let line = place_from(&["--from".into(), (*tool).into()], &[(*option).into(), "0".into()]);
            Some(format!("options of {tool} are read with --from: {}", quote_words(line.words())))
        }
        _ => None,
    };
    let is_number = unknown[1..].starts_with(|first: char| first.is_ascii_digit());
    if tip.is_some() || is_number {
        error.remove(ContextKind::Suggested);
    }
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Returns true if a command, or one below it, has an option.
fn has_option(definition: &clap::Command, word: &str) -> bool {
    find_option(definition, word).is_some() || definition.get_subcommands().any(|below| has_option(below, word))
}

/// Returns the command for another word.
fn find_other_name(typed: &str) -> Option<&'static str> {
    OTHER_NAMES.iter().find(|(_, names)| names.contains(&typed)).map(|(command, _)| *command)
}

/// Returns true if an option of the command takes a value; `None` if the word is not an option of it.
fn find_option(definition: &clap::Command, word: &str) -> Option<bool> {
    let name = word.strip_prefix("--")?;
    let found = definition.get_arguments().find(|argument| argument.get_long() == Some(name))?;
    Some(found.get_action().takes_values())
}

/// Returns the line with `--` before the unknown option, and our own options before that.
fn suggest_separator(words: &[OsString], unknown: &str, definition: &clap::Command) -> Option<String> {
    let words: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let is_from = |word: &&str| *word == "--from" || word.starts_with("--from=");
    if words.get(1) != Some(&definition.get_name()) || !words.iter().any(is_from) || words.contains(&"--") {
        return None;
    }
    let place = words.iter().position(|word| *word == unknown || word.starts_with(unknown))?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut rest = words[2..place].iter().chain(&words[place..]).copied();
    while let Some(word) = rest.next() {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        let option = find_option(definition, name);
        let list = if option.is_some() { &mut ours } else { &mut theirs };
        list.push(word.to_owned());
        if option == Some(true) && name == word {
            ours.extend(rest.next().map(str::to_owned));
        }
    }
    Some(quote_words(place_from(&ours, &theirs).words()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, unknown: &str) -> Option<String> {
        let valued = ["from", "as", "machine"].map(|name| clap::Arg::new(name).long(name));
        let place = clap::Command::new("place").args(valued).arg(clap::arg!(--json));
        suggest_separator(&text.split(' ').map(OsString::from).collect::<Vec<_>>(), unknown, &place)
    }

    #[test]
    fn a_wrong_line_gets_a_tip_of_its_own_command() {
        let tip = |line: &str, below: Option<&str>| {
            let command = |name| clap::Command::new(name);
            let text = clap::Arg::new("text").allow_negative_numbers(false);
            let program = command("corewise").subcommands([
                command("keep").subcommand(command("plan")),
                command("watch"),
                command("place").arg(text),
            ]);
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let error = program.try_get_matches_from(&words).unwrap_err();
            let on = clap::Arg::new("on").long("on");
            let watch = command("watch").arg(on.clone());
            let place = command("place").args([clap::Arg::new("from").long("from"), clap::Arg::new("text")]);
            let definition = if below == Some("place") { place } else { watch };
            with_own_option(with_other_name(error, below), &words, &definition).to_string()
        };
        assert!(tip("corewise top", None).contains("this is 'corewise watch' here"));
        assert!(tip("corewise keep list", Some("keep")).contains("this is 'corewise keep' here"));
        assert!(!tip("corewise keep top", Some("keep")).contains("watch"));
        assert!(tip("corewise watch -on 0", Some("watch")).contains("two hyphens: --on"));
        for line in ["corewise watch extra", "corewise watch --extra", "corewise watch -extra"] {
            assert!(!tip(line, Some("watch")).contains("hyphens"));
        }
        assert!(tip("corewise watch -c 0", Some("watch")).contains("'--on node:0'"));
        let place = tip("corewise place -N0", Some("place"));
        assert!(place.contains("corewise place --from numactl -- -N 0") && !place.contains("as a value"), "{place}");
        assert!(!tip("corewise place -5s", Some("place")).contains("tip"), "no value is negative");
    }

    #[test]
    fn other_names_lead_to_one_command_each() {
        let expected =
            [("top", "watch"), ("pin", "run"), ("bench", "try"), ("interrupts", "irq"), ("version", "--version")];
        expected.into_iter().for_each(|(typed, command)| assert_eq!(find_other_name(typed), Some(command)));
        let mut names: Vec<&str> = OTHER_NAMES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "a word leads to two commands");
    }

    #[test]
    fn options_of_the_other_tool_come_last() {
        let expected = Some("corewise place --from taskset -- -c 0-3".to_owned());
        assert_eq!(line("/usr/bin/corewise place --from taskset -c 0-3", "-c"), expected);
        assert_eq!(
            line("corewise place --from=numactl --as list numactl -C !0 --machine fx-8150 --json", "-C").as_deref(),
            Some("corewise place --from=numactl --as list --machine fx-8150 --json -- numactl -C '!0'")
        );
        assert_eq!(line("corewise place -c 0-3", "-c"), None, "without --from nothing else is read");
        assert_eq!(line("corewise topology --from", "--from"), None);
    }
}
