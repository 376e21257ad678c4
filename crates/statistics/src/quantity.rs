//! Quantities as programs print them: a number with its unit.
//!
//! A number without its unit cannot be compared: "1.02ms" and "994us" are 3 % apart. Two quantities are compared if one
//! unit converts into the other.

mod duration;
mod number;
mod quoted;
mod unit;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use quoted::{QuotedQuantity, UnitChange};
pub use unit::QuantityUnit;
pub use unit::is_time_word;

/// A number and its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredQuantity {
    /// The number.
    pub value: f64,
    /// Its unit; empty for a bare number.
    #[serde(default, skip_serializing_if = "QuantityUnit::is_bare")]
    pub unit: QuantityUnit,
}

/// Reason why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text is not a number.
    #[error("{0:?}, which is not a number")]
    NotANumber(String),
    /// The text is ambiguous, or is refused for a specific reason.
    #[error("{text:?}, which is not a clear number: {why}")]
    Unclear {
        /// The text.
        text: String,
        /// The reason.
        why: &'static str,
    },
}

/// Maximum number of characters of a text that an error repeats.
const MAX_REPEATED_CHARS: usize = 40;

/// The reason why a number is refused, before its text is known.
pub type RefusalReason = Option<&'static str>;

impl QuantityError {
    fn new(text: &str, why: RefusalReason) -> Self {
        let text: String = text.trim().chars().take(MAX_REPEATED_CHARS).collect();
        match why {
            Some(why) => Self::Unclear { text, why },
            None => Self::NotANumber(text),
        }
    }
}

impl MeasuredQuantity {
    /// Creates a number without a unit.
    pub const fn without_unit(value: f64) -> Self {
        Self { value, unit: QuantityUnit::BARE }
    }

    /// Reads the quantity that a text begins with; any text may follow.
    ///
    /// # Errors
    /// [`QuantityError`] if the text does not begin with a quantity, or with an ambiguous one.
    pub fn read_prefix(text: &str) -> Result<Self, QuantityError> {
        Self::read_up_to(text, None)
    }

    /// Reads the quantity that a text begins with. From `fields_begin` on, a comma or a space separates fields, not
    /// thousands.
    pub fn read_up_to(text: &str, fields_begin: Option<usize>) -> Result<Self, QuantityError> {
        read_prefix(text, fields_begin).map(|(quantity, _)| quantity).map_err(|why| QuantityError::new(text, why))
    }

    /// Reads a text that consists of a quantity.
    ///
    /// # Errors
    /// [`QuantityError`] if it does not.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let text = text.trim();
        match read_prefix(text, None) {
            Ok((quantity, end)) if text[end..].trim().is_empty() => Ok(quantity),
            Ok(_) => Err(QuantityError::new(text, None)),
            Err(why) => Err(QuantityError::new(text, why)),
        }
    }

    /// Returns the value in another unit, or `None` if it does not convert.
    pub fn value_in(&self, unit: &QuantityUnit) -> Option<f64> {
        self.unit.convert_value(self.value, unit)
    }
}

fn read_prefix(text: &str, fields_begin: Option<usize>) -> Result<(MeasuredQuantity, usize), RefusalReason> {
    if let Some((seconds, end)) = duration::scan_clock(text)? {
        return Ok((MeasuredQuantity { value: seconds, unit: QuantityUnit::seconds() }, end));
    }
    let number = number::scan_number(text, fields_begin)?;
    if let Some((seconds, end)) = duration::scan_parts(text, &number)? {
        return Ok((MeasuredQuantity { value: seconds, unit: QuantityUnit::seconds() }, end));
    }
    let (scale, unit, end) = unit::read_unit(&text[number.end..])?;
    let value = number.value * scale;
    if !value.is_finite() {
        return Err(None);
    }
    Ok((MeasuredQuantity { value, unit }, number.end + end))
}

impl fmt::Display for MeasuredQuantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.value)?;
        if self.unit.is_bare() { Ok(()) } else { write!(formatter, "{}", self.unit.unit_suffix()) }
    }
}
