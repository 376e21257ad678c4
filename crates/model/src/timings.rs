//! Timings that other programs have measured: what they can show, and what not.
//!
//! Such series were measured one after the other. So a difference between two may be one of the moment, which nothing in them tells apart.
//! They are described, never judged, and never stored as an experiment.

mod formats;

use corewise_machine::random::RandomGenerator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::trial::trend_probability;
use corewise_statistics::experiment::{BlockRun, JudgingPolicy, PlacementRace, RunBlock, split_values};
use corewise_statistics::order::{median, median_deviation, median_interval};
use corewise_statistics::quantity::QuantityUnit;
pub use formats::{TimingError, TimingFile, TimingFormat, join_files, read_timings};

/// Experiments that are drawn for a forecast.
const DRAWN_EXPERIMENTS: u64 = 21;
/// Maximum number of blocks of a drawn experiment.
const MOST_BLOCKS: u32 = 200;
/// Fewest values for an interval, a trend, or a forecast.
const FEWEST_VALUES: usize = 6;
/// Probability of an order by chance from which a trend is stated.
const TREND_P: f64 = 0.01;

/// The runs of one program, in their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimingSeries {
    /// The name of the program or benchmark.
    pub name: String,
    /// Times in seconds, or values of the unit.
    pub values: Vec<f64>,
    /// Unit of the values; bare if the file does not say it.
    pub unit: QuantityUnit,
    /// Whether more is better; absent if nothing tells, and then less is taken to be.
    pub higher_is_better: Option<bool>,
    /// The benchmark; series of different ones are not compared. Absent if all series of the file are of one.
    pub benchmark: Option<String>,
}

impl TimingSeries {
    /// Creates a series of times.
    pub fn in_seconds(name: String, values: Vec<f64>) -> Self {
        Self { name, values, unit: QuantityUnit::seconds(), higher_is_better: Some(false), benchmark: None }
    }

    fn is_higher_better(&self) -> bool {
        self.higher_is_better.unwrap_or_default()
    }

    fn is_comparable_with(&self, other: &Self) -> bool {
        self.benchmark == other.benchmark
            && self.is_higher_better() == other.is_higher_better()
            && self.unit == other.unit
    }
}

/// Description of a series by itself.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SeriesDescription {
    /// Its name.
    pub name: String,
    /// Number of its values.
    pub runs: usize,
    /// Median of its values.
    pub median: f64,
    /// Unit of its values; empty for bare numbers.
    pub unit: QuantityUnit,
    /// True if more is better, by its name or unit.
    pub higher_is_better: bool,
    /// Robust standard deviation as a share of the median; absent for fewer than six values.
    pub spread: Option<f64>,
    /// Change of the median from its first half to its second, as a share, if its values have an order.
    pub trend: Option<f64>,
    /// Its two groups of values, the lower first; absent if it has one. If both are equally large, the median is of neither.
    pub groups: Option<[SeriesGroup; 2]>,
    /// Comparison with the first series of the same benchmark, unit and direction; absent for the first, and for too few values.
    pub against_first: Option<SeriesComparison>,
}

/// A group of a series' values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SeriesGroup {
    /// Number of its values.
    pub runs: usize,
    /// Median of its values.
    pub median: f64,
}

/// A difference between two series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SeriesComparison {
    /// Ratio of the first median to this one, or of this one to the first if more is better: 1.1 is a tenth faster.
    pub ratio: f64,
    /// Ends of the ratio by the 95 % intervals of both medians, as if both had been measured at the same time.
    pub ends: [f64; 2],
    /// Runs of an interleaved experiment that decides with values like these, in half of the cases; absent if more than half of them end
    /// undecided.
    pub deciding_runs: Option<u32>,
}

/// Describes each series, and compares it with the first. `seed` is that of the drawn experiments.
pub fn describe_series(all: &[TimingSeries], seed: u64) -> Vec<SeriesDescription> {
    let describe = |(at, series): (usize, &TimingSeries)| {
        let values = &series.values;
        let middle = median(values);
        let has_enough = values.len() >= FEWEST_VALUES;
        SeriesDescription {
            name: series.name.clone(),
            runs: values.len(),
            median: middle,
            spread: has_enough.then(|| median_deviation(values) / middle),
            trend: (has_enough && trend_probability(values) <= TREND_P).then(|| {
                let (first, last) = values.split_at(values.len() / 2);
                median(last) / median(first) - 1.0
            }),
            unit: series.unit.clone(),
            higher_is_better: series.is_higher_better(),
            groups: split_groups(values),
            against_first: first_comparable(all, at).and_then(|first| compare_series(&all[first], series, seed)),
        }
    };
    all.iter().enumerate().filter(|(_, series)| !series.values.is_empty()).map(describe).collect()
}

/// Returns the first series that this one is compared with; `None` if it is the first of its kind.
pub fn first_comparable(all: &[TimingSeries], at: usize) -> Option<usize> {
    (0..at).find(|first| all[*first].is_comparable_with(&all[at]))
}

fn split_groups(values: &[f64]) -> Option<[SeriesGroup; 2]> {
    let least_upper = split_values(values)?;
    let (low, high): (Vec<f64>, Vec<f64>) = values.iter().partition(|value| **value < least_upper);
    Some([low, high].map(|group| SeriesGroup { runs: group.len(), median: median(&group) }))
}

fn compare_series(first: &TimingSeries, other: &TimingSeries, seed: u64) -> Option<SeriesComparison> {
    let [of_first, of_other] = [first, other].map(|series| median_interval(&series.values, 0.95));
    let ((low, high), (other_low, other_high)) = of_first.zip(of_other)?;
    let ratio = median(&first.values) / median(&other.values);
    let ends = [low / other_high, high / other_low];
    let is_more = first.is_higher_better();
    Some(SeriesComparison {
        ratio: if is_more { ratio.recip() } else { ratio },
        ends: if is_more { [ends[1].recip(), ends[0].recip()] } else { ends },
        deciding_runs: forecast_runs(first, other, seed),
    })
}

/// Draws interleaved experiments from the values, and returns the median number of their runs.
fn forecast_runs(first: &TimingSeries, other: &TimingSeries, seed: u64) -> Option<u32> {
    let mut runs: Vec<f64> = (0..DRAWN_EXPERIMENTS)
        .map(|round| draw_experiment(first, other, seed.wrapping_add(round)).map_or(f64::INFINITY, f64::from))
        .collect();
    runs.sort_by(f64::total_cmp);
    Some(runs[runs.len() / 2]).filter(|runs| runs.is_finite()).map(|runs| runs as u32)
}

/// Returns the runs of an experiment with values drawn from two series; `None` if it ends undecided.
fn draw_experiment(first: &TimingSeries, other: &TimingSeries, seed: u64) -> Option<u32> {
    let mut random = RandomGenerator::new(seed);
    let mut race = PlacementRace::new(1, &JudgingPolicy::default());
    let cost = if first.is_higher_better() { -1.0 } else { 1.0 };
    let mut draw = |series: &TimingSeries| Some(cost * series.values[random.next_below(series.values.len())].ln());
    let mut runs = 0;
    for _ in 0..MOST_BLOCKS {
        race.add_block(&RunBlock {
            runs: vec![BlockRun { arm: 0, x: draw(first) }, BlockRun { arm: 1, x: draw(other) }],
        });
        runs += 2;
        if race.is_decided() {
            return Some(runs);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, values: impl IntoIterator<Item = f64>) -> TimingSeries {
        TimingSeries::in_seconds(name.to_owned(), values.into_iter().collect())
    }

    fn noisy(middle: f64, runs: usize, seed: u64) -> Vec<f64> {
        let mut random = RandomGenerator::new(seed);
        (0..runs).map(|_| middle * (1.0 + (random.next_below(2_001) as f64 - 1_000.0) / 50_000.0)).collect()
    }

    #[test]
    fn a_clear_difference_is_soon_decided_and_none_is_not_a_difference() {
        let all =
            [series("old", noisy(1.0, 20, 1)), series("new", noisy(0.8, 20, 2)), series("same", noisy(1.0, 20, 3))];
        let described = describe_series(&all, 7);
        let [new, same] = [1, 2].map(|at| described[at].against_first.unwrap());
        assert!((new.ratio - 1.25).abs() < 0.03 && new.ends[0] > 1.2, "{new:?}");
        assert!(new.deciding_runs.unwrap() <= 20, "{new:?}");
        assert!(same.ends[0] < 1.0 && same.ends[1] > 1.0, "{same:?}");
        assert_eq!(described[0].against_first, None);
        assert!(described[0].spread.unwrap() < 0.03 && described[0].trend.is_none() && described[0].groups.is_none());
    }

    #[test]
    fn trends_and_modes_are_told() {
        let grows = series("grows", (0..20).map(|run| 1.0 + 0.05 * f64::from(run)));
        let split = series("split", (0..20).map(|run| if run % 2 == 0 { 1.0 + 0.001 * f64::from(run) } else { 2.0 }));
        let described = describe_series(&[grows, split], 7);
        assert!(described[0].trend.unwrap() > 0.2, "{described:?}");
        assert_eq!(described[1].trend, None);
        assert_eq!(described[1].groups.unwrap().map(|group| group.runs), [10, 10]);
    }

    #[test]
    fn more_of_a_rate_is_a_gain() {
        let rate = |name: &str, middle: f64, seed: u64| TimingSeries {
            higher_is_better: Some(true),
            ..series(name, noisy(middle, 20, seed))
        };
        let described = describe_series(&[rate("old", 60.0, 1), rate("new", 75.0, 2)], 7);
        let new = described[1].against_first.unwrap();
        assert!((new.ratio - 1.25).abs() < 0.03 && new.ends[0] > 1.2 && new.ends[0] < new.ends[1], "{new:?}");
        assert!(new.deciding_runs.unwrap() <= 20, "{new:?}");
    }

    #[test]
    fn few_values_give_a_median_alone() {
        let described = describe_series(&[series("a", [1.0, 2.0, 3.0]), series("b", []), series("c", [2.0])], 7);
        assert_eq!(
            described.iter().map(|found| (found.median, found.spread)).collect::<Vec<_>>(),
            [(2.0, None), (2.0, None)]
        );
        assert_eq!(described[1].against_first, None);
    }
}
