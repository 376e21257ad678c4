//! A quantity with its line, so that a doubt can quote it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MeasuredQuantity, QuantityUnit};

/// Maximum number of characters kept of a line.
const MAX_LINE_CHARS: usize = 160;
/// Number of them before the number in a longer line.
const CHARS_BEFORE: usize = 60;

/// A quantity and its line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuotedQuantity {
    /// The quantity.
    #[serde(flatten)]
    pub quantity: MeasuredQuantity,
    /// The line, or the part of a long one around the quantity.
    pub line: String,
}

impl QuotedQuantity {
    /// Creates a quantity read in a line, at this byte.
    pub fn new(quantity: MeasuredQuantity, line: &str, at: usize) -> Self {
        Self { quantity, line: shorten_line(line, at) }
    }

    /// Returns true if its line is not longer than kept lines; a line from a file may be.
    pub fn is_bounded(&self) -> bool {
        self.line.chars().count() <= MAX_LINE_CHARS
    }

    /// Converts the value to the unit of another quantity.
    ///
    /// # Errors
    /// [`UnitChange`] if the units do not convert.
    pub fn in_unit_of(&self, first: &Self) -> Result<f64, UnitChange> {
        let unit = &first.quantity.unit;
        self.quantity.value_in(unit).ok_or_else(|| UnitChange::new(unit, &first.line, self))
    }
}

impl From<f64> for QuotedQuantity {
    /// Creates a bare number without a line.
    fn from(value: f64) -> Self {
        Self { quantity: MeasuredQuantity::without_unit(value), line: String::new() }
    }
}

/// A change of a metric's unit, if the new unit does not convert into the unit of earlier lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("changed its unit from {from} to {to}, which cannot be converted: \"{first}\", then \"{then}\"")]
pub struct UnitChange {
    from: String,
    to: String,
    first: String,
    then: String,
}

impl UnitChange {
    /// Creates the change from a unit, read in the line `first`, to that of another quantity.
    pub fn new(from: &QuantityUnit, first: &str, then: &QuotedQuantity) -> Self {
        let named = |unit: &QuantityUnit| if unit.is_bare() { "none".to_owned() } else { unit.to_string() };
        Self { from: named(from), to: named(&then.quantity.unit), first: first.to_owned(), then: then.line.clone() }
    }
}

/// Shortens a line to a bounded length, without control characters.
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
