//! Pieces of a text that know where they stand in it, so that an error can point at its character.

use crate::cpu_set::MAXIMUM_CPU;

/// A piece of the text that is being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    /// What it says.
    pub text: &'a str,
    /// Where it begins, in bytes from the beginning of the whole text.
    at: usize,
}

/// What is wrong with a piece.
#[derive(Debug)]
pub(super) struct Fault {
    /// Where it begins, in bytes from the beginning of the whole text.
    pub at: usize,
    /// How long it is, in characters.
    pub length: usize,
    /// What is wrong.
    pub what: String,
    /// What to write instead, where that is known.
    pub hint: Option<String>,
}

impl Fault {
    /// The same fault with what to write instead.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl<'a> Piece<'a> {
    /// The whole text.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// What is wrong with this piece.
    pub fn fault(self, what: impl Into<String>) -> Fault {
        Fault { at: self.at, length: self.text.chars().count().max(1), what: what.into(), hint: None }
    }

    pub fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// The piece from one byte of it to another.
    fn part(self, from: usize, to: usize) -> Self {
        Self { text: &self.text[from..to], at: self.at + from }
    }

    pub fn trim(self) -> Self {
        let lead = self.text.len() - self.text.trim_start().len();
        self.part(lead, lead + self.text.trim().len())
    }

    pub fn strip_prefix(self, prefix: &str) -> Option<Self> {
        let rest = self.text.strip_prefix(prefix)?;
        Some(self.part(self.text.len() - rest.len(), self.text.len()))
    }

    pub fn strip_suffix(self, suffix: &str) -> Option<Self> {
        Some(self.part(0, self.text.strip_suffix(suffix)?.len()))
    }

    /// The piece without its beginning, whatever the case of its letters.
    pub fn strip_word(self, prefix: &str) -> Option<Self> {
        let begins = self.text.get(..prefix.len())?.eq_ignore_ascii_case(prefix);
        begins.then(|| self.part(prefix.len(), self.text.len()))
    }

    /// What stands before and after the first of a character.
    pub fn split_once(self, separator: char) -> Option<(Self, Self)> {
        let place = self.text.find(separator)?;
        Some((self.part(0, place), self.part(place + separator.len_utf8(), self.text.len())))
    }

    /// What stands after the first place where a text stands in this piece.
    pub fn after(self, text: &str) -> Option<Self> {
        let place = self.text.find(text)?;
        Some(self.part(place + text.len(), self.text.len()))
    }

    /// What stands between separators; empty pieces are kept.
    pub fn split(self, separates: impl Fn(char) -> bool) -> Vec<Self> {
        let mut pieces = Vec::new();
        let mut from = 0;
        for (place, character) in self.text.char_indices().filter(|(_, character)| separates(*character)) {
            pieces.push(self.part(from, place));
            from = place + character.len_utf8();
        }
        pieces.push(self.part(from, self.text.len()));
        pieces
    }

    /// Each character on its own.
    pub fn split_characters(self) -> impl Iterator<Item = Self> {
        self.text.char_indices().map(move |(place, character)| self.part(place, place + character.len_utf8()))
    }

    /// The lines that say something, without white space around them.
    pub fn lines(self) -> Vec<Self> {
        self.split(|c| c == '\n').into_iter().map(Self::trim).filter(|line| !line.is_empty()).collect()
    }

    /// The words of a command line: white space separates them outside quotation marks, which stay where they are.
    pub fn words(self) -> Vec<Self> {
        let mut words = Vec::new();
        let (mut from, mut quoted) = (0, None);
        for (place, character) in self.text.char_indices() {
            match quoted {
                Some(mark) if mark == character => quoted = None,
                None if matches!(character, '"' | '\'') => quoted = Some(character),
                None if character.is_whitespace() => {
                    words.push(self.part(from, place));
                    from = place + character.len_utf8();
                }
                _ => {}
            }
        }
        words.push(self.part(from, self.text.len()));
        words.retain(|word| !word.is_empty());
        words
    }

    /// The piece without quotation marks around it.
    pub fn unquoted(self) -> Self {
        let inside = |mark: &str| self.strip_prefix(mark)?.strip_suffix(mark);
        inside("\"").or_else(|| inside("'")).unwrap_or(self)
    }

    /// From the beginning of this piece to the end of a later one; both are parts of `whole`.
    pub fn through(self, last: Self, whole: Self) -> Self {
        whole.part(self.at - whole.at, last.at - whole.at + last.text.len())
    }

    /// From the beginning of this piece to the end of a piece that it is part of.
    pub fn to_end_of(self, whole: Self) -> Self {
        whole.part(self.at - whole.at, whole.text.len())
    }

    /// A number, at most [`MAXIMUM_CPU`].
    pub fn number(self, expected: &str) -> Result<u32, Fault> {
        let piece = self.trim();
        if piece.is_empty() || !piece.text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(piece.fault(format!("expected {expected}, found \"{}\"", piece.text)));
        }
        match piece.text.parse::<u32>() {
            Ok(number) if number <= MAXIMUM_CPU => Ok(number),
            _ => Err(piece.fault(format!("{} is above {MAXIMUM_CPU}, the largest supported number", piece.text))),
        }
    }
}
