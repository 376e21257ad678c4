//! A heat map: what each row costs with each column, as colours. One value, drawn for the terminal and as SVG.

pub mod depth;
mod labels;
mod scale;
mod svg;
mod terminal;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use svg::SvgText;

/// Costs by row and column, with what stands beside them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// The rows.
    pub rows: Side,
    /// The columns.
    pub columns: Side,
    /// The costs, row by row; not a number where one is not known.
    pub costs: Vec<f64>,
    /// Row by row whether a cost is predicted; empty where none is.
    pub predicted: Vec<bool>,
    /// Whether rows and columns are the same things: none has a cost with itself, and both are joined alike where there is little room.
    pub is_of_pairs: bool,
    /// The unit of the costs: "ns".
    pub unit: String,
    /// The costs at which the scale begins and ends, where they are known; otherwise quantiles.
    pub ends: Option<[f64; 2]>,
}

/// The rows of a heat map, or its columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// What each of them is: "cpu".
    pub title: String,
    /// What each of them is called.
    pub labels: Vec<String>,
    /// Those that belong together, in order: all of them lie in one.
    pub groups: Vec<Range<usize>>,
    /// What the groups are called; those without an entry have no name.
    pub names: Vec<String>,
}

impl Side {
    /// Rows or columns of these names that make one group.
    pub fn plain(title: impl Into<String>, labels: Vec<String>) -> Self {
        let all = std::iter::once(0..labels.len()).filter(|all| !all.is_empty());
        Self { title: title.into(), groups: all.collect(), labels, names: Vec::new() }
    }

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn label(&self, index: usize) -> &str {
        self.labels.get(index).map_or("", String::as_str)
    }
}

impl HeatMap {
    fn is_empty(&self) -> bool {
        self.rows.len() == 0 || self.columns.len() == 0
    }

    fn cost(&self, row: usize, column: usize) -> f64 {
        self.costs[row * self.columns.len() + column]
    }

    fn is_predicted(&self, row: usize, column: usize) -> bool {
        self.predicted.get(row * self.columns.len() + column).is_some_and(|predicted| *predicted)
    }

    /// Whether a cell is of one thing with itself.
    fn is_own(&self, row: usize, column: usize) -> bool {
        self.is_of_pairs && row == column
    }

    /// All costs that are known.
    fn known(&self) -> Vec<f64> {
        self.costs.iter().copied().filter(|cost| cost.is_finite()).collect()
    }

    /// Whether a cost is missing, of so many that are known.
    fn has_unknown(&self, known: usize) -> bool {
        known + if self.is_of_pairs { self.rows.len() } else { 0 } < self.costs.len()
    }
}
