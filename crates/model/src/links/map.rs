//! A map of links as it was measured, simulated or imported: plain observations, from which the rest is computed.

use corewise_machine::{CpuSet, Gap, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Links, What};
use crate::clock::Clock;

/// What `corewise links` measured: for one machine, one or several ways to talk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkMap {
    /// Where it comes from.
    pub provenance: Provenance,
    /// The machine; absent if a file of another tool was imported and its machine is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// The clock that timed it; absent where it was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// What the numbers are.
    #[serde(default, skip_serializing_if = "Unit::is_nanoseconds")]
    pub unit: Unit,
    /// The cpus that the map is of, by the system's numbers.
    pub cpus: CpuSet,
    /// Groups found by a search before pairs were chosen, on a large machine without reported groups; empty if there
    /// was no search, or it found none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searched: Vec<CpuSet>,
    /// Whether the time ended before the pairs from which groups are concluded were found and visited once: what is missing says nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// One entry for each way to talk; all were measured in turn, pair by pair.
    #[serde(deserialize_with = "super::rows::series")]
    pub series: Vec<Series>,
    /// How fast each cpu ran while it was measured, by rising number, where that was looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<CpuClock>,
    /// Samples that were thrown away.
    pub spoiled: Spoiled,
    /// Whether disjoint pairs were measured at a time, and what the look at whether that may be done showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<Parallel>,
    /// What could not be measured; gaps of pairs are in the series.
    pub gaps: Vec<Gap>,
}

/// A map of more cpus is none: a table of all pairs has 34 MB then, and there are several.
pub const MOST_CPUS: usize = 2048;

/// What the pairs of a map that comes from a file may take in memory, in bytes: all pairs of [`MOST_CPUS`] with a cost each way take half.
pub(super) const MOST_BYTES: usize = 128 << 20;

#[cfg(test)]
impl LinkMap {
    /// A map of a machine as if it had been measured by compare-and-swap.
    pub fn of_pairs(machine: Machine, pairs: Vec<super::Pair>) -> Self {
        let provenance = Provenance {
            origin: Origin::Measured,
            corewise: "test".into(),
            started_unix_ms: 0,
            elapsed_s: 1.0,
            budget_s: 60.0,
            seed: 1,
            partial: false,
        };
        let links = Links { possible_pairs: pairs.len() as u64, pairs, gaps: Vec::new() };
        Self {
            provenance,
            cpus: machine.allowed.clone(),
            machine: Some(machine),
            clock: None,
            unit: Unit::Nanoseconds,
            searched: Vec::new(),
            unfinished: false,
            series: vec![Series { what: What::Cas, links, held_out: Vec::new() }],
            clocks: Vec::new(),
            spoiled: Spoiled::default(),
            parallel: None,
            gaps: Vec::new(),
        }
    }
}

/// What the numbers of a map are. Fields whose names end in `_ns` hold cycles where the unit says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Nanoseconds.
    #[default]
    Nanoseconds,
    /// Cycles of an unknown clock: some tools write these.
    Cycles,
}

impl Unit {
    /// "ns" or "cycles".
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Cycles => "cycles",
        }
    }

    /// Whether it is the usual one.
    pub fn is_nanoseconds(&self) -> bool {
        *self == Self::Nanoseconds
    }
}

/// One way to talk and what it costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The way to talk.
    pub what: What,
    /// The pairs.
    pub links: Links,
    /// Pairs that were measured only to check what is predicted for pairs that were not; they are not among `links`.
    #[serde(default, with = "super::rows", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<super::rows::Row>")]
    pub held_out: Vec<super::Pair>,
}

/// Where and how a map was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Whether it was measured here.
    pub origin: Origin,
    /// corewise's version.
    pub corewise: String,
    /// The beginning, in milliseconds since 1970-01-01 UTC; of an import when it was imported.
    pub started_unix_ms: i64,
    /// How long it took, in seconds; simulated: how long it would have.
    pub elapsed_s: f64,
    /// How long it was meant to take at most, in seconds; 0 for an import.
    pub budget_s: f64,
    /// The seed of the random orders and choices.
    pub seed: u64,
    /// Whether it was ended before its plan was.
    pub partial: bool,
}

/// Where a map comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum Origin {
    /// This machine was measured.
    Measured,
    /// A recorded matrix stood for a machine.
    Simulated {
        /// The matrix's file.
        file: String,
    },
    /// Another tool measured it.
    Imported {
        /// The file.
        file: String,
        /// What the file is, in words: "lower triangle without names (core-to-core-latency)".
        format: String,
        /// What has to be known about it: "only 12 different values: coarse clock".
        remarks: Vec<String>,
    },
}

/// How fast a cpu ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuClock {
    /// The cpu.
    pub cpu: u32,
    /// The median of its visits, in gigahertz; estimated from chains of additions.
    pub gigahertz: f64,
    /// The slowest visit.
    pub lowest: f64,
    /// The fastest visit.
    pub highest: f64,
}

/// Samples that were thrown away, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spoiled {
    /// All samples, spoiled or not.
    pub samples: u64,
    /// The cpu was taken from one of the two threads meanwhile.
    pub switched: u64,
    /// Longer than 1.5 times its visit's typical sample: an interrupt, or the host.
    pub interrupted: u64,
    /// The kernel counted stolen time on one of the two cpus in the visit; all samples of the visit.
    pub stolen: u64,
}

/// The look at whether pairs may be measured at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parallel {
    /// How many disjoint pairs were measured at a time; 1 where they disturbed each other.
    pub at_a_time: u32,
    /// How many pairs were measured alone and with others.
    pub pairs: u32,
    /// The median over these of the cost with others against the cost alone.
    pub ratio: f64,
    /// The 95 % interval of that median.
    pub interval: (f64, f64),
}
