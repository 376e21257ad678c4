//! Finding the last line of an output that a regular expression matches, in bounded memory and time.
//!
//! The text that every match contains ([`required_literal`]) is searched for first, and the search goes backwards: the
//! expression runs on few lines, even of an output in which every line matches.

use memchr::memmem;

use super::literal::required_literal;
use super::{PatternError, QuantityFinder};
use crate::metric_line;

/// Maximum bytes of a line given to the expression at a time; a longer line is searched in pieces.
const PIECE_BYTES: usize = 16 << 10;
/// Overlap of a line's pieces, so that a match lies whole in one of them.
const OVERLAP_BYTES: usize = 4 << 10;
/// Maximum bytes of an output kept before the expression runs.
const KEPT_BYTES: usize = 256 << 10;

/// A compiled expression with the text that each of its matches contains.
#[derive(Clone, Debug)]
pub struct LineSearch {
    finder: QuantityFinder,
    literal: Option<memmem::Finder<'static>>,
    /// The metric's name, if the expression was made for it.
    named: Option<String>,
}

/// The search was ended before it found anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchEndedError;

impl LineSearch {
    /// Compiles the expression of a metric. The metric's name may contain the unit of its numbers.
    ///
    /// # Errors
    /// If the expression is invalid or too large.
    pub fn for_metric(name: &str, pattern: &str) -> Result<Self, PatternError> {
        let finder = QuantityFinder::for_metric(name, pattern)?;
        let literal = required_literal(pattern).map(|literal| memmem::Finder::new(&literal).into_owned());
        let named = metric_line::is_by_name(name, pattern).then(|| name.to_owned());
        Ok(Self { finder, literal, named })
    }

    /// Returns the name of a metric that was named without an expression: it may be that of a document's number, too.
    pub fn document_name(&self) -> Option<&str> {
        self.named.as_deref()
    }

    /// Returns the expression.
    pub fn finder(&self) -> &QuantityFinder {
        &self.finder
    }

    /// Returns the last line that matches, or the piece of it that does. Lines end with a line feed or a carriage
    /// return.
    ///
    /// # Errors
    /// If `is_over`, which is called before each run of the expression, returns true.
    pub fn find_last_line(&self, text: &[u8], is_over: &dyn Fn() -> bool) -> Result<Option<String>, SearchEndedError> {
        let mut end = text.len();
        while let Some(found) = self.rfind_literal(&text[..end]) {
            let begin = text[..found].iter().rposition(is_line_end).map_or(0, |at| at + 1);
            let line_end = first_line_end(&text[found..end]).map_or(end, |at| found + at);
            if let Some(piece) = self.find_in_line(&text[begin..line_end], is_over)? {
                return Ok(Some(piece));
            }
            end = begin.saturating_sub(1);
        }
        Ok(None)
    }

    /// Returns the place of the last literal; without a literal, that of the last character that is not a line end.
    fn rfind_literal(&self, text: &[u8]) -> Option<usize> {
        match &self.literal {
            Some(literal) => memmem::rfind(text, literal.needle()),
            None => text.iter().rposition(|byte| !is_line_end(byte)),
        }
    }

    fn find_in_line(&self, line: &[u8], is_over: &dyn Fn() -> bool) -> Result<Option<String>, SearchEndedError> {
        let mut end = line.len();
        loop {
            let begin = end.checked_sub(PIECE_BYTES).map_or(0, |begin| after_word(line, begin));
            let piece = &line[begin..end];
            if self.literal.as_ref().is_none_or(|literal| literal.find(piece).is_some()) {
                if is_over() {
                    return Err(SearchEndedError);
                }
                let piece = String::from_utf8_lossy(piece);
                if self.finder.find_quantity(&piece).is_some() {
                    return Ok(Some(piece.into_owned()));
                }
            }
            if begin == 0 {
                return Ok(None);
            }
            end = after_word(line, begin + OVERLAP_BYTES / 2);
        }
    }
}

/// Returns the next place at or after `from` that is not within a word or a number; `from` if there is none nearby.
fn after_word(line: &[u8], from: usize) -> usize {
    let near = &line[from..line.len().min(from + OVERLAP_BYTES / 2)];
    near.iter().position(|byte| matches!(byte, b' ' | b'\t' | b',' | b';')).map_or(from, |at| from + at)
}

fn is_line_end(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn first_line_end(text: &[u8]) -> Option<usize> {
    memchr::memchr2(b'\n', b'\r', text)
}

/// Search through an output that comes in pieces; it keeps only parts that can still contain the last match.
#[derive(Debug)]
pub struct OutputSearch<'a> {
    search: &'a LineSearch,
    /// Complete lines that were not searched yet.
    kept: Vec<u8>,
    /// Beginning of an incomplete line.
    unfinished: Vec<u8>,
    found: Option<String>,
    has_ended: bool,
}

impl<'a> OutputSearch<'a> {
    /// Creates a search before the first byte.
    pub fn new(search: &'a LineSearch) -> Self {
        Self { search, kept: Vec::new(), unfinished: Vec::new(), found: None, has_ended: false }
    }

    /// Adds the next bytes of the output.
    pub fn add_bytes(&mut self, mut bytes: &[u8], is_over: &dyn Fn() -> bool) {
        if self.has_ended {
            return;
        }
        if !self.unfinished.is_empty() {
            let Some(end) = first_line_end(bytes) else { return self.extend_unfinished(bytes, is_over) };
            self.unfinished.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end..];
            let line = std::mem::take(&mut self.unfinished);
            self.keep_lines(&line, is_over);
            self.unfinished = line;
            self.unfinished.clear();
        }
        let whole = memchr::memrchr2(b'\n', b'\r', bytes).map_or(0, |at| at + 1);
        self.keep_lines(&bytes[..whole], is_over);
        self.extend_unfinished(&bytes[whole..], is_over);
    }

    /// Keeps the lines from the first to the last that may match.
    fn keep_lines(&mut self, lines: &[u8], is_over: &dyn Fn() -> bool) {
        let (mut begin, mut end) = (0, lines.len());
        if let Some(literal) = &self.search.literal {
            let Some(first) = literal.find(lines) else { return };
            let last = memmem::rfind(lines, literal.needle()).unwrap_or(first);
            begin = lines[..first].iter().rposition(is_line_end).map_or(0, |at| at + 1);
            end = first_line_end(&lines[last..]).map_or(lines.len(), |at| last + at);
        }
        if self.kept.len() + end - begin >= KEPT_BYTES {
            self.search_kept(is_over);
        }
        self.kept.extend_from_slice(&lines[begin..end]);
        self.kept.push(b'\n');
    }

    /// Extends the last line; if it becomes very long, its first part is searched now.
    fn extend_unfinished(&mut self, bytes: &[u8], is_over: &dyn Fn() -> bool) {
        self.unfinished.extend_from_slice(bytes);
        if self.unfinished.len() >= KEPT_BYTES {
            let rest = after_word(&self.unfinished, self.unfinished.len() - OVERLAP_BYTES);
            // Half of a word or a number is left to the next part.
            let end = after_word(&self.unfinished, self.unfinished.len() - OVERLAP_BYTES / 2);
            let long = std::mem::take(&mut self.unfinished);
            self.keep_lines(&long[..end], is_over);
            self.unfinished.extend_from_slice(&long[rest..]);
        }
    }

    fn search_kept(&mut self, is_over: &dyn Fn() -> bool) {
        match self.search.find_last_line(&self.kept, is_over) {
            Ok(found) => self.found = found.or(self.found.take()),
            Err(SearchEndedError) => self.has_ended = true,
        }
        self.kept.clear();
    }

    /// Returns the last line that matches; the last line of the output needs no end.
    ///
    /// # Errors
    /// If `is_over` ended the search, now or before.
    pub fn finish_search(mut self, is_over: &dyn Fn() -> bool) -> Result<Option<String>, SearchEndedError> {
        let last = std::mem::take(&mut self.unfinished);
        self.keep_lines(&last, is_over);
        self.search_kept(is_over);
        if self.has_ended { Err(SearchEndedError) } else { Ok(self.found) }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    fn search(pattern: &str) -> LineSearch {
        LineSearch::for_metric("", pattern).unwrap()
    }

    fn found_in_pieces(search: &LineSearch, text: &[u8], piece: usize) -> Option<String> {
        let mut output = OutputSearch::new(search);
        text.chunks(piece).for_each(|bytes| output.add_bytes(bytes, &|| false));
        output.finish_search(&|| false).unwrap()
    }

    fn found(pattern: &str, text: &str) -> Option<String> {
        let search = search(pattern);
        let whole = search.find_last_line(text.as_bytes(), &|| false).unwrap();
        for piece in [1, 3, 1_000, 65_536, text.len().max(1)] {
            assert_eq!(found_in_pieces(&search, text.as_bytes(), piece), whole, "{pattern} in pieces of {piece}");
        }
        whole
    }

    #[test]
    fn the_last_line_that_matches_counts() {
        assert_eq!(found("fps=([0-9]+)", "fps=0\rfps=1\r\n\n\nfps=2\nfps=x\nend").as_deref(), Some("fps=2"));
        assert_eq!(found("fps=([0-9]+)", "fps=x\n").as_deref(), None);
        assert_eq!(found("([0-9]+)", "7\na\n\n").as_deref(), Some("7"));
        assert_eq!(found("^$", ""), None);
        assert_eq!(found("a: ([0-9]+)$", "a: 5").as_deref(), Some("a: 5"), "the last line needs no end");
    }

    #[test]
    fn a_match_before_megabytes_of_others_is_found() {
        let others = "fps is not known yet\nsome 1 other line\n".repeat(30_000);
        assert_eq!(found("^fps=([0-9]+)$", &format!("fps=60\n{others}")).as_deref(), Some("fps=60"));
        assert_eq!(found("^([0-9]+)$", &format!("60\n{others}")).as_deref(), Some("60"));
    }

    #[test]
    fn a_number_in_a_line_of_a_megabyte_is_whole() {
        for before in (0..3 * OVERLAP_BYTES).step_by(97).chain([KEPT_BYTES - 20, KEPT_BYTES - 1, 3 * KEPT_BYTES]) {
            let line = format!("{} fps: 123456 {}", "x".repeat(before), "y, ".repeat(5_000));
            let found = found_in_pieces(&search("fps: ([0-9]+)"), line.as_bytes(), 4_093).unwrap();
            assert!(found.contains("fps: 123456 "), "behind {before} bytes");
            let any = found_in_pieces(&search("([0-9]+)"), line.as_bytes(), 4_093).unwrap();
            assert!(any.contains(" 123456 "), "behind {before} bytes");
        }
    }

    #[test]
    fn the_expression_runs_on_few_lines_and_short_pieces() {
        let runs = |pattern: &str, text: &str| {
            let (search, count) = (search(pattern), Cell::new(0));
            let mut output = OutputSearch::new(&search);
            let counted = || {
                count.set(count.get() + 1);
                false
            };
            text.as_bytes().chunks(65_536).for_each(|bytes| output.add_bytes(bytes, &counted));
            output.finish_search(&counted).unwrap();
            count.get()
        };
        let megabytes = "ops: 12\nanother line\n".repeat(200_000);
        assert!(runs("ops: ([0-9]+)", &megabytes) < 30, "one run for each part that is kept");
        assert!(runs("^([a-z]+) line$", &megabytes) < 30);
        assert_eq!(runs("absent: ([0-9]+)", &megabytes), 0, "the name comes before the expression");
    }

    #[test]
    fn whoever_interrupts_a_search_is_heard() {
        let (asked, text) = (Cell::new(0), "a".repeat(KEPT_BYTES));
        let is_over = || {
            asked.set(asked.get() + 1);
            asked.get() > 3
        };
        let search = search("(.*){50}[b]");
        assert_eq!(search.find_last_line("a\n".repeat(1_000).as_bytes(), &is_over), Err(SearchEndedError));
        assert_eq!(asked.get(), 4);
        let mut output = OutputSearch::new(&search);
        output.add_bytes(text.as_bytes(), &|| true);
        output.add_bytes(text.as_bytes(), &|| true);
        assert_eq!(output.finish_search(&|| false), Err(SearchEndedError), "what was left out may have been the match");
    }

    proptest! {
        #[test]
        fn pieces_give_the_same_as_the_whole(text in "[ab=1\n\r]{0,40}", piece in 1_usize..9) {
            for pattern in ["a=([0-9]+)", "([0-9]+)$", "^b", "a"] {
                let search = search(pattern);
                let line_by_line = text.split(['\n', '\r']).rfind(|line| search.finder().find_quantity(line).is_some());
                let found = found_in_pieces(&search, text.as_bytes(), piece);
                prop_assert_eq!(found.as_deref(), line_by_line, "{}", pattern);
            }
        }
    }
}
