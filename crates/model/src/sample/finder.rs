//! Finding a number in lines that a program wrote.

use regex_lite::{Regex, RegexBuilder};

/// Upper limit on the size of a compiled expression. The time that it takes grows with this and with the length of a line.
const LARGEST_PATTERN_BYTES: usize = 16 << 10;

/// Why a regular expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It is no regular expression.
    #[error("{0}")]
    Syntax(String),
    /// It would take too long on a long line.
    #[error("the expression is too large: with its repetitions written out it has more than {} KiB. Use fewer or smaller repetitions, such as .* for .{{1,500}}", LARGEST_PATTERN_BYTES >> 10)]
    TooLarge,
}

impl From<regex_lite::Error> for PatternError {
    fn from(error: regex_lite::Error) -> Self {
        // The error has no kinds: compare with one that is known to be about the size.
        let of_size = RegexBuilder::new("a").size_limit(0).build().err();
        match of_size.is_some_and(|of_size| of_size.to_string() == error.to_string()) {
            true => Self::TooLarge,
            false => Self::Syntax(error.to_string()),
        }
    }
}

/// Finds a metric's number in lines of output.
#[derive(Clone, Debug)]
pub struct Finder(Regex);

impl Finder {
    /// A finder for a regular expression.
    ///
    /// # Errors
    /// What is wrong with the expression.
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        Ok(Self(RegexBuilder::new(pattern).size_limit(LARGEST_PATTERN_BYTES).build()?))
    }

    /// The number in a line: of the first group, or of the whole match where there is no group. What matches and is no
    /// number is given as an error.
    pub fn find(&self, line: &str) -> Option<Result<f64, String>> {
        let found = self.0.captures(line)?;
        let text = found.get(1).or_else(|| found.get(0))?.as_str();
        let number = without_thousands(text.trim()).and_then(|text| text.parse().ok());
        Some(number.filter(|number: &f64| number.is_finite()).ok_or_else(|| text.to_owned()))
    }
}

/// "1234.5" for "1,234.5", as many programs write it; nothing where commas stand elsewhere, as in "1,5".
fn without_thousands(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let are_thousands = groups.clone().all(|group| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit()));
    let begins_well = !whole.contains(',') || (1..=3).contains(&first.trim_start_matches(['-', '+']).len());
    let ends_well = !fraction.is_some_and(|fraction| fraction.contains(','));
    (are_thousands && begins_well && ends_well).then(|| text.replace(',', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_that_would_take_minutes_is_refused() {
        for pattern in ["x=((.*.*.*){10}){9}b([0-9]+)", "x=(((a{1,100}){1,100}){1,100})b", "x=a{1,100000}", ".{1,1000}"]
        {
            assert_eq!(Finder::new(pattern).unwrap_err(), PatternError::TooLarge, "{pattern}");
        }
        for pattern in ["(", "[", "a{2,1}", "*"] {
            assert!(matches!(Finder::new(pattern), Err(PatternError::Syntax(_))), "{pattern}");
        }
        let long_name = crate::metric_line::pattern(&"name of a metric ".repeat(10));
        for pattern in ["x=(.*){50}b([0-9]+)", "a{1,100}", &long_name] {
            assert!(Finder::new(pattern).is_ok(), "{pattern}");
        }
    }
}
