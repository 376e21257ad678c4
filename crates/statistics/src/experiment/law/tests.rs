//! The law on blocks whose truth is known.

use corewise_testing::count_cases;

use super::*;

/// What is true of a made-up program, and how its machine disturbs it.
#[derive(Clone, Copy)]
struct LawTruth {
    contention: f64,
    coherency: f64,
    /// White noise, a difference of logarithms.
    noise: f64,
    /// The share of the runs that are slower by half as much again.
    outliers: f64,
}

const COUNTS: [u32; 5] = [1, 2, 4, 8, 16];
const TRUTH: LawTruth = LawTruth { contention: 0.05, coherency: 0.004, noise: 0.01, outliers: 0.0 };

fn exact(truth: LawTruth, threads: u32) -> f64 {
    let n = f64::from(threads);
    (n / (1.0 + truth.contention * (n - 1.0) + truth.coherency * n * (n - 1.0))).ln()
}

/// Blocks that drift by far more than the noise.
fn rows(truth: LawTruth, counts: &[u32], blocks: usize, seed: u64) -> Vec<ThroughputRow> {
    let mut random = RandomGenerator::new(seed);
    let mut row = || {
        let drift = 0.3 * random.next_normal();
        let mut of = |&count: &u32| {
            let outlier = if random.next_unit() < truth.outliers { 1.5_f64.ln() } else { 0.0 };
            Some(exact(truth, count) + drift + truth.noise * random.next_normal() - outlier)
        };
        counts.iter().map(&mut of).collect()
    };
    (0..blocks).map(|_| row()).collect()
}

fn fitted(counts: &[u32], rows: &[ThroughputRow]) -> ScalingLaw {
    match fit_scaling_law(counts, rows) {
        LawFit::Fitted(law) => law,
        other => panic!("{other:?}"),
    }
}

fn holds(interval: &ValueInterval, truth: f64) -> bool {
    interval.low <= truth && truth <= interval.high
}

#[test]
fn exact_blocks_give_the_exact_law() {
    for (contention, coherency) in [(0.05, 0.004), (0.3, 0.0), (0.0, 0.02), (0.0, 0.0), (1.0, 0.0), (0.9, 0.3)] {
        let truth = LawTruth { contention, coherency, noise: 0.0, outliers: 0.0 };
        for counts in [&COUNTS[..], &[1, 2, 3, 4], &[2, 5, 9, 64]] {
            let law = fitted(counts, &rows(truth, counts, 8, 1));
            let (s, k) = (law.contention.estimate, law.coherency.estimate);
            assert!(
                (s - contention).abs() < 1e-4 && (k - coherency).abs() < 1e-4,
                "{counts:?}: {s} {k} for {truth:?}",
                truth = (contention, coherency)
            );
            assert!(law.misfit < 1e-6, "{}", law.misfit);
        }
    }
}

#[test]
fn drift_from_block_to_block_is_not_in_the_way() {
    let law = fitted(&COUNTS, &rows(TRUTH, &COUNTS, 30, 7));
    assert!((law.contention.estimate - 0.05).abs() < 0.005, "{law:?}");
    assert!((law.coherency.estimate - 0.004).abs() < 0.0006, "{law:?}");
    assert!(holds(&law.contention, 0.05) && holds(&law.coherency, 0.004), "{law:?}");
    // sqrt((1 - 0.05) / 0.004) = 15.4, and there 15.4 / (1 + 0.05 * 14.4 + 0.004 * 15.4 * 14.4) = 5.9.
    let (peak, speed_up) = (law.peak_threads, law.peak_speed_up);
    assert!(peak.low.unwrap() < 15.4 && 15.4 < peak.high.unwrap() && (peak.estimate.unwrap() - 15.4).abs() < 1.0);
    assert!((speed_up.estimate.unwrap() - 5.9).abs() < 0.2, "{speed_up:?}");
    assert_eq!((law.blocks, &law.counts[..]), (30, &COUNTS[..]));
}

/// The same answer as trying all parameters on a fine grid, with a level of its own for every block, on all runs at once.
#[test]
fn trying_everything_finds_the_same() {
    let rows = rows(TRUTH, &COUNTS, 12, 3);
    let squares = |contention: f64, coherency: f64| -> f64 {
        let model = COUNTS.map(|count| exact(LawTruth { contention, coherency, ..TRUTH }, count));
        let of_row = |row: &ThroughputRow| {
            let left: Vec<f64> = row.iter().zip(model).map(|(x, model)| x.unwrap() - model).collect();
            let level = left.iter().sum::<f64>() / left.len() as f64;
            left.iter().map(|left| (left - level).powi(2)).sum::<f64>()
        };
        rows.iter().map(of_row).sum()
    };
    let grid = (0..=200).flat_map(|s| (0..=200).map(move |k| (f64::from(s) * 5e-4, f64::from(k) * 5e-5)));
    let best = grid.min_by(|a, b| squares(a.0, a.1).total_cmp(&squares(b.0, b.1))).unwrap();
    let law = fitted(&COUNTS, &rows);
    // Clamping moves a few runs, so the two differ by a part of their uncertainty.
    assert!((law.contention.estimate - best.0).abs() < 0.002, "{:?} {best:?}", law.contention);
    assert!((law.coherency.estimate - best.1).abs() < 0.0002, "{:?} {best:?}", law.coherency);
}

/// How often the intervals of both parameters hold the truth, where each count is off the law by luck of its own.
fn coverage(counts: &[u32], blocks: usize, luck: f64) -> [f64; 2] {
    let experiments = count_cases(100);
    let truth = LawTruth { noise: 0.02, ..TRUTH };
    let mut held = [0.0; 2];
    for seed in 0..experiments as u64 {
        let mut rows = rows(truth, counts, blocks, 1_000 + seed);
        let mut random = RandomGenerator::new(seed);
        for count in 0..counts.len() {
            let luck = luck * random.next_normal();
            rows.iter_mut().for_each(|row| row[count] = row[count].map(|x| x + luck));
        }
        let law = fitted(counts, &rows);
        held[0] += f64::from(u8::from(holds(&law.contention, truth.contention)));
        held[1] += f64::from(u8::from(holds(&law.coherency, truth.coherency)));
    }
    held.map(|held| held / experiments as f64)
}

/// Of 100 experiments 95 are 95 %, and two standard errors 4.
#[test]
fn intervals_hold_the_truth_in_95_percent() {
    for (counts, blocks, luck) in [(&COUNTS[..], 8, 0.0), (&COUNTS[..], 20, 0.03), (&COUNTS[..4], 8, 0.03)] {
        let held = coverage(counts, blocks, luck);
        assert!(held.iter().all(|held| *held >= 0.91), "{held:?} with {counts:?}, {blocks} blocks, luck {luck}");
    }
}

#[test]
fn without_coherency_there_is_no_peak() {
    let truth = LawTruth { contention: 0.1, coherency: 0.0, noise: 0.0, outliers: 0.0 };
    let law = fitted(&COUNTS, &rows(truth, &COUNTS, 10, 5));
    assert_eq!((law.coherency.estimate, law.peak_threads.estimate, law.peak_threads.high), (0.0, None, None));
    // Amdahl's limit.
    assert!((law.peak_speed_up.estimate.unwrap() - 10.0).abs() < 0.01, "{law:?}");
    let free = LawTruth { contention: 0.0, ..truth };
    assert_eq!(fitted(&COUNTS, &rows(free, &COUNTS, 10, 5)).peak_speed_up.estimate, None);
}

/// Every tenth run takes half as long again; the means of all runs would show a contention that is not there.
#[test]
fn outliers_do_not_spoil_it() {
    let law = fitted(&COUNTS, &rows(LawTruth { outliers: 0.1, ..TRUTH }, &COUNTS, 30, 11));
    assert!((law.contention.estimate - 0.05).abs() < 0.01, "{law:?}");
    assert!((law.coherency.estimate - 0.004).abs() < 0.001, "{law:?}");
    let mut one = rows(TRUTH, &COUNTS, 12, 3);
    let clean = fitted(&COUNTS, &one).contention.estimate;
    one[5][4] = one[5][4].map(|x| x - 20.0);
    assert!((fitted(&COUNTS, &one).contention.estimate - clean).abs() < 0.005);
}

/// A program that does not follow the law is known by the misfit.
#[test]
fn a_law_that_does_not_hold_misses() {
    let flat: Vec<ThroughputRow> =
        (0..10).map(|_| vec![Some(0.0), Some(0.1), Some(0.1), Some(2.0), Some(2.1)]).collect();
    assert!(fitted(&COUNTS, &flat).misfit > 0.1);
    assert!(fitted(&COUNTS, &rows(TRUTH, &COUNTS, 20, 1)).misfit < 0.01);
}

#[test]
fn little_is_not_fitted() {
    let few = rows(TRUTH, &COUNTS, 7, 1);
    assert_eq!(fit_scaling_law(&COUNTS, &few), LawFit::TooFewBlocks { blocks: 7 });
    assert_eq!(fit_scaling_law(&COUNTS[..3], &rows(TRUTH, &COUNTS[..3], 9, 1)), LawFit::TooFewCounts { counts: 3 });
    let mut failed = rows(TRUTH, &COUNTS[..4], 9, 1);
    failed.iter_mut().for_each(|row| row[1] = None);
    assert_eq!(fit_scaling_law(&COUNTS[..4], &failed), LawFit::TooFewCounts { counts: 3 });
}

/// Cells that are no longer needed are missing from later blocks; one that is in the first eight blocks alone counts.
#[test]
fn blocks_need_not_have_every_count() {
    let mut some = rows(TRUTH, &COUNTS, 30, 9);
    for row in &mut some[8..] {
        row[0] = None;
        row[4] = None;
    }
    let law = fitted(&COUNTS, &some);
    assert!((law.contention.estimate - 0.05).abs() < 0.01 && holds(&law.contention, 0.05), "{law:?}");
    assert_eq!(law, fitted(&COUNTS, &some), "the same blocks give the same intervals");
}
