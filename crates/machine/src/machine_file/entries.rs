//! Structured values of a machine file: sizes, names of caches, distances.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use crate::facts::CacheKind;

/// Largest memory size accepted: 1 EiB.
const LARGEST_BYTES: u64 = 1 << 60;

/// A size: "96 MiB".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize {
    /// Size in bytes.
    pub bytes: u64,
}

/// Name of a cache: "L1d", "L1i", "L2".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheName {
    /// Level: 1, 2, 3 or 4.
    pub level: u8,
    /// Contents.
    pub kind: CacheKind,
}

/// The distances between nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeDistances {
    /// Distance from each node to every other; to itself it is 10.
    ToOthers(u32),
    /// One row per node, in the order of the nodes in the file.
    Rows(Vec<Vec<u32>>),
}

/// Reads a size with its unit: B, KiB, MiB, GiB or TiB.
fn parse_size(text: &str) -> Result<ByteSize, String> {
    let expected = || format!("expected a size with its unit, such as \"512 KiB\" or \"16 GiB\", found \"{text}\"");
    let (number, unit) = text.trim().split_once(' ').ok_or_else(expected)?;
    let shift = match unit.trim() {
        "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return Err(expected()),
    };
    let number: u64 = number.parse().map_err(|_| expected())?;
    let bytes = number.checked_mul(1 << shift).filter(|bytes| *bytes <= LARGEST_BYTES).ok_or_else(expected)?;
    Ok(ByteSize { bytes })
}

fn cache_name(text: &str) -> Result<CacheName, String> {
    let (level, kind) = match text {
        "L1d" => (1, CacheKind::Data),
        "L1i" => (1, CacheKind::Instruction),
        "L1" => (1, CacheKind::Unified),
        "L2" => (2, CacheKind::Unified),
        "L3" => (3, CacheKind::Unified),
        "L4" => (4, CacheKind::Unified),
        _ => return Err(format!("expected L1d, L1i, L1, L2, L3 or L4, found \"{text}\"")),
    };
    Ok(CacheName { level, kind })
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse_size(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for CacheName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        cache_name(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for NodeDistances {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrRows;
        impl<'de> Visitor<'de> for NumberOrRows {
            type Value = NodeDistances;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number (the distance to every other node) or a list of rows, one for each node")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<NodeDistances, E> {
                let distance = u32::try_from(number).map_err(|_| E::custom("a distance is a number from 0 up"))?;
                Ok(NodeDistances::ToOthers(distance))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<NodeDistances, A::Error> {
                let mut rows = Vec::new();
                while let Some(row) = list.next_element()? {
                    rows.push(row);
                }
                Ok(NodeDistances::Rows(rows))
            }
        }
        deserializer.deserialize_any(NumberOrRows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_binary_unit() {
        assert_eq!(parse_size("96 MiB"), Ok(ByteSize { bytes: 96 << 20 }));
        assert_eq!(parse_size("0 GiB"), Ok(ByteSize { bytes: 0 }));
        for text in ["96", "96MiB", "96 MB", "-1 KiB", "1.5 GiB", "99999999999 TiB", ""] {
            assert!(parse_size(text).unwrap_err().contains("such as \"512 KiB\""), "{text}");
        }
    }

    #[test]
    fn caches_have_the_names_that_the_program_prints() {
        assert_eq!(cache_name("L1i"), Ok(CacheName { level: 1, kind: CacheKind::Instruction }));
        assert_eq!(cache_name("L3"), Ok(CacheName { level: 3, kind: CacheKind::Unified }));
        assert!(cache_name("L5").is_err() && cache_name("l2").is_err());
    }
}
