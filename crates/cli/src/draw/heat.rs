//! Heat maps of costs by row and column: one value, drawn for the terminal and as SVG.

pub mod depth;
mod labels;
mod scale;
#[cfg(feature = "measuring")]
mod svg;
mod terminal;
#[cfg(test)]
mod tests;

use std::ops::Range;

/// Costs by row and column, with labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// Labels of the rows.
    pub rows: HeatSide,
    /// Labels of the columns.
    pub columns: HeatSide,
    /// Costs row by row; NaN if unknown.
    pub costs: Vec<f64>,
    /// Whether each cost is predicted, row by row; empty if no cost is.
    pub predicted: Vec<bool>,
    /// Whether rows and columns are the same things. Then the diagonal is empty, and both are joined alike if there is
    /// little room.
    pub is_of_pairs: bool,
    /// Unit of the costs: "ns".
    pub unit: String,
    /// Meaning of an unknown cost, if it is not that it was not measured.
    pub unknown: Option<&'static str>,
    /// Costs at the ends of the scale, if known; otherwise quantiles.
    pub ends: Option<[f64; 2]>,
}

/// Text around a picture; any of it may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SvgText {
    /// Subject of the map: the processor.
    pub title: String,
    /// Method of measuring.
    pub subtitle: String,
    /// Source of the numbers.
    pub source: String,
}

/// Rows or columns of a heat map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatSide {
    /// Singular noun for them: "cpu".
    pub title: String,
    /// Label of each.
    pub labels: Vec<String>,
    /// Groups of consecutive ones, in order; together they cover all.
    pub groups: Vec<Range<usize>>,
    /// Names of the groups; groups beyond the end of this list have no name.
    pub names: Vec<String>,
}

impl HeatMap {
    fn meaning_of_blank(&self) -> &'static str {
        self.unknown.unwrap_or("not measured")
    }
}

impl HeatSide {
    /// Returns rows or columns that form one group.
    pub fn from_labels(title: impl Into<String>, labels: Vec<String>) -> Self {
        let all = std::iter::once(0..labels.len()).filter(|all| !all.is_empty());
        Self { title: title.into(), groups: all.collect(), labels, names: Vec::new() }
    }

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn label_at(&self, index: usize) -> &str {
        self.labels.get(index).map_or("", String::as_str)
    }
}

impl HeatMap {
    fn is_empty(&self) -> bool {
        self.rows.len() == 0 || self.columns.len() == 0
    }

    fn cost_at(&self, row: usize, column: usize) -> f64 {
        self.costs[row * self.columns.len() + column]
    }

    fn is_predicted(&self, row: usize, column: usize) -> bool {
        self.predicted.get(row * self.columns.len() + column).is_some_and(|predicted| *predicted)
    }

    /// Returns true if row and column are the same thing.
    fn is_own(&self, row: usize, column: usize) -> bool {
        self.is_of_pairs && row == column
    }

    /// Returns all known costs.
    fn known_costs(&self) -> Vec<f64> {
        self.costs.iter().copied().filter(|cost| cost.is_finite()).collect()
    }

    /// Returns true if a cost is missing, when `known` of them are known.
    fn has_unknown(&self, known: usize) -> bool {
        known + if self.is_of_pairs { self.rows.len() } else { 0 } < self.costs.len()
    }
}
