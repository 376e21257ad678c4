//! A link map, measured, simulated or imported: plain observations, from which the rest is computed.

use corewise_machine::{CpuSet, Gap, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LinkFindings, TalkWay};
use crate::artifact::{ArtifactOrigin, ArtifactProvenance};
use crate::clock::ClockRecord;

/// Measurements of `corewise links`: for one machine, one or several ways to talk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkMap {
    /// Its origin.
    pub provenance: ArtifactProvenance,
    /// The machine; absent if a file of another tool was imported and its machine is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// The clock that timed it; absent if it was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockRecord>,
    /// Unit of the numbers.
    #[serde(default, skip_serializing_if = "CostUnit::is_nanoseconds")]
    pub unit: CostUnit,
    /// The cpus of the map, by the system's numbers.
    pub cpus: CpuSet,
    /// Groups found by a search before pairs were chosen, on a large machine without reported groups; empty if there
    /// was no search, or it found none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searched: Vec<CpuSet>,
    /// True if the time ended before the pairs that show groups were found and visited once: missing groups mean
    /// nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// One entry for each way to talk; all were measured in turn, pair by pair.
    #[serde(deserialize_with = "super::rows::read_series")]
    pub series: Vec<LinkSeries>,
    /// Speed of each cpu during the measurement, by rising number, if it was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<CpuClock>,
    /// Discarded samples.
    pub spoiled: SpoiledSamples,
    /// Whether disjoint pairs were measured at the same time, and the result of the test for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<ParallelCheck>,
    /// Failed measurements; gaps of pairs are in the series.
    pub gaps: Vec<Gap>,
}

/// Maximum number of cpus of a map: a table of all pairs then has 34 MB, and there are several.
pub const MOST_CPUS: usize = 2048;

/// Maximum memory of the pairs of a map that comes from a file, in bytes: all pairs of [`MOST_CPUS`] with a cost each
/// way take half.
pub(super) const MOST_BYTES: usize = 128 << 20;

impl LinkMap {
    /// Creates a map of a machine as if it had been measured by compare-and-swap.
    pub(crate) fn of_pairs(machine: Machine, pairs: Vec<super::LinkPair>) -> Self {
        let provenance = ArtifactProvenance {
            origin: ArtifactOrigin::Measured,
            corewise: "simulated".into(),
            started_unix_ms: 0,
            elapsed_s: 1.0,
            budget_s: 60.0,
            seed: 1,
            partial: false,
        };
        let links = LinkFindings { possible_pairs: pairs.len() as u64, pairs, gaps: Vec::new() };
        Self {
            provenance,
            cpus: machine.allowed.clone(),
            machine: Some(machine),
            clock: None,
            unit: CostUnit::Nanoseconds,
            searched: Vec::new(),
            unfinished: false,
            series: vec![LinkSeries { what: TalkWay::Cas, links, held_out: Vec::new() }],
            clocks: Vec::new(),
            spoiled: SpoiledSamples::default(),
            parallel: None,
            gaps: Vec::new(),
        }
    }
}

/// Unit of a map's numbers. Fields with names in `_ns` hold cycles if the unit is cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CostUnit {
    /// Nanoseconds.
    #[default]
    Nanoseconds,
    /// Cycles of an unknown clock, as written by some tools.
    Cycles,
}

impl CostUnit {
    /// Returns "ns" or "cycles".
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Cycles => "cycles",
        }
    }

    /// Returns true for the usual unit.
    pub fn is_nanoseconds(&self) -> bool {
        *self == Self::Nanoseconds
    }
}

/// One way to talk and its costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSeries {
    /// The way to talk.
    pub what: TalkWay,
    /// The pairs.
    pub links: LinkFindings,
    /// Pairs measured only to check the predictions for unmeasured pairs; they are not among `links`.
    #[serde(default, with = "super::rows", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<super::rows::PairRow>")]
    pub held_out: Vec<super::LinkPair>,
}

/// Speed of a cpu.
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

/// Discarded samples, with reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpoiledSamples {
    /// All samples, spoiled or not.
    pub samples: u64,
    /// One of the two threads lost its cpu meanwhile.
    pub switched: u64,
    /// Longer than 1.5 times its visit's typical sample: an interrupt, or the host.
    pub interrupted: u64,
    /// The kernel counted stolen time on one of the two cpus in the visit; all samples of the visit.
    pub stolen: u64,
}

/// Test of measuring several pairs at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ParallelCheck {
    /// Number of disjoint pairs measured at the same time; 1 if they disturbed each other.
    pub at_a_time: u32,
    /// Number of pairs measured both alone and with others.
    pub pairs: u32,
    /// The median over these of the ratio of the cost with others to the cost alone.
    pub ratio: f64,
    /// The 95 % interval of that median.
    pub interval: (f64, f64),
}
