//! Values of known keys in any text: `KEY=0-3`, `"key": "0-3"`, `key: [ "0-3" ]`, `--option 0-3`, `path/to/key:0-3`, `echo 0-3 > path/key`.

use super::text::TextPiece;

/// End of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueExtent {
    /// A word: up to a space, unless a comma joins two.
    Word,
    /// Words of numbers and ranges, as lists with spaces have them.
    Numbers,
    /// The rest of the line.
    Line,
}

/// A value with the key before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyedValue<'a> {
    /// The key as written.
    pub key: TextPiece<'a>,
    /// The value, without quotation marks and brackets; not empty.
    pub value: TextPiece<'a>,
}

/// Finds the values of a key, also as an option `--key`. `*` before it lets it end a path or a longer name with dots, `#` in it stands for
/// digits.
pub(super) fn find_values<'a>(text: TextPiece<'a>, key: &str, extent: ValueExtent) -> Vec<KeyedValue<'a>> {
    let mut found = Vec::new();
    let head = key.trim_start_matches('*').split('#').next().unwrap_or(key);
    if !text.text.contains(head) {
        return found;
    }
    for line in text.split(|c| c == '\n') {
        found.extend(keys_in(line, key).into_iter().filter_map(|(key, rest)| {
            let before = &line.text[..line.text.len() - rest.text.len() - key.text.len()];
            let is_option = key.text.starts_with('-') || before.ends_with("--");
            let value = value_after(rest, extent, is_option)?;
            Some(KeyedValue { key, value })
        }));
        found.extend(written_value(line, key));
    }
    found.retain(|found| !found.value.is_empty());
    found
}

/// Returns true if a text has a value of one of some keys.
pub(super) fn has_value(text: TextPiece<'_>, keys: impl IntoIterator<Item = &'static str>) -> bool {
    keys.into_iter().any(|key| !find_values(text, key, ValueExtent::Word).is_empty())
}

/// Returns the places of a key in a line, each with the rest behind it.
fn keys_in<'a>(line: TextPiece<'a>, key: &str) -> Vec<(TextPiece<'a>, TextPiece<'a>)> {
    let (is_ending, key) = key.strip_prefix('*').map_or((false, key), |key| (true, key));
    let head = key.split('#').next().unwrap_or(key);
    let mut found = Vec::new();
    for (from, _) in line.text.match_indices(head) {
        let Some(length) = match_length(&line.text[from..], key) else { continue };
        let (before, after) = (line.text[..from].chars().next_back(), line.text[from + length..].chars().next());
        let dashes = line.text[..from].trim_end_matches('-');
        let is_option = line.text[..from].ends_with("--") && !dashes.ends_with(char::is_alphanumeric);
        let is_begun = key.starts_with('/')
            || is_option
            || before.is_none_or(|c| match c {
                '/' | '.' => is_ending,
                '-' | '_' => false,
                c => !c.is_alphanumeric(),
            });
        let is_ended = key.ends_with('>') || after.is_none_or(|c| c.is_whitespace() || "=:\"'+)\\".contains(c));
        if is_begun && is_ended {
            found.push((line.sub_piece(from, from + length), line.sub_piece(from + length, line.text.len())));
        }
    }
    found
}

/// Returns the length of a key at the beginning of a text; `#` is one or more digits.
fn match_length(text: &str, key: &str) -> Option<usize> {
    let mut length = 0;
    for (index, part) in key.split('#').enumerate() {
        if index > 0 {
            let digits = text[length..].bytes().take_while(u8::is_ascii_digit).count();
            length += digits;
            if digits == 0 {
                return None;
            }
        }
        length += text[length..].starts_with(part).then_some(part.len())?;
    }
    Some(length)
}

/// Returns the value behind a key: after `=`, `:`, `+=` or white space, in quotation marks and brackets or without. Behind
/// a space only an option may have any value; other words stand in sentences.
fn value_after(rest: TextPiece<'_>, extent: ValueExtent, is_option: bool) -> Option<TextPiece<'_>> {
    let is_joint = |c: char| c.is_whitespace() || "=:\"'+\\".contains(c);
    let mut end = rest.text.find(|c| !is_joint(c)).unwrap_or(rest.text.len());
    // lscpu -J writes the field and its data as two pairs.
    let pair = rest.sub_piece(end, rest.text.len());
    let data = pair.strip_prefix(",").map(TextPiece::trim).and_then(|rest| rest.strip_prefix("\"data\":"));
    // The last quotation mark belongs to the value.
    let is_quote = |c: char| matches!(c, '"' | '\'');
    let is_assigned = rest.text[..end].contains(['=', ':']);
    if end > 1 && rest.text[..end].ends_with(is_quote) && is_assigned {
        end -= 1;
    }
    let value = data.unwrap_or(rest.sub_piece(end, rest.text.len()));
    let value = value.trim();
    let begins = |c: char| c.is_ascii_hexdigit() || "\"'[^!(".contains(c);
    // A block of a configuration file begins with a brace too.
    let is_place = value.strip_prefix("{").is_some_and(|inner| inner.text.starts_with(begins));
    if !is_assigned && !is_option && !value.text.starts_with(begins) && !is_place {
        return None;
    }
    Some(cut_value(value, extent))
}

/// Cuts a value from the beginning of a text.
fn cut_value(text: TextPiece<'_>, extent: ValueExtent) -> TextPiece<'_> {
    for mark in ['"', '\''] {
        let inside = text.text.strip_prefix(mark).and_then(|inside| inside.find(mark));
        if let Some(length) = inside {
            return text.sub_piece(1, 1 + length).trim();
        }
    }
    if let Some(inside) = inside_brackets(text) {
        return inside.trim();
    }
    if extent == ValueExtent::Line {
        let end = text.text.find([';', '"', '\'', '}']).unwrap_or(text.text.len());
        return text.sub_piece(0, end).trim();
    }
    let mut end = word_end(text.text, 0);
    loop {
        let gap = text.text[end..].len() - text.text[end..].trim_start().len();
        let next = &text.text[end + gap..];
        let next_end = word_end(next, 0);
        let is_number = |c: char| c.is_ascii_digit() || ",-:^".contains(c);
        let follows = extent == ValueExtent::Numbers && next_end > 0 && next[..next_end].chars().all(is_number);
        let is_joined = follows && next.starts_with(|c: char| c.is_ascii_digit() || c == '^')
            || text.text[..end].ends_with(',') && next.starts_with(|c: char| c.is_ascii_digit())
            || next.starts_with(',') && next[1..].trim_start().starts_with(|c: char| c.is_ascii_digit());
        if gap == 0 || !is_joined {
            break;
        }
        end = word_end(text.text, end + gap);
    }
    let word = text.sub_piece(0, end);
    word.strip_suffix(",").unwrap_or(word)
}

/// Returns the part between a bracket at the beginning and its counterpart.
fn inside_brackets(text: TextPiece<'_>) -> Option<TextPiece<'_>> {
    let mut depth = 0_usize;
    for (place, character) in text.text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' if depth == 1 => return Some(text.sub_piece(1, place)),
            ']' => depth -= 1,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Returns the end of a word; brackets hold it together.
fn word_end(text: &str, from: usize) -> usize {
    let mut depth = 0_usize;
    for (place, character) in text[from..].char_indices() {
        match character {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' if depth > 0 => depth -= 1,
            '}' | ']' | ')' => return from + place,
            c if depth == 0 && (c.is_whitespace() || ";\"'<>&`".contains(c)) => return from + place,
            _ => {}
        }
    }
    text.len()
}

/// Returns the value that a line writes into a file: `echo 0-3 > path/key`, `echo 0-3 | sudo tee path/key`, and systemd-tmpfiles'
/// `w path/key - - - - 0-3`. In a loop the file is a variable, and the line names the files elsewhere: `for f in */key; do echo 3 > $f; done`.
fn written_value<'a>(line: TextPiece<'a>, key: &str) -> Option<KeyedValue<'a>> {
    let key = key.strip_prefix('*').filter(|key| line.text.contains(key.trim_start_matches('/')))?;
    let is_command = |word: &TextPiece<'_>| matches!(word.text, "echo" | "printf");
    let mut words: Vec<TextPiece<'a>> = line.split_words().into_iter().map(trim_marks).collect();
    if !words.iter().any(is_command) {
        // The command may stand in quotation marks: sh -c 'echo 3 > file'.
        words = line.split(char::is_whitespace).into_iter().map(trim_marks).filter(|word| !word.is_empty()).collect();
    }
    let is_file = |word: &&TextPiece<'a>| {
        let folder = word.text.strip_suffix(key);
        word.text == key || folder.is_some_and(|folder| key.starts_with('/') || folder.ends_with(['/', '.', '>']))
    };
    let first = words.first()?;
    if first.text.len() <= 2 && first.text.starts_with('w') {
        let (file, value) = (words.get(1).filter(is_file)?, words.get(6)?);
        return Some(KeyedValue { key: *file, value: *value });
    }
    let echo = words.iter().position(is_command)?;
    let is_option = |word: &&TextPiece<'a>| word.text.starts_with('-') && word.text.len() == 2;
    let value = words.get(echo + 1 + usize::from(words.get(echo + 1).filter(is_option).is_some()))?;
    let written = words[echo..].iter().position(|word| word.text.starts_with('>') || word.text.ends_with("tee"));
    let target = written.map(|place| &words[echo + place..]).and_then(|rest| match rest {
        [arrow, ..] if arrow.text.len() > 1 && arrow.text.starts_with('>') => Some(arrow),
        [_, others @ ..] => others.iter().find(|word| !word.text.starts_with('-')),
        [] => None,
    })?;
    let is_of_loop =
        target.text.starts_with(['$', '{']) && words[..echo].iter().any(|word| matches!(word.text, "for" | "find"));
    let named = if is_of_loop { words.iter().find(is_file) } else { Some(target).filter(is_file) };
    named.map(|file| KeyedValue { key: *file, value: *value })
}

/// Removes the marks around a word of a command in a command: quotation marks, semicolons, parentheses.
fn trim_marks(word: TextPiece<'_>) -> TextPiece<'_> {
    let is_mark = |c: char| "\"';()".contains(c);
    let begin = word.text.len() - word.text.trim_start_matches(is_mark).len();
    let end = word.text.trim_end_matches(is_mark).len().max(begin);
    word.sub_piece(begin, end)
}
