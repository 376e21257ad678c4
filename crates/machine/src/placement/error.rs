//! What is wrong with an expression, and at which characters.

use std::fmt;
use std::ops::Range;

/// Why a text is no expression, or why an expression names no cpu here. Printed, it is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementError {
    /// The whole text.
    pub text: String,
    /// The characters that are meant, counted from 0; empty at the end of a text that stops too early.
    pub at: Range<usize>,
    /// What is wrong, and what there is instead.
    pub what: String,
    /// What to write instead, where that can be guessed.
    pub hint: Option<String>,
}

impl PlacementError {
    pub(super) fn new(at: Range<usize>, what: impl Into<String>) -> Self {
        Self { text: String::new(), at, what: what.into(), hint: None }
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The error with the text that it is about, which only the outermost function knows.
    #[must_use]
    pub(super) fn about(mut self, text: &str) -> Self {
        text.clone_into(&mut self.text);
        self
    }
}

impl fmt::Display for PlacementError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for PlacementError {}
