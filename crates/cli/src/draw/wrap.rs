//! Word wrap, and text that must stay on one line.

use super::text::{NO_BREAK, StyledLine};

/// Maximum columns of a word; "…" replaces the rest.
const LONGEST_WORD: usize = 4000;
/// Width that stands for none, as in a pipe: no cell is cut, and sentences are as wide as a page.
pub const UNBOUNDED_WIDTH: usize = 1000;
/// Columns of sentences and charts where there is no width.
const PAGE_WIDTH: usize = 100;

/// Returns the width of sentences and charts: that of a page where there is none.
pub const fn page_width(width: usize) -> usize {
    if width >= UNBOUNDED_WIDTH { PAGE_WIDTH } else { width }
}

/// Breaks a line at spaces so that it fits; lines after the first begin with `hanging` spaces. Unbreakable text wider
/// than the terminal is broken between its words, and a word if necessary. A line that fits is left as it is.
pub fn wrap_line(line: &StyledLine, width: usize, hanging: usize) -> Vec<StyledLine> {
    let width = page_width(width);
    if line.is_empty() || line.width() <= width {
        return if line.is_empty() { Vec::new() } else { vec![line.clone()] };
    }
    let hanging = hanging.min(width / 2);
    let indented = || StyledLine::new().plain(" ".repeat(hanging));
    let mut lines = Vec::new();
    let (mut current, mut is_bare) = (StyledLine::new(), true);
    for (gap, word) in line.split_words() {
        let mut word = word.cut_to(LONGEST_WORD);
        if !is_bare && current.width() + gap + word.width() > width {
            lines.push(std::mem::replace(&mut current, indented()));
            is_bare = true;
        }
        if !is_bare || lines.is_empty() {
            let tone = current.last_tone().filter(|tone| Some(*tone) == word.first_tone()).unwrap_or_default();
            current = current.with(tone, " ".repeat(gap.min(width / 2)));
        }
        while current.width() + word.width() > width {
            // A wide character takes two, however narrow the terminal.
            let room = width.saturating_sub(current.width()).max(2);
            let (head, rest) = word.clone().split_at_no_break(room).unwrap_or_else(|| word.split_at(room));
            lines.push(std::mem::replace(&mut current, indented()).then(head));
            word = rest;
        }
        is_bare = false;
        current = current.then(word);
    }
    lines.push(current);
    lines
}

/// Glues numbers to their unit and their interval: "77 %", "2.9x [2.6, 3.1]".
pub fn glue_numbers(sentence: &str) -> String {
    let words: Vec<&str> = sentence.split(' ').collect();
    let mut text = String::new();
    let mut in_interval = false;
    for (index, word) in words.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| words[before]);
        let after_number = before.is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit()));
        let is_unit = UNITS.contains(&word.trim_end_matches(|c: char| ".,;:)]".contains(c)));
        let glue = in_interval || (after_number && is_unit) || (word.starts_with('[') && before.is_some());
        if index > 0 {
            text.push(if glue { NO_BREAK } else { ' ' });
        }
        text.push_str(word);
        in_interval = (in_interval || word.starts_with('[')) && !word.contains(']');
    }
    text
}

const UNITS: [&str; 8] = ["%", "ns", "µs", "ms", "s", "GHz", "MB", "GB"];

/// Glues all words of a text to one line.
pub fn glue_words(text: &str) -> String {
    text.replace(' ', &NO_BREAK.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, width: usize, hanging: usize) -> Vec<String> {
        wrap_line(&StyledLine::new().plain(text), width, hanging).iter().map(StyledLine::to_plain).collect()
    }

    #[test]
    fn lines_break_at_spaces_and_hang() {
        assert_eq!(wrapped(" 1  cpu 0 is interrupted often", 16, 4), [" 1  cpu 0 is", "    interrupted", "    often"]);
        assert_eq!(wrapped("", 10, 2), Vec::<String>::new());
        assert_eq!(wrapped("16\u{a0}cores, 32\u{a0}cpus", 10, 0), ["16 cores,", "32 cpus"]);
    }

    #[test]
    fn numbers_keep_their_units_and_intervals() {
        let marked = |text: &str| glue_numbers(text).replace(NO_BREAK, "_");
        assert_eq!(marked("2.9x [2.6, 3.1] as often (timer 33 %, x)"), "2.9x_[2.6,_3.1] as often (timer 33_%, x)");
        assert_eq!(marked("it takes 12 ns more"), "it takes 12_ns more");
        assert_eq!(marked("cpus [0"), "cpus_[0");
    }

    #[test]
    fn a_word_wider_than_the_terminal_is_broken() {
        assert_eq!(
            wrapped("see /a/very/long/path/indeed now", 12, 2),
            ["see", "  /a/very/lo", "  ng/path/in", "  deed now"]
        );
    }

    #[test]
    fn what_stays_together_is_broken_between_words_where_it_is_too_wide() {
        let cores = glue_words("8 of 16 cores: 7 whole, 1 in part");
        assert_eq!(wrapped(&format!("Of  {cores}"), 24, 4), ["Of", "    8 of 16 cores: 7", "    whole, 1 in part"]);
        assert_eq!(wrapped(&cores, 20, 4), ["8 of 16 cores: 7", "    whole, 1 in part"]);
    }
}
