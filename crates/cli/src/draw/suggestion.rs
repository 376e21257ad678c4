//! Suggested commands as they are typed here: quoted for a shell, and with the options that decide where they look.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::OnceLock;

use corewise_machine::event::EventSource;
use corewise_machine::suggested_command::{self, TailOptions};
use corewise_machine::{CpuSet, SuggestedCommand};
use corewise_model::Survey;
use corewise_model::links::map::{Origin, Provenance};
use corewise_model::survey::{Scope, WorkKind};

use super::printable::{is_hidden, printable};

/// Commands that use the history, and so need the store that was named.
const COMMANDS_WITH_HISTORY: [&str; 14] = [
    "survey", "tail", "links", "memory", "worth", "watch", "doctor", "try", "place", "article", "run", "keep",
    "history", "report",
];
/// The threshold of stalls, unless another one is typed.
const USUAL_THRESHOLD_NS: u64 = 1_000;
/// Commands that use the journals of changes.
const COMMANDS_WITH_JOURNALS: [&str; 6] = ["doctor", "try", "run", "keep", "irq", "undo"];

/// Options that were typed and that a suggested command repeats: without them it would look elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarriedOptions {
    /// The store that was named.
    pub store: Option<PathBuf>,
    /// The folder of journals that was named.
    pub journals: Option<PathBuf>,
    /// Name and options of the command that runs, for suggestions of the same command.
    pub own: Option<(String, Vec<String>)>,
}

static CARRIED: OnceLock<CarriedOptions> = OnceLock::new();

thread_local! {
    static IS_FOR_OTHERS: Cell<bool> = const { Cell::new(false) };
}

/// Sets the options that all suggestions of this process repeat.
pub fn carry(options: CarriedOptions) {
    // Only the first command of a process is what was typed.
    let _ = CARRIED.set(options);
}

/// Makes something for other people, such as a page: its suggestions repeat nothing that was typed here.
pub fn for_others<T>(make: impl FnOnce() -> T) -> T {
    let before = IS_FOR_OTHERS.replace(true);
    let made = make();
    IS_FOR_OTHERS.set(before);
    made
}

/// Returns the line that a user types here.
pub fn typed(command: &SuggestedCommand) -> String {
    let carried = CARRIED.get().filter(|_| !IS_FOR_OTHERS.get());
    typed_with(command, carried.unwrap_or(&CarriedOptions::default()))
}

/// Returns the same line between backquotes, for a sentence.
pub fn mention(command: &SuggestedCommand) -> String {
    format!("`{}`", typed(command))
}

fn typed_with(command: &SuggestedCommand, carried: &CarriedOptions) -> String {
    words_in_shell(repeating(command, carried).words())
}

/// Returns the command with those of the options that concern it.
pub fn repeating(command: &SuggestedCommand, carried: &CarriedOptions) -> SuggestedCommand {
    let Some(name) = command.command() else { return command.clone() };
    let mut options = Vec::new();
    if let Some((own, words)) = &carried.own
        && *own == name
    {
        options.extend(words.iter().cloned());
    }
    let places = [
        ("--store", &carried.store, &COMMANDS_WITH_HISTORY[..]),
        ("--journal", &carried.journals, &COMMANDS_WITH_JOURNALS[..]),
    ];
    for (option, path, commands) in places {
        if let Some(path) = path.as_ref().filter(|_| commands.contains(&name)) {
            options.extend([option.to_owned(), path.to_string_lossy().into_owned()]);
        }
    }
    command.clone().with_options(options)
}

/// The command that makes a survey again, with another budget: of the same cpus, and for `tail` with the same work, watched in the same way.
pub fn again(survey: &Survey, budget: &str) -> SuggestedCommand {
    let cpus: CpuSet = survey.cpus.iter().map(|seen| seen.cpu).collect();
    let cpus = Some(cpus).filter(|cpus| *cpus != survey.machine.allowed);
    let watch = survey.watch.as_ref();
    match survey.provenance.scope {
        Scope::Machine => suggested_command::survey_longer(cpus.as_ref(), budget),
        Scope::Tail => suggested_command::tail_again(
            &TailOptions {
                cpus,
                explains: watch.is_some_and(|watch| watch.event_source != EventSource::Thread),
                is_fifo: watch.is_some_and(|watch| watch.first_in_line),
                threshold_ns: watch
                    .map(|watch| watch.threshold_ns.round() as u64)
                    .filter(|ns| *ns != USUAL_THRESHOLD_NS),
                work: Some(survey.work.kind).filter(|kind| *kind != WorkKind::Spin).map(|kind| kind.name().to_owned()),
            },
            budget,
        ),
    }
}

/// Returns the line that makes a map again, by the command of its origin.
pub fn map_again(
    provenance: &Provenance,
    imported: fn(&str) -> SuggestedCommand,
    simulated: fn(&str, u64) -> SuggestedCommand,
    measured: fn() -> SuggestedCommand,
) -> String {
    let command = match &provenance.origin {
        Origin::Imported { file, .. } => imported(file),
        Origin::Simulated { file } => simulated(file, provenance.seed),
        Origin::Measured => measured(),
    };
    words_in_shell(command.words())
}

/// The budget that a survey had, as it is typed.
pub fn budget_of(survey: &Survey) -> String {
    format!("{}s", survey.provenance.budget_s.ceil().max(1.0))
}

/// Returns the line that runs a command, which is quoted for a shell already, on a placement.
pub fn run_line(on: &str, memory: Option<&str>, roles: Option<&str>, command: &str) -> String {
    format!("{} {command}", typed(&suggested_command::run_winner(on, memory, roles, &[])))
}

/// A command line as it is typed in a shell.
pub fn words_in_shell(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    words.into_iter().map(|word| in_shell(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// A word as it is typed in a shell.
pub fn in_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:@%+".contains(c);
    // Characters that cannot be printed as they are become bytes in the notation of a shell (POSIX.1-2024, 2.2.4).
    let is_lost = |c: char| is_hidden(c) || c.is_whitespace() && c != ' ';
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain) {
        word.to_owned()
    } else if word.contains(is_lost) || printable(word) != word {
        let byte = |byte: &u8| match byte {
            b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
            b' '..=b'~' => char::from(*byte).to_string(),
            _ => format!("\\{byte:03o}"),
        };
        format!("$'{}'", word.as_bytes().iter().map(byte).collect::<String>())
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggestion_repeats_where_to_look() {
        let carried = CarriedOptions {
            store: Some("my store.db".into()),
            journals: Some("j".into()),
            own: Some(("keep".to_owned(), vec!["--user".to_owned()])),
        };
        let line = |command: SuggestedCommand| typed_with(&command, &carried);
        assert_eq!(
            line(suggested_command::survey_longer(None, "2m")),
            "corewise survey --budget 2m --store 'my store.db'"
        );
        assert_eq!(line(suggested_command::keep_plan()), "corewise keep plan --user --store 'my store.db' --journal j");
        assert_eq!(line(suggested_command::undo()), "corewise undo --journal j");
        assert_eq!(line(suggested_command::topology()), "corewise topology");
        assert_eq!(
            line(suggested_command::run_on("llc:0")),
            "corewise run --on llc:0 --store 'my store.db' --journal j -- ./app"
        );
        assert_eq!(line(suggested_command::ethtool_queues("eth0")), "ethtool -l eth0");
    }

    #[test]
    fn a_longer_look_is_the_same_measurement() {
        let how = TailOptions {
            explains: true,
            threshold_ns: Some(5000),
            work: Some("syscall".to_owned()),
            ..TailOptions::default()
        };
        let expected = "corewise tail --explain --threshold 5us --budget 40s --work syscall";
        assert_eq!(typed(&suggested_command::tail_again(&how, "40s")), expected);
    }

    #[test]
    fn a_word_in_a_shell_is_what_it_was_and_nothing_else() {
        for word in [
            "a b",
            "it's",
            "=ls",
            "$(id)\n;`id`",
            "\u{1b}]0;x\u{7}",
            "a\u{202e}'\\b",
            "e\u{301}\u{a0}",
            "日本",
            "",
            "-x",
        ] {
            let typed = in_shell(word);
            assert_eq!(printable(&typed), typed);
            let output = std::process::Command::new("bash").args(["-c", &format!("printf %s {typed}")]).output();
            match output {
                Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), word, "{typed}"),
                Err(_) => println!("skipped: there is no bash"),
            }
        }
    }
}
