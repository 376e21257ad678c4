//! A latency histogram that is mergeable, sparse in JSON, and speaks nanoseconds.

mod export;

use std::borrow::Cow;

use hdrhistogram::Histogram as Hdr;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use export::{Interval, hlog};

/// Significant decimal digits kept of each recorded value: within 0.1 % of the truth.
pub const SIGNIFICANT_DIGITS: u8 = 3;
/// The largest number of clock ticks recorded exactly; longer pieces are recorded as this.
pub const MAXIMUM_TICKS: u64 = 1 << 40;

/// A histogram of durations, recorded in ticks of the clock that measured them.
///
/// In JSON: `{"nanoseconds_per_tick": f, "counts": [[ticks, count], …]}`, where `ticks` is the highest value that the
/// bucket stands for (HdrHistogram's convention).
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    nanoseconds_per_tick: f64,
    ticks: Hdr<u64>,
}

impl Histogram {
    /// An empty histogram for a clock with ticks of the given length; allocates all it will ever need.
    pub fn new(nanoseconds_per_tick: f64) -> Self {
        let ticks = Hdr::new_with_bounds(1, MAXIMUM_TICKS, SIGNIFICANT_DIGITS).expect("constant bounds are valid");
        Self { nanoseconds_per_tick, ticks }
    }

    /// An empty histogram that takes memory as it is filled by merging; recording into it may allocate.
    pub fn collecting(nanoseconds_per_tick: f64) -> Self {
        let mut ticks = Hdr::new(SIGNIFICANT_DIGITS).expect("a constant number of digits is valid");
        ticks.auto(true);
        Self { nanoseconds_per_tick, ticks }
    }

    /// Records one duration in ticks. Never allocates; a value above [`MAXIMUM_TICKS`] counts as that.
    #[inline]
    pub fn record(&mut self, ticks: u64) {
        self.ticks.saturating_record(ticks);
    }

    /// Records one duration in ticks, and takes more memory where a collecting histogram needs it for that; a value above
    /// [`MAXIMUM_TICKS`] counts as that.
    pub fn collect(&mut self, ticks: u64) {
        self.ticks.record(ticks.min(MAXIMUM_TICKS)).expect("it grows, or has room for the largest value");
    }

    /// Adds all that another histogram of the same clock recorded.
    ///
    /// # Panics
    /// When the clocks differ: ticks of different length cannot be added.
    pub fn merge(&mut self, other: &Self) {
        assert!(
            (self.nanoseconds_per_tick - other.nanoseconds_per_tick).abs() <= f64::EPSILON * self.nanoseconds_per_tick,
            "histograms of different clocks cannot be merged"
        );
        self.ticks.add(&other.ticks).expect("one of the two kinds of histogram: equal bounds, or growing");
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.ticks.reset();
    }

    /// How many durations were recorded.
    pub fn count(&self) -> u64 {
        self.ticks.len()
    }

    /// The duration at a quantile between 0 and 1, in nanoseconds; zero when empty.
    pub fn quantile_ns(&self, quantile: f64) -> f64 {
        self.ticks.value_at_quantile(quantile) as f64 * self.nanoseconds_per_tick
    }

    /// The median in nanoseconds, interpolated within the clock's step; zero when empty.
    ///
    /// A clock that advances in steps of 10 ns (the TSC of recent AMD processors) gives a true 287 ns as 280 or 290; a
    /// plain median would jump from one to the other. This is the median of grouped data: the group of the plain median
    /// is taken as spread evenly over one step around it.
    pub fn median_ns(&self, step_ns: f64) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        let middle = self.ticks.value_at_quantile(0.5);
        let at = self.ticks.count_at(middle) as f64;
        let below = match self.ticks.lowest_equivalent(middle) {
            0 => 0.0,
            lowest => self.ticks.count_between(0, lowest - 1) as f64,
        };
        let lowest = self.ticks.lowest_equivalent(middle) as f64;
        let width = (middle as f64 + 1.0 - lowest).max(step_ns / self.nanoseconds_per_tick);
        let centre = (middle as f64 + lowest) / 2.0;
        (centre + width * ((self.count() as f64 / 2.0 - below) / at - 0.5)) * self.nanoseconds_per_tick
    }

    /// The arithmetic mean in nanoseconds; zero when empty.
    pub fn mean_ns(&self) -> f64 {
        self.ticks.mean() * self.nanoseconds_per_tick
    }

    /// The longest duration in nanoseconds; zero when empty.
    pub fn max_ns(&self) -> f64 {
        self.ticks.max() as f64 * self.nanoseconds_per_tick
    }

    /// The shortest duration in nanoseconds; zero when empty.
    pub fn min_ns(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.ticks.min() as f64 * self.nanoseconds_per_tick }
    }

    /// How many recorded durations are at least this long.
    pub fn count_from_ns(&self, nanoseconds: f64) -> u64 {
        let ticks = (nanoseconds / self.nanoseconds_per_tick).ceil().max(0.0) as u64;
        if ticks > MAXIMUM_TICKS { 0 } else { self.ticks.count_between(ticks, MAXIMUM_TICKS) }
    }

    /// The share of all recorded time that pieces took beyond `times` the median: what stalls cost, 0 to 1.
    pub fn lost_beyond(&self, times: f64) -> f64 {
        let limit = self.ticks.value_at_quantile(0.5) as f64 * times;
        let (mut lost, mut all) = (0.0, 0.0);
        for (ticks, count) in self.counts() {
            all += ticks as f64 * count as f64;
            lost += (ticks as f64 - limit).max(0.0) * count as f64;
        }
        if all > 0.0 { lost / all } else { 0.0 }
    }

    /// Every bucket that holds something: the highest ticks it stands for, and how many.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        self.ticks.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
    }
}

#[derive(Serialize, Deserialize)]
struct Sparse {
    nanoseconds_per_tick: f64,
    counts: Vec<(u64, u64)>,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Sparse { nanoseconds_per_tick: self.nanoseconds_per_tick, counts: self.counts() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sparse = Sparse::deserialize(deserializer)?;
        let mut histogram = Self::collecting(sparse.nanoseconds_per_tick);
        for (ticks, count) in sparse.counts {
            let recorded = histogram.ticks.record_n(ticks.min(MAXIMUM_TICKS), count);
            recorded.map_err(serde::de::Error::custom)?;
        }
        Ok(histogram)
    }
}

impl JsonSchema for Histogram {
    fn schema_name() -> Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "Durations in ticks of the clock that measured them: [ticks, how many], rising; 3 significant digits.",
            "properties": {
                "nanoseconds_per_tick": { "type": "number" },
                "counts": {
                    "type": "array",
                    "items": { "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 2, "maxItems": 2 }
                }
            },
            "required": ["nanoseconds_per_tick", "counts"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_back_keeps_every_quantile() {
        let mut histogram = Histogram::new(0.25);
        for ticks in (1..5000).chain([1_000_000, u64::MAX]) {
            histogram.record(ticks);
        }
        let back: Histogram = serde_json::from_str(&serde_json::to_string(&histogram).unwrap()).unwrap();
        assert_eq!(back.count(), 5001);
        for quantile in [0.0, 0.5, 0.9, 0.999, 1.0] {
            assert_eq!(back.quantile_ns(quantile), histogram.quantile_ns(quantile));
        }
    }

    /// Of readings with steps of 26 ticks, the plain median of 1,000 true durations of 740 ticks is 728 or 754.
    #[test]
    fn the_median_is_finer_than_the_clocks_step() {
        for truth in [729_u64, 735, 740, 745, 753] {
            let mut histogram = Histogram::new(0.5);
            let mut now = 0;
            for _ in 0..10_000 {
                let before = now / 26 * 26;
                now += truth;
                histogram.record(now / 26 * 26 - before);
            }
            let median = histogram.median_ns(13.0);
            assert!((median - truth as f64 * 0.5).abs() < 4.0, "{truth}: {median}");
        }
    }

    #[test]
    fn the_median_of_a_fine_clock_is_the_plain_one() {
        let mut histogram = Histogram::new(1.0);
        (1..=999).for_each(|ticks| histogram.record(ticks));
        assert!((histogram.median_ns(1.0) - 500.0).abs() <= 0.5, "{}", histogram.median_ns(1.0));
        assert_eq!(Histogram::new(1.0).median_ns(1.0), 0.0);
    }

    #[test]
    fn stalls_are_counted_from_a_length_on() {
        let mut histogram = Histogram::new(1.0);
        for ticks in [100, 100, 2000, 50_000] {
            histogram.record(ticks);
        }
        assert_eq!(histogram.count_from_ns(1000.0), 2);
        assert_eq!(histogram.count_from_ns(60_000.0), 0);
    }
}
