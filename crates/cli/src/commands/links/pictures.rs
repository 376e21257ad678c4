//! The pictures of a map of links: its heat map, and tables for other programs.

pub mod comparison;
pub mod export;
pub mod screen;
mod sends;
#[cfg(test)]
mod tests;

use std::ops::Range;

use corewise_machine::CpuSet;
use corewise_model::links::CostMatrix;
use corewise_model::links::map::CostUnit;

use crate::draw::heat::{HeatMap, HeatSide};

/// The order of the cpus in a drawn matrix, and their labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatrixLayout {
    /// Places of the matrix in drawing order, by number or by group.
    pub order: Vec<usize>,
    /// Rising indices in `order` at which a new group begins; 0 is optional. Empty without groups.
    pub boundaries: Vec<usize>,
    /// Labels of the places of the matrix; a place without an entry has none.
    pub labels: Vec<String>,
    /// Names of the groups in drawing order; a group without an entry has none.
    pub names: Vec<String>,
    /// The unit of the costs.
    pub unit: CostUnit,
    /// True for each predicted cost, for each two places of the matrix, row by row. Empty if all are measured.
    pub predicted: Vec<bool>,
    /// The ends of the scale in nanoseconds, if known from cost classes. Siblings are too few for a quantile, and one
    /// outlier would shift an extreme.
    pub ends: Option<[f64; 2]>,
}

impl MatrixLayout {
    /// Orders all cpus by number, without groups.
    pub fn from_numbers(matrix: &CostMatrix) -> Self {
        let labels = matrix.cpus().iter().map(u32::to_string).collect();
        Self { order: (0..matrix.len()).collect(), labels, ..Self::default() }
    }

    /// Orders the cpus by group, named group:0, group:1, …; ungrouped cpus come last, without a name.
    pub fn from_groups(matrix: &CostMatrix, groups: &[CpuSet]) -> Self {
        let mut layout = Self { order: Vec::new(), ..Self::from_numbers(matrix) };
        let mut left = matrix.cpu_set();
        for (index, group) in groups.iter().enumerate() {
            let cpus = left.intersection(group);
            left = left.difference(group);
            if !cpus.is_empty() {
                layout.begin_group(matrix, &cpus);
                layout.names.push(format!("group:{index}"));
            }
        }
        if !left.is_empty() {
            layout.begin_group(matrix, &left);
        }
        layout
    }

    /// Marks the costs that were not measured as predicted.
    #[must_use]
    pub fn with_predictions(mut self, all: &CostMatrix, measured: &CostMatrix) -> Self {
        let places = all.len();
        let pairs = (0..places).flat_map(|row| (0..places).map(move |column| (row, column)));
        let is_predicted = |(i, j)| all.pair_cost(i, j).is_finite() && measured.pair_cost(i, j).is_nan();
        self.predicted = pairs.map(is_predicted).collect();
        if !self.predicted.contains(&true) {
            self.predicted.clear();
        }
        self
    }

    fn begin_group(&mut self, matrix: &CostMatrix, cpus: &CpuSet) {
        self.boundaries.push(self.order.len());
        self.order.extend(cpus.iter().filter_map(|cpu| matrix.place_of(cpu)));
    }

    /// Returns the groups as ranges of `order`; a single range without boundaries.
    fn group_ranges(&self) -> Vec<Range<usize>> {
        let count = self.order.len();
        let inner = self.boundaries.iter().copied().filter(|&index| 0 < index && index < count);
        let mut ends: Vec<usize> = inner.chain([count]).filter(|&end| end > 0).collect();
        ends.sort_unstable();
        ends.dedup();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(ends.iter().copied()).map(|(start, end)| start..end).collect()
    }

    /// Returns the heat map of a matrix.
    pub fn heat_map(&self, matrix: &CostMatrix) -> HeatMap {
        let count = self.order.len();
        let cells = || (0..count).flat_map(|row| (0..count).map(move |column| (row, column)));
        let titles = if self.is_directed(matrix) { ["first cpu", "second cpu"] } else { ["cpu"; 2] };
        let label = |place: &usize| self.labels.get(*place).cloned().unwrap_or_default();
        let [rows, columns] = titles.map(|title| HeatSide {
            title: title.to_owned(),
            labels: self.order.iter().map(label).collect(),
            groups: self.group_ranges(),
            names: self.names.clone(),
        });
        let predicted = cells().map(|(row, column)| self.is_predicted(row, column));
        HeatMap {
            rows,
            columns,
            costs: cells().map(|(row, column)| self.cost_at(matrix, row, column)).collect(),
            predicted: if self.predicted.is_empty() { Vec::new() } else { predicted.collect() },
            is_of_pairs: true,
            unit: self.unit.word().to_owned(),
            unknown: None,
            ends: self.ends,
        }
    }

    /// Returns the cost of a cell in nanoseconds: that of its direction, or of the pair if only the other direction
    /// is known. NaN on the diagonal, and for unknown costs.
    fn cost_at(&self, matrix: &CostMatrix, row: usize, column: usize) -> f64 {
        let (first, second) = (self.order[row], self.order[column]);
        if row == column || first.max(second) >= matrix.len() {
            return f64::NAN;
        }
        let way = matrix.one_way_cost(first, second);
        if way.is_finite() { way } else { matrix.pair_cost(first, second) }
    }

    fn is_predicted(&self, row: usize, column: usize) -> bool {
        let (first, second) = (self.order[row], self.order[column]);
        let places = self.predicted.len().isqrt();
        first.max(second) < places && self.predicted[first * places + second]
    }

    /// Returns true if the cost of some pair depends on the direction.
    fn is_directed(&self, matrix: &CostMatrix) -> bool {
        let count = self.order.len();
        let differs = |row, column| {
            let (there, back) = (self.cost_at(matrix, row, column), self.cost_at(matrix, column, row));
            there.is_finite() && back.is_finite() && there != back
        };
        (0..count).any(|row| (0..row).any(|column| differs(row, column)))
    }
}
