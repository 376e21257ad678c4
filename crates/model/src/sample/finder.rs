//! Finding a metric's quantity in lines written by a program.

use regex_lite::{Captures, Regex, RegexBuilder};

use corewise_statistics::quantity::{MeasuredQuantity, QuantityError, QuantityUnit, QuotedQuantity};

/// Upper limit on the size of a compiled expression. The time that it takes grows with this and with the length of a line.
const LARGEST_PATTERN_BYTES: usize = 16 << 10;

/// Reason why a regular expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Its syntax is invalid.
    #[error("{0}")]
    Syntax(String),
    /// It would take too long on a long line.
    #[error("the expression is too large: with its repetitions written out it has more than {} KiB. Use fewer or smaller repetitions, such as .* for .{{1,500}}", LARGEST_PATTERN_BYTES >> 10)]
    TooLarge,
}

impl From<regex_lite::Error> for PatternError {
    fn from(error: regex_lite::Error) -> Self {
        // The error has no kinds: compare with a known error about the size.
        let of_size = RegexBuilder::new("a").size_limit(0).build().err();
        match of_size.is_some_and(|of_size| of_size.to_string() == error.to_string()) {
            true => Self::TooLarge,
            false => Self::Syntax(error.to_string()),
        }
    }
}

/// Finds a metric's quantity in lines of output.
#[derive(Clone, Debug)]
pub struct QuantityFinder {
    pattern: Regex,
    /// The unit of a bare number, by the metric's name.
    named_unit: QuantityUnit,
}

impl QuantityFinder {
    /// Creates a finder for a regular expression.
    ///
    /// # Errors
    /// If the expression is invalid or too large.
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        Self::for_metric("", pattern)
    }

    /// Creates a finder for a metric. The metric's name may contain the unit of its numbers.
    ///
    /// # Errors
    /// If the expression is invalid or too large.
    pub fn for_metric(name: &str, pattern: &str) -> Result<Self, PatternError> {
        Ok(Self {
            pattern: RegexBuilder::new(pattern).size_limit(LARGEST_PATTERN_BYTES).build()?,
            named_unit: QuantityUnit::of_name(name),
        })
    }

    /// Finds the quantity in a line. It begins at the first group, or at the whole match if there is no group. Its unit
    /// follows it, or is that of a heading before it, or of the metric's name. An error if the match is not a quantity.
    pub fn find_quantity(&self, line: &str) -> Option<Result<QuotedQuantity, QuantityError>> {
        let found = self.pattern.captures(line)?;
        let begin = found.get(1).or_else(|| found.get(0))?.start();
        // The expression may match the spaces before it.
        let begin = begin + line[begin..].len() - line[begin..].trim_start().len();
        let quantity = MeasuredQuantity::read_up_to(&line[begin..], fields_begin(&found, begin));
        Some(quantity.map(|quantity| QuotedQuantity::new(self.with_unit(quantity, &line[..begin]), line, begin)))
    }

    fn with_unit(&self, quantity: MeasuredQuantity, before: &str) -> MeasuredQuantity {
        if !quantity.unit.is_bare() {
            return quantity;
        }
        let unit = heading_unit(before).unwrap_or_else(|| self.named_unit.clone());
        MeasuredQuantity { unit, ..quantity }
    }
}

/// Returns the end of the group if the expression continues after it: then a comma or a space there separates fields.
fn fields_begin(found: &Captures<'_>, begin: usize) -> Option<usize> {
    let (group, whole) = (found.get(1)?, found.get(0)?);
    (whole.end() > group.end()).then(|| group.end().saturating_sub(begin))
}

/// Returns the unit in brackets before a number: right before it, as in "Latency (ms): 1.2", or as the heading of a
/// line, as in "clat (usec): min=2, avg=4".
fn heading_unit(before: &str) -> Option<QuantityUnit> {
    let end = before.rfind([')', ']'])?;
    let begin = before[..end].rfind(['(', '['])?;
    let behind = &before[end + 1..];
    let is_near = !behind.contains(|character: char| character.is_ascii_digit());
    let is_heading = behind.trim_start().starts_with(':');
    QuantityUnit::parse_known(&before[begin + 1..end]).filter(|_| is_near || is_heading)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_that_would_take_minutes_is_refused() {
        for pattern in ["x=((.*.*.*){10}){9}b([0-9]+)", "x=(((a{1,100}){1,100}){1,100})b", "x=a{1,100000}", ".{1,1000}"]
        {
            assert_eq!(QuantityFinder::new(pattern).unwrap_err(), PatternError::TooLarge, "{pattern}");
        }
        for pattern in ["(", "[", "a{2,1}", "*"] {
            assert!(matches!(QuantityFinder::new(pattern), Err(PatternError::Syntax(_))), "{pattern}");
        }
        let long_name = crate::metric_line::metric_pattern(&"name of a metric ".repeat(10));
        for pattern in ["x=(.*){50}b([0-9]+)", "a{1,100}", &long_name] {
            assert!(QuantityFinder::new(pattern).is_ok(), "{pattern}");
        }
    }
}
