//! Commands inside any text: behind prefixes such as `sudo` or `env X=Y`, in unit files, scripts, `sh -c "…"` and JSON arrays.

use super::text::TextPiece;

/// Returns the arguments of each command of a program, up to the end of its statement. Words before the program,
/// such as `sudo`, `nice -n 5` or `chrt -f 1`, do not change its meaning.
pub(super) fn find_commands<'a>(
    text: TextPiece<'a>,
    is_program: impl Fn(&str) -> bool + Copy,
) -> Vec<Vec<TextPiece<'a>>> {
    let mut commands = Vec::new();
    for line in text.split_lines() {
        let words = deep_words(line, is_program);
        for (place, word) in words.iter().enumerate() {
            if is_program(program_name(*word)) && !is_mentioned(&words[..place]) {
                commands.push(statement(&words[place + 1..]));
            }
        }
    }
    commands
}

/// Returns true if a text calls one of some programs.
pub(super) fn has_command(text: TextPiece<'_>, is_program: impl Fn(&str) -> bool + Copy) -> bool {
    !find_commands(text, is_program).is_empty()
}

/// Words before a program's name that make it a subject and not a call.
const MENTIONS: [&str; 10] = ["man", "which", "install", "apt", "dnf", "yum", "apk", "pacman", "whatis", "help"];

fn is_mentioned(before: &[TextPiece<'_>]) -> bool {
    before.last().is_some_and(|word| MENTIONS.contains(&word.text))
}

/// Returns a word's program: without path, and without the key of `ExecStart=/usr/bin/taskset`.
fn program_name(word: TextPiece<'_>) -> &str {
    // systemd takes marks before a program: ExecStart=-/usr/bin/app
    let behind_key = match word.text.split_once('=') {
        Some((key, value)) if key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => {
            value.trim_start_matches(['"', '\'', '-', '@', '+', '!', ':'])
        }
        _ => word.text,
    };
    let name = behind_key.rsplit(['/', '\\']).next().unwrap_or(behind_key);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Splits a line into words; a quoted word that holds a call is split too.
fn deep_words<'a>(line: TextPiece<'a>, is_program: impl Fn(&str) -> bool + Copy) -> Vec<TextPiece<'a>> {
    let mut words = Vec::new();
    for word in line.split_words() {
        let quoted = word.text.find(['"', '\'']).map(|place| word.sub_piece(place, word.text.len()));
        let inner = quoted.map(trim_marks).filter(|inner| inner.text.contains(char::is_whitespace));
        let is_call =
            |inner: &TextPiece<'_>| inner.split_words().iter().any(|word| is_program(program_name(trim_marks(*word))));
        match inner.filter(is_call) {
            Some(inner) => words.extend(deep_words(inner, is_program)),
            // The elements of an array without spaces.
            None if word.text.contains("\",\"") => words.extend(word.split(|c| c == ',').into_iter().map(trim_marks)),
            None => words.push(trim_marks(word)),
        }
    }
    words
}

/// Removes the marks of arrays and quotations around a word; keeps a separator of statements.
fn trim_marks(word: TextPiece<'_>) -> TextPiece<'_> {
    let start = word.text.len() - word.text.trim_start_matches(['"', '\'', '[', '`']).len();
    // The mark at the end of --opt='x' has its own beginning.
    let is_odd = |mark: char| word.text.ends_with(mark) && word.text.matches(mark).count() % 2 == 1;
    let end = match start > 0 || is_odd('"') || is_odd('\'') {
        true => word.text.trim_end_matches(['"', '\'', ']', '`', ',']).len(),
        false => word.text.len(),
    };
    word.sub_piece(start.min(end), end)
}

/// Returns the words up to the first separator.
fn statement<'a>(words: &[TextPiece<'a>]) -> Vec<TextPiece<'a>> {
    let mut taken = Vec::new();
    for word in words {
        if matches!(word.text, "&&" | "||" | "|" | "&" | ";" | "\\") {
            break;
        }
        match word.strip_suffix(";") {
            Some(last) => {
                taken.push(last);
                break;
            }
            None => taken.push(*word),
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        let commands = find_commands(TextPiece::new(text), |name| name == "taskset");
        let line = |words: &Vec<TextPiece<'_>>| words.iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
        commands.iter().map(line).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn a_call_is_found_behind_anything() {
        assert_eq!(found("sudo nice -n -5 env A=b taskset -c 0-3 app"), "-c 0-3 app");
        assert_eq!(found("ExecStart=/usr/bin/taskset -c 1 app"), "-c 1 app");
        assert_eq!(found("ExecStart=-/usr/bin/taskset -c 1 app"), "-c 1 app");
        assert_eq!(found("bash -c \"taskset 0x3 a; taskset 0xc b\""), "0x3 a|0xc b");
        assert_eq!(found("command: [\"taskset\", \"-c\", \"0-3\", \"app\"]"), "-c 0-3 app");
        assert_eq!(found("[\"taskset\",\"-c\",\"0-3\"]"), "-c 0-3");
        assert_eq!(found("make && taskset -c 1 a && b"), "-c 1 a");
        assert_eq!(found("man taskset; echo tasksets"), "");
    }
}
