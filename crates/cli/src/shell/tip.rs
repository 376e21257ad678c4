//! What to type instead, where options of another tool were taken for our own: `place --from taskset -c 0-3`.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use corewise_model::links::map::{Origin, Provenance};

use crate::draw::printable::{is_hidden, printable};

/// Options of `place` that take a value, and those that take none, which may stand behind the other tool's text.
const VALUED: [&str; 6] = ["--as", "--from", "--machine", "--color", "--width", "--store"];
const PLAIN: [&str; 2] = ["--json", "--no-store"];

/// The error with the whole line that was meant, where that can be told.
pub fn with_whole_line(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let line = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(unknown))) => meant(words, unknown),
        _ => None,
    };
    if let Some(line) = line {
        let tip = format!("options of another tool come after '--': {line}").into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// The line with `--` before the unknown option, our own options before it.
fn meant(words: &[OsString], unknown: &str) -> Option<String> {
    let words: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let is_from = |word: &&str| *word == "--from" || word.starts_with("--from=");
    if words.get(1) != Some(&"place") || !words.iter().any(is_from) || words.contains(&"--") {
        return None;
    }
    let place = words.iter().position(|word| *word == unknown || word.starts_with(unknown))?;
    let (mut ours, mut theirs) = (vec!["corewise"], vec!["--"]);
    let mut rest = words[1..place].iter().chain(&words[place..]).copied().enumerate();
    while let Some((index, word)) = rest.next() {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        let is_ours = VALUED.contains(&name) || PLAIN.contains(&name);
        let list = if is_ours || index == 0 { &mut ours } else { &mut theirs };
        list.push(word);
        if VALUED.contains(&word) {
            ours.extend(rest.next().map(|(_, value)| value));
        }
    }
    Some(words_in_shell(ours.into_iter().chain(theirs)))
}

/// A command line as it is typed in a shell.
pub fn words_in_shell(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    words.into_iter().map(|word| in_shell(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// The command that makes a map again, `import` being what its command calls that.
pub fn made_again(provenance: &Provenance, command: &str, import: &str) -> String {
    match &provenance.origin {
        Origin::Imported { file, .. } => words_in_shell(["corewise", command, import, file]),
        Origin::Simulated { file } => {
            format!("{} --seed {}", words_in_shell(["corewise", command, "--simulate", file]), provenance.seed)
        }
        Origin::Measured => format!("corewise {command}"),
    }
}

/// A word as it is typed in a shell.
pub fn in_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:@%+".contains(c);
    // What would be printed as something else is written as its bytes, which a shell reads (POSIX.1-2024, 2.2.4).
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

    fn line(text: &str, unknown: &str) -> Option<String> {
        meant(&text.split(' ').map(OsString::from).collect::<Vec<_>>(), unknown)
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
