//! Pieces of a text with their position, so that an error can point at its character.

use super::NotationChoice;
use crate::cpu_set::MAXIMUM_CPU;

/// A piece of the text being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextPiece<'a> {
    /// Text of the piece.
    pub text: &'a str,
    /// Start, in bytes from the beginning of the whole text.
    at: usize,
}

/// A mistake in a piece.
#[derive(Debug)]
pub(super) struct TextFault {
    /// Start, in bytes from the beginning of the whole text.
    pub at: usize,
    /// Length, in characters.
    pub length: usize,
    /// The mistake.
    pub what: String,
    /// The correct form, if known.
    pub hint: Option<String>,
    /// Possible meanings, if the text has several.
    pub choices: Vec<NotationChoice>,
    /// True if the piece is understood and names no cpus, so that other parts of a text may.
    pub is_silent: bool,
}

impl TextFault {
    /// Adds the correct form.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Marks the fault of a piece that is understood and names no cpus.
    pub fn into_silent(mut self) -> Self {
        self.is_silent = true;
        self
    }

    /// Adds the possible meanings.
    pub fn with_choices(mut self, choices: Vec<NotationChoice>) -> Self {
        self.choices = choices;
        self
    }
}

impl<'a> TextPiece<'a> {
    /// Creates the piece of a whole text.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Creates a fault of this piece.
    pub fn fault_here(self, what: impl Into<String>) -> TextFault {
        TextFault {
            at: self.at,
            length: self.text.chars().count().max(1),
            what: what.into(),
            hint: None,
            choices: Vec::new(),
            is_silent: false,
        }
    }

    pub fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// Returns the part between two byte offsets.
    pub fn sub_piece(self, from: usize, to: usize) -> Self {
        Self { text: &self.text[from..to], at: self.at + from }
    }

    pub fn trim(self) -> Self {
        let lead = self.text.len() - self.text.trim_start().len();
        self.sub_piece(lead, lead + self.text.trim().len())
    }

    pub fn strip_prefix(self, prefix: &str) -> Option<Self> {
        let rest = self.text.strip_prefix(prefix)?;
        Some(self.sub_piece(self.text.len() - rest.len(), self.text.len()))
    }

    pub fn strip_suffix(self, suffix: &str) -> Option<Self> {
        Some(self.sub_piece(0, self.text.strip_suffix(suffix)?.len()))
    }

    /// Removes a prefix, ignoring case.
    pub fn strip_word(self, prefix: &str) -> Option<Self> {
        let begins = self.text.get(..prefix.len())?.eq_ignore_ascii_case(prefix);
        begins.then(|| self.sub_piece(prefix.len(), self.text.len()))
    }

    /// Splits at the first occurrence of a character.
    pub fn split_once(self, separator: char) -> Option<(Self, Self)> {
        let place = self.text.find(separator)?;
        Some((self.sub_piece(0, place), self.sub_piece(place + separator.len_utf8(), self.text.len())))
    }

    /// Returns the rest after the first occurrence of a text.
    pub fn text_after(self, text: &str) -> Option<Self> {
        let place = self.text.find(text)?;
        Some(self.sub_piece(place + text.len(), self.text.len()))
    }

    /// Splits at separators; empty pieces are kept.
    pub fn split(self, separates: impl Fn(char) -> bool) -> Vec<Self> {
        let mut pieces = Vec::new();
        let mut from = 0;
        for (place, character) in self.text.char_indices().filter(|(_, character)| separates(*character)) {
            pieces.push(self.sub_piece(from, place));
            from = place + character.len_utf8();
        }
        pieces.push(self.sub_piece(from, self.text.len()));
        pieces
    }

    /// Splits into characters.
    pub fn split_characters(self) -> impl Iterator<Item = Self> {
        self.text.char_indices().map(move |(place, character)| self.sub_piece(place, place + character.len_utf8()))
    }

    /// Returns the non-empty lines, trimmed.
    pub fn split_lines(self) -> Vec<Self> {
        self.split(|c| c == '\n').into_iter().map(Self::trim).filter(|line| !line.is_empty()).collect()
    }

    /// Splits a command line into words at white space outside quotation marks, which are kept.
    pub fn split_words(self) -> Vec<Self> {
        let mut words = Vec::new();
        let (mut from, mut quoted) = (0, None);
        for (place, character) in self.text.char_indices() {
            match quoted {
                Some(mark) if mark == character => quoted = None,
                None if matches!(character, '"' | '\'') => quoted = Some(character),
                None if character.is_whitespace() => {
                    words.push(self.sub_piece(from, place));
                    from = place + character.len_utf8();
                }
                _ => {}
            }
        }
        words.push(self.sub_piece(from, self.text.len()));
        words.retain(|word| !word.is_empty());
        words
    }

    /// Removes quotation marks around the piece.
    pub fn without_quotes(self) -> Self {
        let inside = |mark: &str| self.strip_prefix(mark)?.strip_suffix(mark);
        inside("\"").or_else(|| inside("'")).unwrap_or(self)
    }

    /// Returns the text from the start of this piece to the end of a later one; both are parts of `whole`.
    pub fn up_to(self, last: Self, whole: Self) -> Self {
        whole.sub_piece(self.at - whole.at, last.at - whole.at + last.text.len())
    }

    /// Returns the text from the start of this piece to the end of `whole`, which contains it.
    pub fn to_end_of(self, whole: Self) -> Self {
        whole.sub_piece(self.at - whole.at, whole.text.len())
    }

    /// Reads a number, at most [`MAXIMUM_CPU`].
    pub fn read_number(self, expected: &str) -> Result<u32, TextFault> {
        let piece = self.trim();
        if piece.is_empty() || !piece.text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(piece.fault_here(format!("expected {expected}, found \"{}\"", piece.text)));
        }
        match piece.text.parse::<u32>() {
            Ok(number) if number <= MAXIMUM_CPU => Ok(number),
            _ => Err(piece.fault_here(format!("{} is above {MAXIMUM_CPU}, the largest supported number", piece.text))),
        }
    }
}
