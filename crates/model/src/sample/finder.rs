//! Finding a metric's quantity in lines that a program wrote.

pub use regex_lite::Error as PatternError;
use regex_lite::{Captures, Regex};

use super::literal::required_literal;
use crate::quantity::{MeasuredQuantity, QuantityError, QuantityUnit, QuotedQuantity};

/// Finds a metric's quantity in lines of output.
#[derive(Clone, Debug)]
pub struct Finder {
    pattern: Regex,
    literal: Vec<u8>,
    /// The unit of a bare number, by the metric's name.
    named_unit: QuantityUnit,
}

impl Finder {
    /// A finder for a regular expression.
    ///
    /// # Errors
    /// What is wrong with the expression.
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        Self::for_metric("", pattern)
    }

    /// A finder for a metric, whose name may carry the unit of its numbers.
    ///
    /// # Errors
    /// What is wrong with the expression.
    pub fn for_metric(name: &str, pattern: &str) -> Result<Self, PatternError> {
        Ok(Self {
            pattern: Regex::new(pattern)?,
            literal: required_literal(pattern).into_bytes(),
            named_unit: QuantityUnit::of_name(name),
        })
    }

    /// Whether a line may match: cheap, and false only if [`Finder::find`] finds nothing.
    pub fn could_match(&self, line: &[u8]) -> bool {
        let literal = self.literal.as_slice();
        literal.is_empty() || line.windows(literal.len()).any(|part| part == literal)
    }

    /// The text that each line that matches contains; empty if the expression needs none.
    pub fn literal(&self) -> &[u8] {
        &self.literal
    }

    /// The quantity in a line: it begins where the first group does, or the whole match if there is no group, and has the unit behind it, that of a
    /// heading in front, or that of the metric's name. An error if what matches is no quantity.
    pub fn find(&self, line: &str) -> Option<Result<QuotedQuantity, QuantityError>> {
        let found = self.pattern.captures(line)?;
        let begin = found.get(1).or_else(|| found.get(0))?.start();
        // The expression may match the spaces in front.
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

/// Where the group ends, if the expression itself goes on behind it: then a comma or a space there separates fields.
fn fields_begin(found: &Captures<'_>, begin: usize) -> Option<usize> {
    let (group, whole) = (found.get(1)?, found.get(0)?);
    (whole.end() > group.end()).then(|| group.end().saturating_sub(begin))
}

/// The unit in brackets in front of a number: right in front, as in "Latency (ms): 1.2", or as the heading of a line, as in "clat (usec): min=2, avg=4".
fn heading_unit(before: &str) -> Option<QuantityUnit> {
    let end = before.rfind([')', ']'])?;
    let begin = before[..end].rfind(['(', '['])?;
    let behind = &before[end + 1..];
    let is_near = !behind.contains(|character: char| character.is_ascii_digit());
    let is_heading = behind.trim_start().starts_with(':');
    QuantityUnit::parse_known(&before[begin + 1..end]).filter(|_| is_near || is_heading)
}
