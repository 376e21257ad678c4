//! Tests on randomised blocks: the columns of a table that differ from the others, when each row was made in random
//! order.
//!
//! A survey's round visits every cpu once in fresh random order. If equal cpus differ only by the time of their visits,
//! every assignment of a row's values to its columns was equally likely, for any drift between rows. So the values of
//! each row are exchanged at random many times, and the observed statistic is compared with those after exchanges. No
//! distribution is assumed; the test relies only on our own randomisation.

use corewise_machine::random::RandomGenerator;

use super::order::median;

/// Number of random exchanges of a test; the smallest probability it can find is `1 / (EXCHANGES + 1)`.
const EXCHANGES: usize = 1999;
/// Width of a table above which `EXCHANGES_OF_WIDE` applies.
const WIDE: usize = 64;
const EXCHANGES_OF_WIDE: usize = 999;
/// Deviations beyond this multiple of the typical one are clamped, so that one spoiled visit decides nothing.
const CLAMP: f64 = 3.0;

/// Relative rounding error of a sum.
const ROUNDING: f64 = 1e-9;

/// A column that differs from the others, with its probability by chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DifferingColumn {
    /// The column's index.
    pub column: usize,
    /// The probability that any column of a table of equal columns looks this different, or more.
    pub p_value: f64,
}

/// Returns the columns that differ from the others, most certain first, with a family-wise error rate of `alpha`: among
/// equal columns, *any* column is called different with probability `alpha` at most.
///
/// `rows` are rounds, each with a value for every column (take logarithms for ratios); rows with a value that is not
/// finite are left out. The statistic is the largest absolute mean of a column's clamped deviations from the row's
/// median (Westfall and Young's max-T); a column that differs is removed and the rest is tested again.
pub fn differing_columns(rows: &[Vec<f64>], alpha: f64, seed: u64) -> Vec<DifferingColumn> {
    let complete: Vec<&Vec<f64>> = rows.iter().filter(|row| row.iter().all(|value| value.is_finite())).collect();
    let mut columns: Vec<usize> = (0..complete.first().map_or(0, |row| row.len())).collect();
    let mut random = RandomGenerator::new(seed);
    let mut found = Vec::new();
    while columns.len() > 1 {
        let deviations = clamped_deviations(&complete, &columns);
        let Some((place, p_value)) = most_extreme(&deviations, columns.len(), alpha, &mut random) else { break };
        found.push(DifferingColumn { column: columns.remove(place), p_value });
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

/// Returns each row's clamped deviations from its own median, for the chosen columns, one row after the other.
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

/// Returns the column with the largest absolute sum, and its probability under random exchanges within rows. `None` if
/// that exceeds `alpha`, which is often known before all exchanges are made.
fn most_extreme(deviations: &[f64], width: usize, alpha: f64, random: &mut RandomGenerator) -> Option<(usize, f64)> {
    let sums = column_sums(deviations, width);
    let seen = sums.iter().fold(0.0_f64, |largest, sum| largest.max(sum.abs()));
    // Of mirrored columns, such as the two of a pair, the larger one is returned. Sums of the same numbers in another
    // order differ in the last digits.
    let as_far = (0..width).filter(|&column| sums[column].abs() >= seen * (1.0 - ROUNDING));
    let place = as_far.max_by(|&a, &b| sums[a].total_cmp(&sums[b]))?;
    if seen <= 0.0 {
        return None;
    }
    let exchanges = if width > WIDE { EXCHANGES_OF_WIDE } else { EXCHANGES };
    let probability = |as_extreme: usize| (as_extreme + 1) as f64 / (exchanges + 1) as f64;
    let mut exchanged = deviations.to_vec();
    let mut as_extreme = 0;
    for _ in 0..exchanges {
        exchanged.chunks_exact_mut(width).for_each(|row| random.shuffle(row));
        let largest = column_sums(&exchanged, width).iter().fold(0.0_f64, |largest, sum| largest.max(sum.abs()));
        as_extreme += usize::from(largest >= seen * (1.0 - ROUNDING));
        if probability(as_extreme) > alpha {
            return None;
        }
    }
    Some((place, probability(as_extreme)))
}

fn column_sums(values: &[f64], width: usize) -> Vec<f64> {
    let mut sums = vec![0.0; width];
    for row in values.chunks_exact(width) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
    sums
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
                !differing_columns(&quiet_rounds(columns, rounds, &mut random), alpha, table as u64).is_empty()
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
            let differing = differing_columns(&rows, 0.01, table);
            found += usize::from(differing.first().is_some_and(|first| first.column == 5));
        }
        assert!(found >= 95, "{found} of 100");
    }

    #[test]
    fn two_columns_that_differ_are_both_found() {
        let mut random = RandomGenerator::new(12);
        let mut rows = quiet_rounds(8, 24, &mut random);
        rows.iter_mut().for_each(|row| (row[0], row[1]) = (row[0] + 0.5, row[1] + 0.2));
        let mut columns: Vec<usize> = differing_columns(&rows, 0.01, 1).iter().map(|found| found.column).collect();
        columns.sort_unstable();
        assert_eq!(columns, [0, 1]);
    }

    #[test]
    fn identical_or_missing_values_show_nothing() {
        assert!(differing_columns(&vec![vec![1.0, 1.0, 1.0]; 24], 0.05, 1).is_empty());
        assert!(differing_columns(&[], 0.05, 1).is_empty());
        let rows = vec![vec![f64::NAN, 1.0]; 24];
        assert!(differing_columns(&rows, 0.05, 1).is_empty());
    }

    #[test]
    fn of_a_pair_the_larger_is_named() {
        let mut random = RandomGenerator::new(13);
        for _ in 0..200 {
            let rows: Vec<Vec<f64>> =
                (0..24).map(|_| vec![random.next_unit().ln(), 3.0 + random.next_unit().ln()]).collect();
            assert_eq!(differing_columns(&rows, 0.05, 1)[0].column, 1);
        }
    }
}
