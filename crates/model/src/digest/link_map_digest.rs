//! Digest of a link map: cost classes and groups.

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{fits_digest, round_value, shorten_text};
use crate::Artifact as _;
use crate::links::conclude::{CostClass, KindConclusions};
use crate::links::map::CostUnit;
use crate::links::{LinkMap, TalkWay};

/// A link map in at most 4 KB of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkMapDigest {
    /// corewise's version.
    pub corewise: String,
    /// Duration in seconds.
    pub elapsed_s: f64,
    /// True if it was ended before its plan was complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Unit of the costs.
    pub unit: CostUnit,
    /// One entry for each way to talk, without the last ones if not all fit.
    pub ways: Vec<TalkDigest>,
    /// The groups that the costs show, in words: "8 groups of 3 cores"; absent if they show one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<String>,
    /// The cpus of each group; empty without groups, or if they do not fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group_cpus: Vec<CpuSet>,
}

/// Costs of one way to talk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TalkDigest {
    /// The way to talk.
    pub what: TalkWay,
    /// Its cost classes, nearest first.
    pub classes: Vec<ClassDigest>,
}

/// Costs of all pairs that meet on the same level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassDigest {
    /// Name of the class: "same core", "other package".
    pub words: String,
    /// Number of measured pairs.
    pub pairs: u64,
    /// The median.
    pub median: f64,
    /// The 5th percentile.
    pub low: f64,
    /// The 95th percentile.
    pub high: f64,
}

impl LinkMapDigest {
    /// Makes the digest of a map.
    pub fn from_map(map: &LinkMap) -> Self {
        let conclusions = map.draw_conclusions();
        let groups = conclusions.groups.as_ref();
        let mut digest = Self {
            corewise: shorten_text(&map.provenance.corewise),
            elapsed_s: round_value(map.provenance.elapsed_s, 3),
            partial: map.provenance.partial,
            unit: map.unit,
            ways: conclusions.kinds.iter().map(TalkDigest::from_conclusions).collect(),
            groups: groups.map(|groups| groups.describe_groups()),
            group_cpus: groups.map_or_else(Vec::new, |groups| groups.level.groups.clone()),
        };
        if !fits_digest(&digest) {
            digest.group_cpus.clear();
        }
        while !fits_digest(&digest) && digest.ways.pop().is_some() {}
        digest
    }
}

impl TalkDigest {
    fn from_conclusions(kind: &KindConclusions) -> Self {
        Self { what: kind.what, classes: kind.classes.iter().map(ClassDigest::from_class).collect() }
    }
}

impl ClassDigest {
    fn from_class(class: &CostClass) -> Self {
        Self {
            words: shorten_text(&class.words),
            pairs: class.pairs,
            median: round_value(class.median_ns, 3),
            low: round_value(class.low_ns, 3),
            high: round_value(class.high_ns, 3),
        }
    }
}
