//! Formats suggested commands for typing: quoted for a shell, and with the options that this process was given, such as `--store`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::artifact::{ArtifactOrigin, ArtifactProvenance, PAGE_FORMAT};
use corewise_model::credentials::{hide_credentials, hide_in_words};

use super::printable::{is_hidden, make_printable};

/// Typed options that suggested commands repeat, by the command's name. Without them a command would look elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarriedOptions {
    /// Words of each command's options; commands that repeat nothing are absent.
    pub by_command: BTreeMap<String, Vec<String>>,
}

/// Options that suggestions of this process repeat. They are global because some hundred sentences suggest a command, also on the
/// thread that answers signals.
static CARRIED: Mutex<CarriedOptions> = Mutex::new(CarriedOptions { by_command: BTreeMap::new() });

fn replace_carried(options: CarriedOptions) -> CarriedOptions {
    std::mem::replace(&mut *CARRIED.lock().unwrap_or_else(PoisonError::into_inner), options)
}

/// Sets the options that all suggestions of this process repeat.
pub fn carry_options(options: CarriedOptions) {
    replace_carried(options);
}

/// Runs `make` for output meant for other people, such as a page. Its suggestions repeat no options typed here.
pub fn write_for_others<T>(make: impl FnOnce() -> T) -> T {
    let before = replace_carried(CarriedOptions::default());
    let made = make();
    replace_carried(before);
    made
}

/// Returns the line that a user types here.
pub fn format_typed(command: &SuggestedCommand) -> String {
    format_typed_with(command, &CARRIED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Returns the same line between backquotes, for a sentence.
pub fn format_mention(command: &SuggestedCommand) -> String {
    format!("`{}`", format_typed(command))
}

fn format_typed_with(command: &SuggestedCommand, carried: &CarriedOptions) -> String {
    quote_words(repeat_options(command, carried).words())
}

/// Returns the command with the options that it repeats.
pub fn repeat_options(command: &SuggestedCommand, carried: &CarriedOptions) -> SuggestedCommand {
    let options = command.command().and_then(|name| carried.by_command.get(name));
    command.clone().with_options(options.into_iter().flatten().cloned())
}

/// Returns the line that makes a map again, by the command of its origin.
pub fn repeat_map(
    provenance: &ArtifactProvenance,
    imported: fn(&str) -> SuggestedCommand,
    simulated: fn(&str, u64) -> SuggestedCommand,
    measured: fn() -> SuggestedCommand,
) -> String {
    let command = match &provenance.origin {
        ArtifactOrigin::Imported { file, format, .. } if format == PAGE_FORMAT => {
            suggested_command::history_import_page(file)
        }
        ArtifactOrigin::Imported { file, .. } => imported(file),
        ArtifactOrigin::Simulated { file } => simulated(file, provenance.seed),
        ArtifactOrigin::Measured => measured(),
    };
    quote_words(command.words())
}

/// Returns the line that runs a command, which is quoted for a shell already, on a placement.
pub fn run_line(on: &str, memory: Option<&str>, roles: Option<&str>, command: &str) -> String {
    format!("{} {command}", format_typed(&suggested_command::run_winner(on, memory, roles, &[])))
}

/// Quotes a command line for a shell, without credentials.
pub fn quote_words(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let words: Vec<_> = words.into_iter().collect();
    hide_in_words(words.iter().map(AsRef::as_ref)).map(|word| quote_word(&word)).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a shell, without credentials.
pub fn quote_word(word: &str) -> String {
    let word = &*hide_credentials(word);
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:@%+".contains(c);
    // Characters that cannot be printed as they are become bytes in the notation of a shell (POSIX.1-2024, 2.2.4).
    let is_lost = |c: char| is_hidden(c) || c.is_whitespace() && c != ' ';
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain) {
        word.to_owned()
    } else if word.contains(is_lost) || make_printable(word) != word {
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
        let store = ["--store", "my store.db"].map(str::to_owned);
        let keep = [vec!["--user".to_owned()], store.to_vec()].concat();
        let by_command = [("survey".to_owned(), store.to_vec()), ("keep".to_owned(), keep)].into();
        let carried = CarriedOptions { by_command };
        let line = |command: SuggestedCommand| format_typed_with(&command, &carried);
        assert_eq!(
            line(suggested_command::survey_longer(None, "2m")),
            "corewise survey --budget 2m --store 'my store.db'"
        );
        assert_eq!(line(suggested_command::keep_plan()), "corewise keep plan --user --store 'my store.db'");
        assert_eq!(line(suggested_command::topology()), "corewise topology");
        assert_eq!(line(suggested_command::ethtool_queues("eth0")), "ethtool -l eth0");
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
            let typed = quote_word(word);
            assert_eq!(make_printable(&typed), typed);
            let output = std::process::Command::new("bash").args(["-c", &format!("printf %s {typed}")]).output();
            match output {
                Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), word, "{typed}"),
                Err(_) => println!("skipped: there is no bash"),
            }
        }
    }
}
