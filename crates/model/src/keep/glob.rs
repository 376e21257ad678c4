//! Patterns of rules, like file name patterns of a shell.

use std::fmt;
use std::str::Chars;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A pattern for a whole text: `*` is any number of characters, a slash too; `?` is one; `\` takes the next one literally.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct GlobPattern(String);

impl GlobPattern {
    /// Creates the pattern from its text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Creates a pattern that begins with the pattern `begin` and ends with exactly `text`.
    pub fn ending_with(begin: &str, text: &str) -> Self {
        let escape = |character: char| match character {
            '*' | '?' | '\\' => format!("\\{character}"),
            other => other.to_string(),
        };
        Self(begin.to_owned() + &text.chars().map(escape).collect::<String>())
    }

    /// Returns the text as it was written.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns true if it names nothing: it consists of wildcards and slashes alone.
    pub fn is_vague(&self) -> bool {
        tokens_of(&self.0).all(|token| matches!(token, GlobToken::Any | GlobToken::One | GlobToken::Literal('/')))
    }

    /// Returns true if it matches the whole of a text. Takes time up to the product of both lengths, and no memory:
    /// every rule calls it for each executed program.
    pub fn matches_text(&self, text: &str) -> bool {
        let (mut pattern, mut text) = (tokens_of(&self.0), text.chars());
        // The pattern after the last `*`, and the rest of the text for another attempt.
        let mut star: Option<(GlobTokens<'_>, Chars<'_>)> = None;
        loop {
            let (mut next_token, mut next_text) = (pattern.clone(), text.clone());
            let Some(character) = next_text.next() else { return pattern.all(|token| token == GlobToken::Any) };
            match next_token.next() {
                Some(GlobToken::Any) => {
                    star = Some((next_token.clone(), text.clone()));
                    pattern = next_token;
                }
                Some(GlobToken::One) => (pattern, text) = (next_token, next_text),
                Some(GlobToken::Literal(literal)) if literal == character => (pattern, text) = (next_token, next_text),
                _ => {
                    let Some((after, rest)) = &mut star else { return false };
                    rest.next();
                    (pattern, text) = (after.clone(), rest.clone());
                }
            }
        }
    }
}

impl GlobPattern {
    /// Returns a regular expression that matches the same texts.
    pub fn regex_text(&self) -> String {
        let part = |token: GlobToken| match token {
            GlobToken::Any => ".*".to_owned(),
            GlobToken::One => ".".to_owned(),
            GlobToken::Literal(character) if character.is_ascii_punctuation() && character != '_' => {
                format!("\\{character}")
            }
            GlobToken::Literal(character) => character.to_string(),
        };
        format!("^{}$", tokens_of(&self.0).map(part).collect::<String>())
    }
}

impl fmt::Display for GlobPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GlobToken {
    Any,
    One,
    Literal(char),
}

/// Iterates over the tokens of a pattern.
#[derive(Clone)]
struct GlobTokens<'a>(Chars<'a>);

fn tokens_of(pattern: &str) -> GlobTokens<'_> {
    GlobTokens(pattern.chars())
}

impl Iterator for GlobTokens<'_> {
    type Item = GlobToken;

    fn next(&mut self) -> Option<GlobToken> {
        Some(match self.0.next()? {
            '*' => GlobToken::Any,
            '?' => GlobToken::One,
            '\\' => GlobToken::Literal(self.0.next().unwrap_or('\\')),
            other => GlobToken::Literal(other),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wildcards_and_slashes_name_nothing() {
        assert!(["", "*", "?*", "/*", "*/?/*"].iter().all(|text| GlobPattern::new(*text).is_vague()));
        assert!(["r*", "/*/x", "\\*", "\\?"].iter().all(|text| !GlobPattern::new(*text).is_vague()));
    }

    #[test]
    fn stars_questions_and_literals() {
        let matches = |pattern: &str, text: &str| GlobPattern::new(pattern).matches_text(text);
        assert!(matches("*/redis-server", "/usr/bin/redis-server"));
        assert!(!matches("*/redis-server", "/usr/bin/redis-server-old"));
        assert!(matches("io_*", "io_") && matches("io_?", "io_7") && !matches("io_?", "io_"));
        assert!(matches("*a*b", "xaxbxb") && !matches("*a*b", "xbxa"));
        assert!(matches("", "") && matches("***", "") && !matches("", "x"));
        assert!(matches("a\\*", "a*") && !matches("a\\*", "ab") && matches("\\", "\\"));
        assert!(matches("gr?n", "grün"), "one character, not one byte");
        assert!(!matches("a*a*a*a*a*a*a*a*b", &"a".repeat(10_000)), "no pattern takes for ever");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The same by definition: a star matches nothing, or one character and then a star.
        #[test]
        fn a_regular_expression_means_the_same(pattern in "[a:.()*?\\[_-]{0,6}", text in "[a:.()*?\\[_-]{0,6}") {
            let glob = GlobPattern::new(&*pattern);
            let regex = regex_lite::Regex::new(&glob.regex_text()).unwrap();
            prop_assert_eq!(regex.is_match(&text), glob.matches_text(&text));
        }

        #[test]
        fn as_it_is_defined(pattern in "[ab*?]{0,6}", text in "[ab]{0,6}") {
            fn by_definition(pattern: &[char], text: &[char]) -> bool {
                match (pattern, text) {
                    ([], []) => true,
                    (['*', rest @ ..], []) => by_definition(rest, text),
                    (['*', rest @ ..], [_, others @ ..]) => by_definition(rest, text) || by_definition(pattern, others),
                    (['?', rest @ ..], [_, others @ ..]) => by_definition(rest, others),
                    ([a, rest @ ..], [b, others @ ..]) => a == b && by_definition(rest, others),
                    _ => false,
                }
            }
            let characters = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(GlobPattern::new(&*pattern).matches_text(&text), by_definition(&characters(&pattern), &characters(&text)));
        }
    }
}
