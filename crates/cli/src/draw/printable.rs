//! Sanitizer of text from outside: names, output and files of others become text that is safe on a terminal and a
//! page. Control characters and invisible characters are written as their number, and addresses lose their credentials.

use corewise_model::credentials::hide_credentials;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Maximum columns of a name; "…" replaces the rest. Ordinary names of threads, benchmarks, devices and placements are
/// shorter.
pub const LONGEST_NAME: usize = 80;
/// Maximum columns of a line of a program's output.
pub const LONGEST_OUTPUT_LINE: usize = 400;
/// Maximum number of combining marks on a character, as living scripts use; more of them cover other lines.
const MOST_MARKS: usize = 4;

/// Returns true if a character is not shown as itself. That includes controls (C0, DEL, C1), format characters
/// (general category Cf: bidi controls, joiners, tags), and line and paragraph separators. It also includes what
/// Unicode 17 gives no glyph (Default_Ignorable_Code_Point, among them variation selectors and fillers),
/// noncharacters, and planes without characters.
pub fn is_hidden(character: char) -> bool {
    // Most are of ASCII.
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    character.is_control()
        || character as u32 & 0xfffe == 0xfffe
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
            | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{40000}'..='\u{effff}')
}

/// Escapes hidden characters, for instance as `\u{202e}`. Combining marks without a base character, or too many of
/// them, are escaped as well. Replaces credentials. Idempotent.
pub fn make_printable(text: &str) -> String {
    let text = &*hide_credentials(text);
    let mut shown = String::with_capacity(text.len());
    let mut room = 0;
    for character in text.chars() {
        let is_mark = character.width() == Some(0);
        if is_hidden(character) || is_mark && room == 0 {
            shown.extend(character.escape_unicode());
            room = 0;
            continue;
        }
        shown.push(character);
        room = match character {
            _ if is_mark => room - 1,
            _ if character.is_whitespace() => 0,
            _ => MOST_MARKS,
        };
    }
    shown
}

/// Applies [`make_printable`] to each line.
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(make_printable).collect::<Vec<_>>().join("\n")
}

/// Sanitizes a name from outside: printable and at most [`LONGEST_NAME`] columns.
pub fn printable_name(name: &str) -> String {
    printable_prefix(name, LONGEST_NAME)
}

/// Returns the last lines of a program's output: printable, tabs as spaces, at most [`LONGEST_OUTPUT_LINE`] columns.
pub fn last_lines(output: &str, most: usize) -> Vec<String> {
    let lines: Vec<&str> = output.lines().collect();
    let last = &lines[lines.len().saturating_sub(most)..];
    last.iter().map(|line| printable_prefix(&line.replace('\t', "    "), LONGEST_OUTPUT_LINE)).collect()
}

/// Returns printable text of at most this many columns, with "…" if it was cut.
pub fn printable_prefix(text: &str, columns: usize) -> String {
    // Before the text is cut, perhaps within credentials.
    let text = &*hide_credentials(text);
    // Characters beyond this cannot be shown: each takes a column, or is one of few marks on another.
    let most = columns.saturating_mul(1 + MOST_MARKS).saturating_add(1);
    let end = text.char_indices().nth(most).map_or(text.len(), |(place, _)| place);
    let shown = make_printable(&text[..end]);
    if text_width(&shown) <= columns {
        return shown;
    }
    let (head, _) = split_at_width(&shown, columns.saturating_sub(1));
    format!("{head}{}", if columns > 0 { "…" } else { "" })
}

/// Returns the terminal columns of a printable text (Unicode Standard Annex 11; marks take none, wide characters two).
pub fn text_width(text: &str) -> usize {
    text.width()
}

/// Splits printable text so that the first part fits in this many columns; a character keeps its marks.
pub fn split_at_width(text: &str, columns: usize) -> (&str, &str) {
    let mut taken = 0;
    for (place, character) in text.char_indices() {
        let own = character.width().unwrap_or(0);
        if own > 0 && taken + own > columns {
            return text.split_at(place);
        }
        taken += own;
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_or_hides_is_seen_as_its_number() {
        for (text, shown) in [
            ("AMD\u{1b}[2JRyzen\n", r"AMD\u{1b}[2JRyzen\u{a}"),
            ("\u{7}\u{7f}\u{9b}31m", r"\u{7}\u{7f}\u{9b}31m"),
            ("a\u{202e}b\u{2066}c\u{200d}\u{feff}", r"a\u{202e}b\u{2066}c\u{200d}\u{feff}"),
            ("\u{2028}\u{fffe}\u{10ffff}\u{e0041}\u{fe0f}\u{ad}", r"\u{2028}\u{fffe}\u{10ffff}\u{e0041}\u{fe0f}\u{ad}"),
            ("Größe 日本語 👋 µs – ✓", "Größe 日本語 👋 µs – ✓"),
            ("\u{301}e\u{301} \u{338}", "\\u{301}e\u{301} \\u{338}"),
        ] {
            assert_eq!(make_printable(text), shown);
            assert_eq!(make_printable(shown), shown);
        }
        let piled = format!("o{}", "\u{302}".repeat(6));
        assert_eq!(make_printable(&piled), format!("o{}\\u{{302}}\\u{{302}}", "\u{302}".repeat(4)));
    }

    #[test]
    fn no_credentials_are_shown_even_of_an_address_that_is_cut() {
        assert_eq!(make_printable("wrk http://a:b@c/\u{202e}"), "wrk http://***@c/\\u{202e}");
        let long = format!("http://user:{}@host/", "secret".repeat(LONGEST_NAME));
        assert_eq!(printable_name(&long), "http://***@host/");
    }

    #[test]
    fn width_is_that_of_a_terminal_and_characters_stay_whole() {
        assert_eq!([text_width("日本"), text_width("e\u{301}"), text_width("👋"), text_width("abc")], [4, 1, 2, 3]);
        assert_eq!(split_at_width("日本語", 3), ("日", "本語"));
        assert_eq!(split_at_width("e\u{301}x", 1), ("e\u{301}", "x"));
        assert_eq!(split_at_width("日", 1), ("", "日"));
    }

    #[test]
    fn only_names_that_are_not_ordinary_are_cut() {
        let ordinary = "spread(16, llc) + pack(8, package:1) - core:0";
        assert_eq!(printable_name(ordinary), ordinary);
        assert_eq!(text_width(&printable_name(&"日".repeat(1_000_000))), LONGEST_NAME - 1);
        assert_eq!(text_width(&printable_name(&"\u{1b}".repeat(1_000_000))), LONGEST_NAME);
        assert_eq!(last_lines("one\ntwo\tthree\nfour", 2), ["two    three", "four"]);
    }
}
