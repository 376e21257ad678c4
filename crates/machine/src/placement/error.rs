//! Errors in an expression, with their position.

use std::fmt;
use std::ops::Range;

/// Reason why a text is no expression, or why an expression selects no cpu here. Prints as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementError {
    /// The whole text.
    pub text: String,
    /// Range of the mistake in characters, counted from 0; empty at the end of a text that stops too early.
    pub at: Range<usize>,
    /// The mistake, and the existing alternatives.
    pub what: String,
    /// The correct form, if it can be guessed.
    pub hint: Option<String>,
}

impl PlacementError {
    pub(super) fn new(at: Range<usize>, what: impl Into<String>) -> Self {
        Self { text: String::new(), at, what: what.into(), hint: None }
    }

    #[must_use]
    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the whole text, which only the outermost function knows.
    #[must_use]
    pub(super) fn about_text(mut self, text: &str) -> Self {
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
