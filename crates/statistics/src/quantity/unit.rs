//! Units: the text after a number, and conversions.

mod name;
mod read;
mod term;

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) use read::read_unit;
use term::UnitTerm;
pub use term::is_time_word;
pub(super) use term::time_factor_s;

/// A unit, such as "ms", "MB/s", "%", or "frames", which is a mere label.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantityUnit {
    above: UnitTerm,
    below: Option<UnitTerm>,
}

impl QuantityUnit {
    /// The unit of a bare number.
    pub const BARE: Self = Self { above: UnitTerm::BARE, below: None };

    /// Returns the unit of seconds.
    pub fn seconds() -> Self {
        Self::from(UnitTerm::seconds())
    }

    /// Returns the unit that a metric's name ends in, as "p99_ns", "Requests/sec", "Latency (ms)"; bare if it names
    /// none.
    pub fn of_name(name: &str) -> Self {
        name::read_name(name).unwrap_or(Self::BARE)
    }

    /// Parses a text that is a known unit as a whole: "ms", "KiB/s"; `None` for labels.
    pub fn parse_known(text: &str) -> Option<Self> {
        read::read_known(text.trim())
    }

    /// Returns true for the unit of a bare number.
    pub fn is_bare(&self) -> bool {
        self.above.is_bare() && self.below.is_none()
    }

    /// Returns true for a time, of which less is better.
    pub fn is_time(&self) -> bool {
        self.above.is_time() && self.below.is_none()
    }

    /// Returns true for a count per time, of which more is better.
    pub fn is_rate(&self) -> bool {
        !self.above.is_time() && self.below.as_ref().is_some_and(UnitTerm::is_time)
    }

    /// Returns true if it has no prefix: seconds, bytes, requests per second.
    pub fn is_base(&self) -> bool {
        std::iter::once(&self.above).chain(&self.below).all(UnitTerm::is_base)
    }

    /// Returns this unit per another one: bytes per second.
    #[must_use]
    pub fn per_unit(&self, below: &Self) -> Self {
        match (&self.below, &below.below) {
            _ if below.is_bare() => self.clone(),
            (None, None) => Self { above: self.above.clone(), below: Some(below.above.clone()) },
            _ => Self::from(UnitTerm::from_label(&format!("{self} per {below}"))),
        }
    }

    /// Converts a value of this unit to another one; `None` if it does not convert.
    pub fn convert_value(&self, value: f64, to: &Self) -> Option<f64> {
        let factors = |from: Option<&UnitTerm>, to: Option<&UnitTerm>| match (from, to) {
            (None, None) => Some((1.0, 1.0)),
            (Some(from), Some(to)) => from.common_factors(to),
            _ => None,
        };
        let above = factors(Some(&self.above), Some(&to.above))?;
        let below = factors(self.below.as_ref(), to.below.as_ref())?;
        // Factors are whole numbers, so that 994 us are exactly 0.994 ms.
        let (times, by) = (above.0 * below.1, above.1 * below.0);
        Some(if times >= by { value * (times / by) } else { value / (by / times) })
    }

    /// Formats the unit after a number: " ms", "%", "/s", and empty for a bare one.
    pub fn unit_suffix(&self) -> String {
        let text = self.to_string();
        if text.is_empty() || text.starts_with(['/', '%']) { text } else { format!(" {text}") }
    }
}

impl Default for QuantityUnit {
    fn default() -> Self {
        Self::BARE
    }
}

impl From<UnitTerm> for QuantityUnit {
    fn from(above: UnitTerm) -> Self {
        Self { above, below: None }
    }
}

impl fmt::Display for QuantityUnit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.above.text())?;
        self.below.iter().try_for_each(|below| write!(formatter, "/{}", below.text()))
    }
}

impl Serialize for QuantityUnit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for QuantityUnit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer).map(|text| read::read_stored(&text))
    }
}

impl JsonSchema for QuantityUnit {
    fn schema_name() -> Cow<'static, str> {
        "QuantityUnit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A unit, such as \"ms\", \"MB/s\" or \"%\"; a word that is no known unit is a label. Empty for a bare number."
        })
    }
}
