//! Digest of a memory map: levels of one cpu, costs and bandwidth of the nearest and of other nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{round_value, shorten_text};
use crate::Artifact as _;
use crate::memory::conclude::MemoryNodeCost;
use crate::memory::levels::MemoryLevel;
use crate::memory::{MemoryMap, StreamOperation};
use corewise_statistics::order::median;

/// Maximum number of levels: three caches, a fourth, and memory.
const MOST_LEVELS: usize = 8;

/// A memory map in a few hundred bytes of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryMapDigest {
    /// corewise's version.
    pub corewise: String,
    /// Levels of the first measured cpu, nearest first.
    pub levels: Vec<LevelDigest>,
    /// Median latency of the nearest node's memory, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest_ns: Option<f64>,
    /// Median latency of other nodes' memory, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_ns: Option<f64>,
    /// Median bandwidth of reading the nearest node's memory with the most cpus that were measured, in gigabytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest_read_gb_s: Option<f64>,
}

/// A level of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelDigest {
    /// The largest measured working set of it.
    pub until_bytes: u64,
    /// The time of a load, in nanoseconds.
    pub ns: f64,
}

impl MemoryMapDigest {
    /// Makes the digest of a map.
    pub fn from_map(map: &MemoryMap) -> Self {
        let conclusions = map.draw_conclusions();
        let first = conclusions.levels.first().map_or(&[][..], |levels| &levels.levels);
        let costs = |is_nearest: bool| conclusions.costs.iter().filter(move |cost| cost.is_nearest == is_nearest);
        let latency = |cost: &MemoryNodeCost| cost.huge_ns.map(|ns| ns.median);
        let read = |cost: &MemoryNodeCost| cost.largest_stream(StreamOperation::Read).map(|read| read.gb_s.median);
        Self {
            corewise: shorten_text(&map.provenance.corewise),
            levels: first.iter().take(MOST_LEVELS).map(LevelDigest::from_level).collect(),
            nearest_ns: median_of_all(costs(true).filter_map(latency)),
            other_ns: median_of_all(costs(false).filter_map(latency)),
            nearest_read_gb_s: median_of_all(costs(true).filter_map(read)),
        }
    }
}

impl LevelDigest {
    fn from_level(level: &MemoryLevel) -> Self {
        Self { until_bytes: level.until_bytes, ns: round_value(level.ns.median, 3) }
    }
}

fn median_of_all(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| round_value(median(&values), 3))
}
