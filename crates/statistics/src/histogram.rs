//! A latency histogram in nanoseconds that is mergeable, and sparse in JSON.

mod export;

use std::borrow::Cow;

use hdrhistogram::Histogram as Hdr;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use export::{LogInterval, format_hlog};

/// Significant decimal digits kept of each recorded value: within 0.1 %.
pub const SIGNIFICANT_DIGITS: u8 = 3;
/// The largest number of clock ticks recorded exactly; longer pieces are recorded as this.
pub const MAXIMUM_TICKS: u64 = 1 << 40;
/// Number of steps that the largest power of two of a value is divided into, so that a step is finer than the digits
/// kept.
const SUB_BUCKETS: u64 = (2 * 10_u64.pow(SIGNIFICANT_DIGITS as u32)).next_power_of_two();

/// A histogram of durations, recorded in ticks of the clock that measured them.
///
/// In JSON: `{"nanoseconds_per_tick": f, "counts": [[ticks, count], …]}`, with `ticks` the highest value of the bucket
/// (HdrHistogram's convention).
#[derive(Clone, Debug)]
pub struct TickHistogram {
    nanoseconds_per_tick: f64,
    ticks: BucketCounts,
}

/// The longest tick of a clock, in nanoseconds: the longest recorded duration in nanoseconds then still fits into 63
/// bits.
const LONGEST_TICK_NS: f64 = 1e6;
/// The shortest tick of a clock, in nanoseconds: a thousandth of that of any processor.
const SHORTEST_TICK_NS: f64 = 1e-5;

/// Counts of the buckets.
#[derive(Clone, Debug)]
enum BucketCounts {
    /// All buckets up to the largest: half a megabyte, so that recording allocates nothing.
    Recording(Hdr<u64>),
    /// Non-empty buckets by their highest values, rising. Memory is proportional to their number, for any input.
    Collected(Vec<(u64, u64)>),
}

/// Returns the number of values of one bucket, a power of two: hdrhistogram's `equivalent_range`.
fn bucket_width(ticks: u64) -> u64 {
    1 << (u64::BITS - (ticks | (SUB_BUCKETS - 1)).leading_zeros() - SUB_BUCKETS.trailing_zeros())
}

fn lowest_of(ticks: u64) -> u64 {
    ticks / bucket_width(ticks) * bucket_width(ticks)
}

fn highest_of(ticks: u64) -> u64 {
    lowest_of(ticks) + bucket_width(ticks) - 1
}

fn middle_of(ticks: u64) -> u64 {
    lowest_of(ticks) + bucket_width(ticks) / 2
}

impl PartialEq for TickHistogram {
    fn eq(&self, other: &Self) -> bool {
        self.nanoseconds_per_tick == other.nanoseconds_per_tick && self.bucket_counts() == other.bucket_counts()
    }
}

impl TickHistogram {
    /// Creates an empty histogram for a clock with ticks of the given length; allocates all memory it will need.
    pub fn new(nanoseconds_per_tick: f64) -> Self {
        let ticks = Hdr::new_with_bounds(1, MAXIMUM_TICKS, SIGNIFICANT_DIGITS).expect("constant bounds are valid");
        Self { nanoseconds_per_tick, ticks: BucketCounts::Recording(ticks) }
    }

    /// Creates an empty histogram that grows while it is filled by merging; recording into it may allocate.
    pub fn new_collecting(nanoseconds_per_tick: f64) -> Self {
        Self { nanoseconds_per_tick, ticks: BucketCounts::Collected(Vec::new()) }
    }

    /// Records one duration in ticks; values above [`MAXIMUM_TICKS`] are clamped. Allocates only if collecting.
    #[inline]
    pub fn record_ticks(&mut self, ticks: u64) {
        match &mut self.ticks {
            BucketCounts::Recording(all) => all.saturating_record(ticks),
            BucketCounts::Collected(struck) => strike_bucket(struck, ticks, 1),
        }
    }

    /// Adds all that another histogram of the same clock recorded.
    ///
    /// # Panics
    /// If the clocks differ: ticks of different length cannot be added.
    pub fn merge_from(&mut self, other: &Self) {
        assert!(
            (self.nanoseconds_per_tick - other.nanoseconds_per_tick).abs() <= f64::EPSILON * self.nanoseconds_per_tick,
            "histograms of different clocks cannot be merged"
        );
        match &mut self.ticks {
            BucketCounts::Collected(struck) => {
                other.bucket_counts().iter().for_each(|(ticks, count)| strike_bucket(struck, *ticks, *count))
            }
            BucketCounts::Recording(all) => {
                other.bucket_counts().iter().for_each(|(ticks, count)| all.saturating_record_n(*ticks, *count));
            }
        }
    }

    /// Clears all counts and keeps the memory.
    pub fn clear_counts(&mut self) {
        match &mut self.ticks {
            BucketCounts::Recording(all) => all.reset(),
            BucketCounts::Collected(struck) => struck.clear(),
        }
    }

    /// Returns the length of its clock's tick.
    pub fn nanoseconds_per_tick(&self) -> f64 {
        self.nanoseconds_per_tick
    }

    /// Returns the number of recorded durations.
    pub fn count(&self) -> u64 {
        match &self.ticks {
            BucketCounts::Recording(all) => all.len(),
            BucketCounts::Collected(struck) => struck.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count)),
        }
    }

    /// Returns the duration at a quantile between 0 and 1, in nanoseconds; zero if empty.
    pub fn quantile_ns(&self, quantile: f64) -> f64 {
        self.quantile_ticks(quantile) as f64 * self.nanoseconds_per_tick
    }

    /// Returns the highest value of the bucket that holds a quantile, as hdrhistogram does.
    fn quantile_ticks(&self, quantile: f64) -> u64 {
        let struck = match &self.ticks {
            BucketCounts::Recording(all) => return all.value_at_quantile(quantile),
            BucketCounts::Collected(struck) => struck,
        };
        let wanted = ((quantile.min(1.0) * self.count() as f64).ceil() as u64).max(1);
        let mut below = 0_u64;
        let reaches = struck.iter().find(|(_, count)| {
            below = below.saturating_add(*count);
            below >= wanted
        });
        let ticks = reaches.or(struck.last()).map_or(0, |(ticks, _)| *ticks);
        if quantile == 0.0 { lowest_of(ticks) } else { ticks }
    }

    /// Counts the durations in the buckets from one value to another.
    fn count_between(&self, from: u64, to: u64) -> u64 {
        match &self.ticks {
            BucketCounts::Recording(all) => all.count_between(from, to),
            BucketCounts::Collected(struck) => struck
                .iter()
                .filter(|(ticks, _)| *ticks >= from && lowest_of(*ticks) <= to)
                .fold(0, |sum, (_, count)| sum.saturating_add(*count)),
        }
    }

    /// Returns a quantile in nanoseconds, interpolated within the clock's step; zero if empty.
    ///
    /// A clock that advances in steps of 10 ns (the TSC of recent AMD processors) reads a true 287 ns as 280 or 290; a
    /// plain median would jump from one to the other, and two cpus with 280 each may differ by as much as a step. This is
    /// the quantile of grouped data: the group of the plain quantile is assumed to be spread evenly over one step around it.
    pub fn interpolate_ns(&self, quantile: f64, step_ns: f64) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        let group = self.quantile_ticks(quantile);
        let at = self.count_between(group, group) as f64;
        let below = match lowest_of(group) {
            0 => 0.0,
            lowest => self.count_between(0, lowest - 1) as f64,
        };
        let lowest = lowest_of(group) as f64;
        let width = (group as f64 + 1.0 - lowest).max(step_ns / self.nanoseconds_per_tick);
        let centre = (group as f64 + lowest) / 2.0;
        (centre + width * ((self.count() as f64 * quantile - below) / at - 0.5)) * self.nanoseconds_per_tick
    }

    /// Returns the arithmetic mean in nanoseconds; zero if empty.
    pub fn mean_ns(&self) -> f64 {
        let all = self.bucket_counts().into_iter().map(|(ticks, count)| middle_of(ticks) as f64 * count as f64);
        all.sum::<f64>() / self.count().max(1) as f64 * self.nanoseconds_per_tick
    }

    /// Returns the longest duration in nanoseconds; zero if empty.
    pub fn max_ns(&self) -> f64 {
        let longest = match &self.ticks {
            BucketCounts::Recording(all) => all.max(),
            BucketCounts::Collected(struck) => struck.last().map_or(0, |(ticks, _)| *ticks),
        };
        longest as f64 * self.nanoseconds_per_tick
    }

    /// Returns the shortest duration in nanoseconds; zero if empty.
    pub fn min_ns(&self) -> f64 {
        let shortest = match &self.ticks {
            BucketCounts::Recording(all) if all.is_empty() => 0,
            BucketCounts::Recording(all) => all.min(),
            BucketCounts::Collected(struck) => struck.first().map_or(0, |(ticks, _)| lowest_of(*ticks)),
        };
        shortest as f64 * self.nanoseconds_per_tick
    }

    /// Counts the durations of at least this length.
    pub fn count_from_ns(&self, nanoseconds: f64) -> u64 {
        let ticks = (nanoseconds / self.nanoseconds_per_tick).ceil().max(0.0) as u64;
        if ticks > MAXIMUM_TICKS { 0 } else { self.count_between(ticks, MAXIMUM_TICKS) }
    }

    /// Returns the share, 0 to 1, of all recorded time that pieces took beyond `times` the median: the cost of stalls.
    pub fn lost_beyond(&self, times: f64) -> f64 {
        let limit = self.quantile_ticks(0.5) as f64 * times;
        let (mut lost, mut all) = (0.0, 0.0);
        for (ticks, count) in self.bucket_counts() {
            all += ticks as f64 * count as f64;
            lost += (ticks as f64 - limit).max(0.0) * count as f64;
        }
        if all > 0.0 { lost / all } else { 0.0 }
    }

    /// Returns every non-empty bucket: its highest value in ticks, and its count.
    pub fn bucket_counts(&self) -> Vec<(u64, u64)> {
        match &self.ticks {
            BucketCounts::Recording(all) => {
                all.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
            }
            BucketCounts::Collected(struck) => struck.clone(),
        }
    }
}

/// Adds `count` to a bucket.
fn strike_bucket(struck: &mut Vec<(u64, u64)>, ticks: u64, count: u64) {
    let ticks = highest_of(ticks.min(MAXIMUM_TICKS));
    match struck.binary_search_by_key(&ticks, |(bucket, _)| *bucket) {
        Ok(at) => struck[at].1 = struck[at].1.saturating_add(count),
        Err(at) if count > 0 => struck.insert(at, (ticks, count)),
        Err(_) => {}
    }
}

#[derive(Serialize, Deserialize)]
struct SparseHistogram {
    nanoseconds_per_tick: f64,
    counts: Vec<(u64, u64)>,
}

impl Serialize for TickHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SparseHistogram { nanoseconds_per_tick: self.nanoseconds_per_tick, counts: self.bucket_counts() }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TickHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sparse = SparseHistogram::deserialize(deserializer)?;
        if !(SHORTEST_TICK_NS..=LONGEST_TICK_NS).contains(&sparse.nanoseconds_per_tick) {
            return Err(D::Error::custom(format_args!("{} ns is no tick of a clock", sparse.nanoseconds_per_tick)));
        }
        let mut histogram = Self::new_collecting(sparse.nanoseconds_per_tick);
        if let BucketCounts::Collected(struck) = &mut histogram.ticks {
            sparse.counts.iter().for_each(|(ticks, count)| strike_bucket(struck, *ticks, *count));
            struck.shrink_to_fit();
        }
        Ok(histogram)
    }
}

impl JsonSchema for TickHistogram {
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
        let mut histogram = TickHistogram::new(0.25);
        for ticks in (1..5000).chain([1_000_000, u64::MAX]) {
            histogram.record_ticks(ticks);
        }
        let back: TickHistogram = serde_json::from_str(&serde_json::to_string(&histogram).unwrap()).unwrap();
        assert_eq!(back.count(), 5001);
        for quantile in [0.0, 0.5, 0.9, 0.999, 1.0] {
            assert_eq!(back.quantile_ns(quantile), histogram.quantile_ns(quantile));
        }
    }

    #[test]
    fn what_is_collected_answers_as_what_is_recorded() {
        let (mut recorded, mut collected) = (TickHistogram::new(0.5), TickHistogram::new_collecting(0.5));
        let mut random = corewise_machine::random::RandomGenerator::new(1);
        for _ in 0..20_000 {
            let ticks = random.next_bits() >> (24 + random.next_bits() % 40);
            recorded.record_ticks(ticks);
            collected.record_ticks(ticks);
        }
        assert_eq!((recorded.bucket_counts(), recorded.count()), (collected.bucket_counts(), collected.count()));
        assert_eq!(recorded, collected);
        let BucketCounts::Recording(all) = &recorded.ticks else { panic!("it records") };
        for quantile in [0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.9999, 1.0] {
            assert_eq!(recorded.quantile_ns(quantile), collected.quantile_ns(quantile), "{quantile}");
        }
        for ticks in [0, 1, 2047, 2048, 5000, 1 << 30, MAXIMUM_TICKS] {
            let equivalent =
                (all.lowest_equivalent(ticks), all.highest_equivalent(ticks), all.median_equivalent(ticks));
            assert_eq!((lowest_of(ticks), highest_of(ticks), middle_of(ticks)), equivalent, "{ticks}");
            let from_ns = ticks as f64 * 0.5;
            assert_eq!(recorded.count_from_ns(from_ns), collected.count_from_ns(from_ns), "{ticks}");
        }
        assert!((recorded.mean_ns() / (all.mean() * 0.5) - 1.0).abs() < 1e-9);
        let summary = |of: &TickHistogram| {
            [of.mean_ns(), of.min_ns(), of.max_ns(), of.interpolate_ns(0.5, 5.0), of.lost_beyond(2.0)]
        };
        assert_eq!(summary(&recorded), summary(&collected));
        let mut twice = collected.clone();
        twice.merge_from(&recorded);
        recorded.merge_from(&collected);
        assert_eq!(twice, recorded);
        recorded.clear_counts();
        assert_eq!(recorded, TickHistogram::new_collecting(0.5));
    }

    #[test]
    fn a_tick_that_no_clock_has_is_refused() {
        let read = |tick: &str| {
            serde_json::from_str::<TickHistogram>(&format!(r#"{{"nanoseconds_per_tick":{tick},"counts":[[3,1]]}}"#))
        };
        for tick in ["0", "-1", "1e-300", "1e300", "null"] {
            assert!(read(tick).is_err(), "{tick}");
        }
        assert_eq!(read("0.25").unwrap().count(), 1);
    }

    /// Of readings with steps of 26 ticks, the plain median of 1,000 true durations of 740 ticks is 728 or 754.
    #[test]
    fn the_median_is_finer_than_the_clocks_step() {
        for truth in [729_u64, 735, 740, 745, 753] {
            let mut histogram = TickHistogram::new(0.5);
            let mut now = 0;
            for _ in 0..10_000 {
                let before = now / 26 * 26;
                now += truth;
                histogram.record_ticks(now / 26 * 26 - before);
            }
            let median = histogram.interpolate_ns(0.5, 13.0);
            assert!((median - truth as f64 * 0.5).abs() < 4.0, "{truth}: {median}");
        }
    }

    /// Of 1,000 pieces, two more that take 30 ticks are less than a step in p99.
    #[test]
    fn a_high_quantile_is_finer_than_the_clocks_step() {
        let quantile = |slow: u64| {
            let mut histogram = TickHistogram::new(1.0);
            (0..1000).for_each(|piece| histogram.record_ticks(if piece < slow { 30 } else { 20 }));
            histogram.interpolate_ns(0.99, 10.0)
        };
        let (few, more) = (quantile(20), quantile(22));
        assert!(25.0 < few && few < more && more < 35.0, "{few} {more}");
    }

    #[test]
    fn the_median_of_a_fine_clock_is_the_plain_one() {
        let mut histogram = TickHistogram::new(1.0);
        (1..=999).for_each(|ticks| histogram.record_ticks(ticks));
        assert!((histogram.interpolate_ns(0.5, 1.0) - 500.0).abs() <= 0.5, "{}", histogram.interpolate_ns(0.5, 1.0));
        assert_eq!(TickHistogram::new(1.0).interpolate_ns(0.5, 1.0), 0.0);
    }

    #[test]
    fn stalls_are_counted_from_a_length_on() {
        let mut histogram = TickHistogram::new(1.0);
        for ticks in [100, 100, 2000, 50_000] {
            histogram.record_ticks(ticks);
        }
        assert_eq!(histogram.count_from_ns(1000.0), 2);
        assert_eq!(histogram.count_from_ns(60_000.0), 0);
    }
}
