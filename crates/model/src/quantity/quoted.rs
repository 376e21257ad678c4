//! A quantity with the line that it was read in, so that a doubt can quote it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MeasuredQuantity, QuantityUnit};

/// Most characters of a line that are kept.
const MAX_LINE_CHARS: usize = 160;
/// How many of them stand in front of the number in a longer line.
const CHARS_BEFORE: usize = 60;

/// A quantity and the line that it was read in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuotedQuantity {
    /// The quantity.
    #[serde(flatten)]
    pub quantity: MeasuredQuantity,
    /// The line, or the part of a long one around the quantity.
    pub line: String,
}

impl QuotedQuantity {
    /// A quantity that was read in a line, at this byte.
    pub fn new(quantity: MeasuredQuantity, line: &str, at: usize) -> Self {
        Self { quantity, line: shorten_line(line, at) }
    }

    /// Whether its line is as short as those that are kept; one that comes from a file may not be.
    pub fn is_bounded(&self) -> bool {
        self.line.chars().count() <= MAX_LINE_CHARS
    }

    /// The same in another unit, or why it does not convert.
    ///
    /// # Errors
    /// [`UnitChange`] if the units do not convert.
    pub fn in_unit_of(&self, first: &Self) -> Result<f64, UnitChange> {
        let unit = &first.quantity.unit;
        self.quantity.value_in(unit).ok_or_else(|| UnitChange::new(unit, &first.line, self))
    }
}

impl From<f64> for QuotedQuantity {
    /// A bare number that was read in no line.
    fn from(value: f64) -> Self {
        Self { quantity: MeasuredQuantity::bare(value), line: String::new() }
    }
}

/// A metric whose unit is not the one of earlier lines, and does not convert into it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("changed its unit from {from} to {to}, which cannot be converted: \"{first}\", then \"{then}\"")]
pub struct UnitChange {
    from: String,
    to: String,
    first: String,
    then: String,
}

impl UnitChange {
    /// The change from a unit, read in the line `first`, to that of another quantity.
    pub fn new(from: &QuantityUnit, first: &str, then: &QuotedQuantity) -> Self {
        let named = |unit: &QuantityUnit| if unit.is_bare() { "none".to_owned() } else { unit.to_string() };
        Self { from: named(from), to: named(&then.quantity.unit), first: first.to_owned(), then: then.line.clone() }
    }
}

/// A line of a bounded length, without control characters.
fn shorten_line(line: &str, at: usize) -> String {
    let line = line.replace(char::is_control, " ");
    let characters = line.chars().count();
    if characters <= MAX_LINE_CHARS {
        return line.trim().to_owned();
    }
    let before = line.char_indices().take_while(|(byte, _)| *byte < at).count();
    let from = before.saturating_sub(CHARS_BEFORE).min(characters - MAX_LINE_CHARS);
    let part: String = line.chars().skip(from).take(MAX_LINE_CHARS - 2).collect();
    let [begins, ends] = [from > 0, from + MAX_LINE_CHARS - 2 < characters].map(|cut| if cut { "…" } else { "" });
    format!("{begins}{}{ends}", part.trim())
}
