//! Index after a level's name: numbers, ranges, or a word such as "all".

use std::fmt;

use super::order::format_list;

/// Selection among the objects of a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectIndices {
    /// These indices, in the typed order.
    Numbers(Vec<u32>),
    /// All.
    All,
    /// Even indices.
    Even,
    /// Odd indices.
    Odd,
    /// The last one.
    Last,
}

impl ObjectIndices {
    const WORDS: [(&str, Self); 4] =
        [("all", Self::All), ("even", Self::Even), ("odd", Self::Odd), ("last", Self::Last)];

    pub(super) fn of_word(word: &str) -> Option<Self> {
        let found = Self::WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word));
        found.map(|(_, indices)| indices.clone())
    }

    /// Returns the selected indices among `count` objects, or the first number that is too large.
    pub(super) fn resolve_among(&self, count: usize) -> Result<Vec<usize>, u32> {
        match self {
            Self::Numbers(numbers) => match numbers.iter().find(|number| **number as usize >= count) {
                Some(number) => Err(*number),
                None => Ok(numbers.iter().map(|number| *number as usize).collect()),
            },
            Self::All => Ok((0..count).collect()),
            Self::Even => Ok((0..count).step_by(2).collect()),
            Self::Odd => Ok((1..count).step_by(2).collect()),
            Self::Last => Ok(count.checked_sub(1).into_iter().collect()),
        }
    }
}

impl fmt::Display for ObjectIndices {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers(numbers) => formatter.write_str(&format_list(numbers)),
            word => {
                let known = Self::WORDS.iter().find(|(_, indices)| indices == word);
                formatter.write_str(known.map_or("", |(word, _)| word))
            }
        }
    }
}
