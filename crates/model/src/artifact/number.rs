//! Limits on every number of an artifact that comes from a file: one walk over all its fields.
//!
//! The limits keep any sum of counts within 64 bits, for files of any size. Products and dates of the other numbers
//! stay representable.

use std::fmt;

use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant,
};
use serde::{Serialize, Serializer};

/// Largest count, and longest time in nanoseconds: 18 minutes.
const MOST: i128 = 1 << 40;
/// Latest moment in milliseconds since 1970: in the year 6429.
const LATEST_UNIX_MS: i128 = 1 << 47;
/// Largest size in bytes, and latest moment in ticks or nanoseconds since a machine was started.
const MOST_BYTES_OR_TICKS: i128 = 1_000_000_000_000_000_000;
/// Largest value of a real number.
const MOST_REAL: f64 = 1e100;

/// Checks that no number of an artifact exceeds its limit; the error names the number.
pub fn check_numbers<T: Serialize>(artifact: &T) -> Result<(), String> {
    artifact.serialize(NumberCheck { most: MOST }).map(drop).map_err(|error| error.0)
}

/// The sentence about a number that is too large.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NumberError(String);

impl serde::ser::Error for NumberError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Walks over a value and refuses integers beyond a limit, which depends on the field's name. Returns the limit of the
/// field that the value names if it is a text: the key of a map.
#[derive(Clone, Copy)]
struct NumberCheck {
    most: i128,
}

/// Returns the limit of the integers in a field.
fn limit_of(name: &str) -> i128 {
    match name {
        // A seed may be any 64 bits.
        "seed" => i128::MAX,
        "begin_ns" | "end_ns" | "at_ns" => MOST_BYTES_OR_TICKS,
        _ if name.ends_with("unix_ms") => LATEST_UNIX_MS,
        _ if name.ends_with("bytes") || name.ends_with("ticks") => MOST_BYTES_OR_TICKS,
        _ => MOST,
    }
}

impl NumberCheck {
    fn check_integer(self, number: impl Into<i128>) -> Result<i128, NumberError> {
        let number = number.into();
        match number.abs() <= self.most {
            true => Ok(MOST),
            false => Err(NumberError(format!("{number} is too large a number"))),
        }
    }

    fn check_real(number: f64) -> Result<i128, NumberError> {
        match number.abs() <= MOST_REAL {
            true => Ok(MOST),
            false => Err(NumberError(format!("{number:e} is too large a number"))),
        }
    }
}

/// Methods for integers, all with the same body.
macro_rules! integers {
    ($($name:ident: $integer:ty),*) => {
        $(fn $name(self, number: $integer) -> Result<i128, Self::Error> {
            self.check_integer(number)
        })*
    };
}

impl Serializer for NumberCheck {
    type Ok = i128;
    type Error = NumberError;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = MapCheck;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_u64: u64
    }

    fn serialize_f32(self, number: f32) -> Result<i128, Self::Error> {
        Self::check_real(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<i128, Self::Error> {
        Self::check_real(number)
    }

    fn serialize_bool(self, _: bool) -> Result<i128, Self::Error> {
        Ok(MOST)
    }

    fn serialize_char(self, _: char) -> Result<i128, Self::Error> {
        Ok(MOST)
    }

    fn serialize_str(self, text: &str) -> Result<i128, Self::Error> {
        Ok(limit_of(text))
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, _: &T) -> Result<i128, Self::Error> {
        Ok(MOST)
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<i128, Self::Error> {
        Ok(MOST)
    }

    fn serialize_none(self) -> Result<i128, Self::Error> {
        Ok(MOST)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<i128, Self::Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<i128, Self::Error> {
        Ok(MOST)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<i128, Self::Error> {
        Ok(MOST)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<i128, Self::Error> {
        Ok(MOST)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<i128, Self::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<i128, Self::Error> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Self::Error> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Self::Error> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Self::Error> {
        Ok(self)
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Self::Error> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<MapCheck, Self::Error> {
        Ok(MapCheck { most: MOST })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Self::Error> {
        Ok(self)
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Self::Error> {
        Ok(self)
    }
}

/// Walks over a map; flattened fields are also serialized as maps.
struct MapCheck {
    most: i128,
}

impl SerializeMap for MapCheck {
    type Ok = i128;
    type Error = NumberError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Self::Error> {
        self.most = key.serialize(NumberCheck { most: MOST })?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Self::Error> {
        value.serialize(NumberCheck { most: self.most }).map(drop)
    }

    fn end(self) -> Result<i128, Self::Error> {
        Ok(MOST)
    }
}

/// The sequences of a value, all with the limit of the field that they are in.
macro_rules! sequences {
    ($($name:ident: $method:ident),*) => {
        $(impl $name for NumberCheck {
            type Ok = i128;
            type Error = NumberError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Self::Error> {
                value.serialize(*self).map(drop)
            }

            fn end(self) -> Result<i128, Self::Error> {
                Ok(MOST)
            }
        })*
    };
}

/// The structures of a value, each field with a limit of its own.
macro_rules! structures {
    ($($name:ident),*) => {
        $(impl $name for NumberCheck {
            type Ok = i128;
            type Error = NumberError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Self::Error> {
                value.serialize(Self { most: limit_of(name) }).map(drop)
            }

            fn end(self) -> Result<i128, Self::Error> {
                Ok(MOST)
            }
        })*
    };
}

sequences! {
    SerializeSeq: serialize_element, SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
}
structures! { SerializeStruct, SerializeStructVariant }

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Outer {
        seed: u64,
        size_bytes: u64,
        started_unix_ms: i64,
        counts: Vec<(u64, f64)>,
        #[serde(flatten)]
        inner: Inner,
    }

    #[derive(Serialize)]
    struct Inner {
        count: i64,
    }

    fn checked(change: impl Fn(&mut Outer)) -> Result<(), String> {
        let mut outer = Outer {
            seed: u64::MAX,
            size_bytes: 1 << 50,
            started_unix_ms: 1 << 41,
            counts: vec![(3, 0.5)],
            inner: Inner { count: -5 },
        };
        change(&mut outer);
        check_numbers(&outer)
    }

    #[test]
    fn each_number_has_the_limit_of_its_field() {
        assert_eq!(checked(|_| ()), Ok(()));
        assert!(checked(|outer| outer.size_bytes = u64::MAX).is_err());
        assert!(checked(|outer| outer.started_unix_ms = i64::MIN).is_err());
        assert!(checked(|outer| outer.counts.push((1 << 41, 0.0))).is_err());
        assert!(checked(|outer| outer.counts.push((1, 1e101))).is_err());
        assert!(checked(|outer| outer.counts.push((1, f64::NAN))).is_err());
        let refused = checked(|outer| outer.inner.count = -(1 << 41));
        assert_eq!(refused, Err("-2199023255552 is too large a number".to_owned()));
    }
}
