//! Exact numbers of subsets and classes, which outgrow any machine word: beyond 128 bits only "more than" is known.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// A whole number that is exact up to [`u128::MAX`] (3.4e38), and beyond that only known to be larger.
///
/// Sums and products are exact or "more than"; they never wrap. In JSON it is a text, since numbers in JSON lose digits above 2^53: decimal
/// digits, or `"more than …"` if it is not exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExactCount(Option<u128>);

impl ExactCount {
    /// Zero.
    pub const ZERO: Self = Self(Some(0));
    /// One.
    pub const ONE: Self = Self(Some(1));
    /// More than 128 bits.
    pub const BEYOND: Self = Self(None);

    /// Returns the number, or `None` if it is more than [`u128::MAX`].
    pub const fn exact(self) -> Option<u128> {
        self.0
    }

    /// Returns true if it is zero.
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }

    /// Returns the sum.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.zip(other.0).and_then(|(a, b)| a.checked_add(b)))
    }

    /// Returns the product.
    pub fn times(self, other: Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return Self::ZERO;
        }
        Self(self.0.zip(other.0).and_then(|(a, b)| a.checked_mul(b)))
    }

    /// Returns the binomial coefficient of `things` and `chosen`.
    pub fn combinations(things: usize, chosen: usize) -> Self {
        if chosen > things {
            return Self::ZERO;
        }
        let chosen = chosen.min(things - chosen);
        (0..chosen).fold(Self::ONE, |ways, done| ways.next_combination((things - chosen + done) as u128, done))
    }

    /// Computes C(n + 1, k + 1) = C(n, k) · (n + 1) / (k + 1) from C(n, k). It divides first, so that nothing overflows unless the result
    /// does.
    pub(super) fn next_combination(self, n: u128, k: usize) -> Self {
        let Some(ways) = self.0 else { return Self::BEYOND };
        let (Some(next), divisor) = (n.checked_add(1), k as u128 + 1) else { return Self::BEYOND };
        let common = greatest_common_divisor(ways, divisor);
        // The rest of the divisor divides n + 1, since the quotient is a whole number.
        Self((ways / common).checked_mul(next / (divisor / common)))
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl From<usize> for ExactCount {
    fn from(number: usize) -> Self {
        Self(Some(number as u128))
    }
}

impl PartialOrd for ExactCount {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Two numbers beyond 128 bits compare as equal.
impl Ord for ExactCount {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |count: &Self| (count.0.is_none(), count.0);
        key(self).cmp(&key(other))
    }
}

impl fmt::Display for ExactCount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => write!(formatter, "{number}"),
            None => write!(formatter, "more than {}", u128::MAX),
        }
    }
}

impl Serialize for ExactCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for ExactCount {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A whole number in decimal digits; \"more than …\" where it has more than 128 bits."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_exact_as_far_as_they_fit() {
        let exact = |n, k| ExactCount::combinations(n, k).exact();
        assert_eq!([exact(8, 4), exact(8, 0), exact(3, 4)], [Some(70), Some(1), Some(0)]);
        assert_eq!(exact(64, 32), Some(1_832_624_140_942_590_534));
        assert_eq!(exact(512, 16), Some(841_141_456_821_158_064_519_401_490_400));
        // The largest central one of 128 bits: the last product before the division would not fit.
        assert_eq!(exact(130, 65), Some(95_067_625_827_960_698_145_584_333_020_095_113_100));
        assert_eq!(exact(512, 256), None);
    }

    #[test]
    fn nothing_wraps() {
        let largest = ExactCount(Some(u128::MAX));
        assert_eq!(largest.plus(ExactCount::ONE), ExactCount::BEYOND);
        assert_eq!(largest.times(ExactCount::from(2)), ExactCount::BEYOND);
        assert_eq!(ExactCount::BEYOND.times(ExactCount::ZERO), ExactCount::ZERO);
        assert!(ExactCount::BEYOND > largest && largest > ExactCount::ONE);
        assert_eq!(ExactCount::BEYOND.to_string(), "more than 340282366920938463463374607431768211455");
    }
}
