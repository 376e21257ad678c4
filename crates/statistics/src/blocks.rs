//! Tests on randomised blocks: the columns of tables that differ from the others of their table, when each row was made
//! in random order.
//!
//! A survey's round visits every cpu once in fresh random order. If equal cpus differ only by the time of their visits,
//! every assignment of a row's values to its columns was equally likely, for any drift between rows. So the values of
//! each row are exchanged at random many times, and the observed statistic is compared with those after exchanges. No
//! distribution is assumed; the test relies only on our own randomisation.
//!
//! All tables are **one family**: the statistic is the largest standardised deviation over all columns of all tables.
//! Tables are exchanged independently of each other. For tables that depend on each other (two quantities of the same
//! visits) the error rate is at most the sum over the tables of the rate of each, which is `-ln(1 - alpha)`: 1.005 % for
//! an alpha of 1 %.

use corewise_machine::random::RandomGenerator;

use crate::order::median;

/// A table of values: rows are rounds, each with a value for every column (take logarithms for ratios).
pub type RoundTable = Vec<Vec<f64>>;

/// Number of random exchanges of a test; the smallest probability it can find is `1 / (EXCHANGES + 1)`.
const EXCHANGES: usize = 1999;
/// Number of columns of a family above which `EXCHANGES_OF_WIDE` applies.
const WIDE: usize = 256;
const EXCHANGES_OF_WIDE: usize = 999;
/// Deviations beyond this multiple of the typical one are clamped, so that one spoiled visit decides nothing.
const CLAMP: f64 = 3.0;

/// Relative rounding error of a sum.
const ROUNDING: f64 = 1e-9;

/// A column that differs from the others of its table, with its probability by chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DifferingColumn {
    /// The table's index.
    pub table: usize,
    /// The column's index in its table.
    pub column: usize,
    /// The probability that any column of a family of equal columns looks this different, or more.
    pub p_value: f64,
}

/// Returns the columns that differ from the others of their table, most certain first, with a family-wise error rate of
/// `alpha` over all tables: among equal columns, *any* column is called different with probability `alpha` at most.
///
/// Rows with a value that is not finite are left out. The statistic is the largest absolute sum of a column's clamped
/// deviations from the row's median, less its mean and over its standard deviation under exchanges (Westfall and Young's
/// max-T); a column that differs is removed and the rest is tested again.
pub fn differing_columns(tables: &[RoundTable], alpha: f64, seed: u64) -> Vec<DifferingColumn> {
    let width: usize = tables.iter().filter_map(|rows| rows.first()).map(Vec::len).sum();
    let exchanges = if width > WIDE { EXCHANGES_OF_WIDE } else { EXCHANGES };
    let seeds = RandomGenerator::new(seed).next_bits();
    let seeded = tables.iter().zip(0_u64..);
    let mut family: Vec<ExchangedTable<'_>> =
        seeded.map(|(rows, index)| ExchangedTable::new(rows, seeds.wrapping_add(index))).collect();
    let mut found: Vec<DifferingColumn> = Vec::new();
    while let Some((table, place, deviation)) = farthest_column(&family) {
        let Some(p_value) = family_probability(&mut family, deviation, exchanges, alpha) else { break };
        // A step's probability is not below that of the step before.
        let p_value = found.last().map_or(p_value, |last| p_value.max(last.p_value));
        found.push(DifferingColumn { table, column: family[table].remove_column(place), p_value });
    }
    found
}

/// Returns the ratio of one column to the median of others in each row, for rows of logarithms.
pub fn column_ratios(rows: &[Vec<f64>], column: usize, others: &[usize]) -> Vec<f64> {
    rows.iter()
        .map(|row| {
            let others: Vec<f64> = others.iter().map(|&other| row[other]).collect();
            (row[column] - median(&others)).exp()
        })
        .filter(|ratio| ratio.is_finite())
        .collect()
}

/// A table, its columns that were not found yet, and its largest deviation in each exchange so far.
struct ExchangedTable<'a> {
    rows: Vec<&'a Vec<f64>>,
    columns: Vec<usize>,
    /// Each row's deviations, one row after the other, so that a column's sum has mean 0 and variance 1 under exchanges.
    deviations: Vec<f64>,
    exchanged: Vec<f64>,
    largest: Vec<f64>,
    random: RandomGenerator,
}

impl<'a> ExchangedTable<'a> {
    fn new(rows: &'a RoundTable, seed: u64) -> Self {
        let rows: Vec<&Vec<f64>> = rows.iter().filter(|row| row.iter().all(|value| value.is_finite())).collect();
        let columns = (0..rows.first().map_or(0, |row| row.len())).collect();
        let (deviations, exchanged, largest) = (Vec::new(), Vec::new(), Vec::new());
        let mut table = Self { rows, columns, deviations, exchanged, largest, random: RandomGenerator::new(seed) };
        table.standardise();
        table
    }

    /// Computes the deviations of the remaining columns, and forgets the exchanges.
    fn standardise(&mut self) {
        self.deviations = standard_deviations(&self.rows, &self.columns);
        self.exchanged.clone_from(&self.deviations);
        self.largest.clear();
    }

    /// Removes the column at a place among the remaining ones, and returns its index.
    fn remove_column(&mut self, place: usize) -> usize {
        let column = self.columns.remove(place);
        self.standardise();
        column
    }

    /// Returns the place with the largest absolute sum, and that. Of mirrored columns, such as the two of a pair, it is
    /// the larger one; sums of the same numbers in another order differ in the last digits.
    fn farthest_place(&self) -> Option<(usize, f64)> {
        let sums = column_sums(&self.deviations, self.columns.len());
        let farthest = largest_size(&sums);
        let as_far = (0..sums.len()).filter(|&place| sums[place].abs() >= farthest * (1.0 - ROUNDING));
        as_far.max_by(|&a, &b| sums[a].total_cmp(&sums[b])).map(|place| (place, farthest))
    }

    /// Returns the largest absolute sum after the exchange of this number.
    fn largest_after(&mut self, exchange: usize) -> f64 {
        let width = self.columns.len();
        while self.largest.len() <= exchange {
            self.exchanged.chunks_exact_mut(width.max(1)).for_each(|row| self.random.shuffle(row));
            self.largest.push(largest_size(&column_sums(&self.exchanged, width)));
        }
        self.largest[exchange]
    }
}

/// Returns the table and place with the largest deviation, and that; `None` if nothing deviates.
fn farthest_column(family: &[ExchangedTable<'_>]) -> Option<(usize, usize, f64)> {
    let farthest = family.iter().enumerate().filter(|(_, table)| table.columns.len() > 1);
    let farthest = farthest.filter_map(|(index, table)| table.farthest_place().map(|(place, far)| (index, place, far)));
    farthest.max_by(|one, other| one.2.total_cmp(&other.2)).filter(|(_, _, far)| *far > 0.0)
}

/// Returns the probability of so large a deviation under random exchanges within rows. `None` if it exceeds `alpha`,
/// which is often known before all exchanges are made.
fn family_probability(family: &mut [ExchangedTable<'_>], deviation: f64, exchanges: usize, alpha: f64) -> Option<f64> {
    let probability = |as_extreme: usize| (as_extreme + 1) as f64 / (exchanges + 1) as f64;
    let mut as_extreme = 0;
    for exchange in 0..exchanges {
        let largest = family.iter_mut().map(|table| table.largest_after(exchange)).fold(0.0, f64::max);
        as_extreme += usize::from(largest >= deviation * (1.0 - ROUNDING));
        if probability(as_extreme) > alpha {
            return None;
        }
    }
    Some(probability(as_extreme))
}

/// Returns each row's clamped deviations from its own median, for the chosen columns, one row after the other, less the
/// row's mean and scaled by the standard deviation of a column's sum under exchanges.
fn standard_deviations(rows: &[&Vec<f64>], columns: &[usize]) -> Vec<f64> {
    let width = columns.len().max(1);
    let mut all = clamped_deviations(rows, columns);
    for row in all.chunks_exact_mut(width) {
        let mean = row.iter().sum::<f64>() / width as f64;
        row.iter_mut().for_each(|value| *value -= mean);
    }
    let deviation = (all.iter().map(|value| value * value).sum::<f64>() / width as f64).sqrt();
    // Without any deviation all are zero.
    let scale = if deviation > 0.0 { deviation } else { 1.0 };
    all.iter_mut().for_each(|value| *value /= scale);
    all
}

fn clamped_deviations(rows: &[&Vec<f64>], columns: &[usize]) -> Vec<f64> {
    let mut all = Vec::with_capacity(rows.len() * columns.len());
    for row in rows {
        let values: Vec<f64> = columns.iter().map(|&column| row[column]).collect();
        let middle = median(&values);
        all.extend(values.iter().map(|value| value - middle));
    }
    let sizes: Vec<f64> = all.iter().map(|deviation| deviation.abs()).collect();
    let typical = median(&sizes);
    // If more than half of all values equal their row's median, the mean size replaces the median.
    let scale = if typical > 0.0 { typical } else { sizes.iter().sum::<f64>() / sizes.len().max(1) as f64 };
    for deviation in &mut all {
        *deviation = deviation.clamp(-CLAMP * scale, CLAMP * scale);
    }
    all
}

fn column_sums(values: &[f64], width: usize) -> Vec<f64> {
    let mut sums = vec![0.0; width];
    for row in values.chunks_exact(width.max(1)) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
    sums
}

fn largest_size(sums: &[f64]) -> f64 {
    sums.iter().fold(0.0_f64, |largest, sum| largest.max(sum.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of equal cpus on a drifting machine: a random walk, visits one after the other in random order, noise with
    /// outliers, and a mode that sticks for a while.
    fn quiet_rounds(columns: usize, rounds: usize, random: &mut RandomGenerator) -> Vec<Vec<f64>> {
        let (mut drift, mut mode) = (0.0, 0.0);
        (0..rounds)
            .map(|_| {
                let mut order: Vec<usize> = (0..columns).collect();
                random.shuffle(&mut order);
                let mut row = vec![0.0; columns];
                for column in order {
                    drift += 0.004 * random.next_normal();
                    if random.next_unit() < 0.06 {
                        mode = 0.03 - mode;
                    }
                    let outlier = if random.next_unit() < 0.05 { 0.3 * random.next_unit() } else { 0.0 };
                    row[column] = drift + mode + 0.01 * random.next_normal() + outlier;
                }
                row
            })
            .collect()
    }

    fn share_called_different(columns: usize, rounds: usize, alpha: f64, tables: usize) -> f64 {
        let mut random = RandomGenerator::new(columns as u64 * 1000 + rounds as u64);
        let called = (0..tables)
            .filter(|&table| {
                !differing_columns(&[quiet_rounds(columns, rounds, &mut random)], alpha, table as u64).is_empty()
            })
            .count();
        called as f64 / tables as f64
    }

    #[test]
    fn equal_columns_are_called_different_no_oftener_than_promised() {
        // 400 tables each: a true rate of 5 % gives more than 8 % in about 3 of 1,000 such tests; the seeds are fixed.
        for (columns, rounds) in [(2, 8), (2, 24), (8, 24), (32, 12)] {
            let share = share_called_different(columns, rounds, 0.05, 400);
            assert!(share <= 0.08, "{columns} columns, {rounds} rounds: {share}");
            assert!(columns == 2 && rounds == 8 || share >= 0.02, "the test has no power left: {share}");
        }
    }

    #[test]
    fn a_column_that_differs_is_found_among_many() {
        let mut random = RandomGenerator::new(11);
        let mut found = 0;
        for table in 0..100 {
            let mut rows = quiet_rounds(16, 24, &mut random);
            rows.iter_mut().for_each(|row| row[5] += 0.05);
            let differing = differing_columns(&[rows], 0.01, table);
            found += usize::from(differing.first().is_some_and(|first| first.column == 5));
        }
        assert!(found >= 95, "{found} of 100");
    }

    #[test]
    fn two_columns_that_differ_are_both_found() {
        let mut random = RandomGenerator::new(12);
        let mut rows = quiet_rounds(8, 24, &mut random);
        rows.iter_mut().for_each(|row| (row[0], row[1]) = (row[0] + 0.5, row[1] + 0.2));
        let mut columns: Vec<usize> = differing_columns(&[rows], 0.01, 1).iter().map(|found| found.column).collect();
        columns.sort_unstable();
        assert_eq!(columns, [0, 1]);
    }

    /// Two tables of each width: as many families with a false call as promised, whatever the number of tables.
    #[test]
    fn many_tables_are_one_family() {
        let mut random = RandomGenerator::new(14);
        let called = (0..300).filter(|&seed| {
            let tables: Vec<RoundTable> =
                [2, 8, 2, 8, 3, 3].map(|columns| quiet_rounds(columns, 16, &mut random)).into();
            !differing_columns(&tables, 0.05, seed).is_empty()
        });
        let called = called.count();
        // A true rate of 5 % gives more than 25 in about 7 of 1,000 such tests.
        assert!((4..=25).contains(&called), "{called} of 300");
    }

    #[test]
    fn a_column_is_found_in_its_own_table() {
        let mut random = RandomGenerator::new(15);
        let mut tables: Vec<RoundTable> = (0..16).map(|_| quiet_rounds(8, 24, &mut random)).collect();
        tables[9].iter_mut().for_each(|row| row[5] += 0.05);
        tables[3].iter_mut().for_each(|row| row[0] -= 0.1);
        let mut found: Vec<(usize, usize)> =
            differing_columns(&tables, 0.01, 1).iter().map(|found| (found.table, found.column)).collect();
        found.sort_unstable();
        assert_eq!(found, [(3, 0), (9, 5)]);
    }

    #[test]
    fn identical_or_missing_values_show_nothing() {
        assert!(differing_columns(&[vec![vec![1.0, 1.0, 1.0]; 24]], 0.05, 1).is_empty());
        assert!(differing_columns(&[], 0.05, 1).is_empty() && differing_columns(&[vec![]], 0.05, 1).is_empty());
        let rows = vec![vec![f64::NAN, 1.0]; 24];
        assert!(differing_columns(&[rows], 0.05, 1).is_empty());
    }

    #[test]
    fn of_a_pair_the_larger_is_named() {
        let mut random = RandomGenerator::new(13);
        for _ in 0..200 {
            let rows: Vec<Vec<f64>> =
                (0..24).map(|_| vec![random.next_unit().ln(), 3.0 + random.next_unit().ln()]).collect();
            assert_eq!(differing_columns(&[rows], 0.05, 1)[0].column, 1);
        }
    }
}
