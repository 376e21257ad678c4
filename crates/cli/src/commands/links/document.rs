//! The JSON document.

use corewise_model::links::LinkMap;
use corewise_model::links::compare::LinkComparison;
use corewise_model::links::conclude::LinkConclusions;
use corewise_store::MapEntry;
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise links --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/links/1")]
pub struct LinksDocument<'a> {
    #[schemars(extend("const" = "corewise/links/1"))]
    schema: &'static str,
    /// What was measured.
    map: &'a LinkMap,
    /// What it shows.
    conclusions: &'a LinkConclusions,
    /// Its number in the history; null where it is not stored.
    stored: Option<i64>,
}

impl<'a> LinksDocument<'a> {
    /// The document of a map.
    pub fn new(map: &'a LinkMap, conclusions: &'a LinkConclusions, stored: Option<i64>) -> Self {
        Self { schema: "corewise/links/1", map, conclusions, stored }
    }
}

/// What `corewise links compare --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/links-comparison/1")]
pub struct LinksComparisonDocument<'a> {
    #[schemars(extend("const" = "corewise/links-comparison/1"))]
    schema: &'static str,
    /// The earlier map: "map 3", or a file.
    before: String,
    /// The later map.
    after: String,
    /// One entry for each way to talk that both have.
    kinds: &'a [LinkComparison],
}

impl<'a> LinksComparisonDocument<'a> {
    /// The document of a comparison.
    pub fn new(before: String, after: String, kinds: &'a [LinkComparison]) -> Self {
        Self { schema: "corewise/links-comparison/1", before, after, kinds }
    }
}

/// What `corewise links list --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/maps/1")]
pub struct MapsDocument<'a> {
    #[schemars(extend("const" = "corewise/maps/1"))]
    schema: &'static str,
    /// The stored maps in the order they were added.
    maps: &'a [MapEntry],
}

impl<'a> MapsDocument<'a> {
    /// The document of a list.
    pub fn new(maps: &'a [MapEntry]) -> Self {
        Self { schema: "corewise/maps/1", maps }
    }
}
