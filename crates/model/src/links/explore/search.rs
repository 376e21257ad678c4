//! The search for groups among many cores of which nothing is told, or that are told to be alike and are not: rows of the map, each from a
//! core that no group has yet.

use super::Matrix;
use crate::stats::random::Random;

/// Who is near costs less than the nearest of the others by this.
const STEP: f64 = 1.25;
/// So many are far at least: one pair that was disturbed makes no group of all others.
const FAR_AT_LEAST: usize = 2;
/// After so many rows without anybody near, there are no groups.
const ROWS_WITHOUT: usize = 3;

/// A search in the making.
#[derive(Debug)]
pub(super) struct Search {
    /// The cores that are divided.
    cores: Vec<usize>,
    /// The group of each of them, as far as it is known.
    group: Vec<Option<usize>>,
    groups: usize,
    /// The core whose row is being measured.
    row: Option<usize>,
    rows_without: usize,
}

impl Search {
    pub(super) fn new(cores: Vec<usize>) -> Self {
        Self { group: vec![None; cores.len()], cores, groups: 0, row: None, rows_without: 0 }
    }

    /// The pairs of the next row, by places; absent when every core has its group, or there are no groups.
    pub(super) fn next(
        &mut self,
        costs: &Matrix,
        firsts: &[usize],
        random: &mut Random,
    ) -> Option<Vec<(usize, usize)>> {
        if let Some(row) = self.row.take() {
            self.divide(row, costs, firsts);
        }
        let waiting: Vec<usize> = (0..self.cores.len()).filter(|&core| self.group[core].is_none()).collect();
        if waiting.len() < 2 || self.rows_without == ROWS_WITHOUT {
            return None;
        }
        let row = waiting[random.below(waiting.len())];
        self.row = Some(row);
        let place = |core: usize| firsts[self.cores[core]];
        Some(waiting.into_iter().filter(|&core| core != row).map(|core| (place(row), place(core))).collect())
    }

    /// The cores with the group of each; one group for all where there are none.
    pub(super) fn groups(self) -> Vec<(usize, usize)> {
        let found = self.rows_without < ROWS_WITHOUT;
        let group = self.group.iter().map(|group| if found { group.unwrap_or(self.groups) } else { 0 });
        self.cores.iter().copied().zip(group).collect()
    }

    /// Divides a row at its widest gap: who is nearer makes a group with the row's own core.
    fn divide(&mut self, row: usize, costs: &Matrix, firsts: &[usize]) {
        let waiting = (0..self.cores.len()).filter(|&core| core != row && self.group[core].is_none());
        let cost = |core: usize| costs.cost(firsts[self.cores[row]], firsts[self.cores[core]]);
        let mut others: Vec<(f64, usize)> =
            waiting.map(|core| (cost(core), core)).filter(|(cost, _)| cost.is_finite()).collect();
        others.sort_by(|one, other| one.0.total_cmp(&other.0));
        let most_near = others.len().saturating_sub(FAR_AT_LEAST);
        let gaps = others.windows(2).enumerate().map(|(place, pair)| (pair[1].0 / pair[0].0, place + 1));
        let gaps = gaps.filter(|(_, near)| *near <= most_near);
        let (gap, near) = gaps.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((1.0, 0));
        if gap < STEP && self.groups == 0 {
            self.rows_without += 1;
            return;
        }
        // The last group left has nobody outside to be far from.
        let near = if gap >= STEP { near } else { others.len() };
        self.group[row] = Some(self.groups);
        others[..near].iter().for_each(|&(_, core)| self.group[core] = Some(self.groups));
        self.groups += 1;
    }
}
