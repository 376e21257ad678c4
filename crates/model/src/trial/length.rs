//! Choice of a slot's length, from repeated readings of a metric while nothing changed.

use super::TrialMetric;
use super::live::{SLOTS_S, wash_out_s};
use crate::sample::{MetricMeter, MetricSample};

/// Minimum number of consecutive pairs of slots for a length to be considered.
const FEWEST_PAIRS: usize = 8;
/// Minimum number of values of a metric to choose a length.
pub const FEWEST_VALUES: usize = 8;
/// Number of values that a proposed slot should hold.
const ENOUGH_VALUES: f64 = 12.0;
/// Maximum length, in seconds.
const LONGEST_S: f64 = 10.0;
/// Tolerated ratio of times: among similar ones the shortest length is chosen, since slow changes that were not seen
/// harm it least.
const ABOUT: f64 = 1.1;
/// Minimum share of slots with a value for a length.
const USABLE: f64 = 0.95;
/// Ratio of one length to the next.
const STEP: f64 = 1.25;

/// A length of slots, with its expected noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotLength {
    /// Measured time of a slot, in seconds.
    pub slot_s: f64,
    /// Difference of two consecutive slots without changes: the root of the mean square of differences of logarithms.
    /// Its square is twice the Allan variance of the slots, with the wash-out as dead time. `None` after too few
    /// readings.
    pub noise: Option<f64>,
    /// True if longer ones were better and better, but no longer one could be tested.
    pub is_longest: bool,
}

/// Returns the length that decides soonest; `None` if no length has values. `seen` are looks at one metric, `step_s`
/// apart; no slot is shorter than `least_s`. The time to a verdict grows with the variance of the difference of a pair
/// of slots, and with the time that the pair takes.
pub fn slot_length(
    meter: &MetricMeter,
    metric: &TrialMetric,
    seen: &[MetricSample],
    (step_s, least_s): (f64, f64),
) -> Option<SlotLength> {
    let mut tried: Vec<(SlotLength, f64)> = Vec::new();
    let mut slot_s = (step_s.max(least_s).max(SLOTS_S.0) / step_s - 1e-6).ceil() * step_s;
    loop {
        let steps = |seconds: f64| ((seconds / step_s).round() as usize).max(1);
        let (slot, wash_out) = (steps(slot_s), (wash_out_s(slot_s) / step_s).round() as usize);
        if seen.len() < FEWEST_PAIRS * 2 * (slot + wash_out) + 1 || slot_s > LONGEST_S {
            break;
        }
        let x = |from: usize| metric.judged_value(meter.value_over(&seen[from..=from + slot]).ok()?);
        let last = seen.len() - 2 * slot - wash_out;
        let pairs = (0..last).map(|from| Some(x(from + slot + wash_out)? - x(from)?));
        let differences: Vec<f64> = pairs.flatten().collect();
        if differences.len() as f64 >= USABLE * last as f64 {
            let variance =
                differences.iter().map(|difference| difference * difference).sum::<f64>() / differences.len() as f64;
            let found = SlotLength { slot_s, noise: Some(variance.sqrt()), is_longest: false };
            tried.push((found, variance * (slot_s + wash_out_s(slot_s))));
        }
        slot_s = (slot_s * STEP / step_s).round().max((slot_s / step_s).round() + 1.0) * step_s;
    }
    let least = tried.iter().map(|(_, cost)| *cost).reduce(f64::min)?;
    let at = tried.iter().position(|(_, cost)| *cost <= ABOUT * least)?;
    Some(SlotLength { is_longest: at + 1 == tried.len(), ..tried[at].0 })
}

/// Returns the shortest length of which nearly all slots have a value, from too few looks to compare lengths; otherwise
/// as [`slot_length`]. `None` if no length has enough values.
pub fn shortest_slot(
    meter: &MetricMeter,
    metric: &TrialMetric,
    seen: &[MetricSample],
    (step_s, least_s): (f64, f64),
) -> Option<SlotLength> {
    let is_usable = |steps: &usize| {
        let slots = seen.windows(steps + 1);
        let count = slots.len();
        let with_value = slots.filter(|slot| has_value(meter, metric, slot)).count();
        count >= FEWEST_VALUES && with_value as f64 >= USABLE * count as f64
    };
    let steps = (1..seen.len()).find(is_usable)?;
    let slot_s = (steps as f64 * step_s).max(least_s).clamp(SLOTS_S.0, LONGEST_S);
    Some(SlotLength { slot_s, noise: None, is_longest: false })
}

/// A metric that came too rarely to find the length of slots.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.describe_rarity())]
pub struct RareMetric {
    /// Its name.
    pub name: String,
    /// Number of values that were read.
    pub values: usize,
    /// Time in which they were read, in seconds.
    pub elapsed_s: f64,
}

impl RareMetric {
    /// Returns a slot length in whole seconds that would hold [`ENOUGH_VALUES`], or as many as the longest slot would; and this
    /// number. `None` if that is less than two.
    pub fn fitting_slot(&self) -> Option<(u32, usize)> {
        let each_s = self.elapsed_s / self.values as f64;
        let slot_s = (ENOUGH_VALUES * each_s).ceil().clamp(1.0, SLOTS_S.1);
        // The least error of a division must not lose a value.
        let held = (slot_s / each_s + 1e-9) as usize;
        (self.values > 0 && held > 1).then_some((slot_s as u32, held))
    }

    fn describe_rarity(&self) -> String {
        let Self { name, values, elapsed_s } = self;
        let times = if *values == 1 { "once".to_owned() } else { format!("{values} times") };
        let came = format!("{name} came {times} in {elapsed_s:.0} s");
        match self.fitting_slot() {
            Some((slot_s, held)) => format!("{came}: slots of {slot_s} s would hold {held}"),
            None => format!("{came}, and slots last at most {:.0} s", SLOTS_S.1),
        }
    }
}

/// Counts the looks with a value since the look before: for a count, those after which it had moved.
pub fn count_values(meter: &MetricMeter, metric: &TrialMetric, seen: &[MetricSample]) -> usize {
    seen.windows(2).filter(|slot| has_value(meter, metric, slot)).count()
}

fn has_value(meter: &MetricMeter, metric: &TrialMetric, slot: &[MetricSample]) -> bool {
    meter.value_over(slot).is_ok_and(|value| metric.judged_value(value).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{MetricKind, MetricSource};
    use corewise_machine::random::RandomGenerator;

    #[test]
    fn a_rare_metric_has_a_slot_that_holds_a_dozen_values() {
        let rare = |values: usize, elapsed_s: f64| RareMetric { name: "ops".to_owned(), values, elapsed_s };
        assert_eq!(rare(3, 10.0).to_string(), "ops came 3 times in 10 s: slots of 40 s would hold 12");
        assert_eq!(rare(1, 10.0).to_string(), "ops came once in 10 s: slots of 60 s would hold 6");
        assert_eq!(rare(2, 0.1).fitting_slot(), Some((1, 20)));
        assert_eq!(rare(1, 50.0).to_string(), "ops came once in 50 s, and slots last at most 60 s");
        assert_eq!(rare(0, 10.0).to_string(), "ops came 0 times in 10 s, and slots last at most 60 s");
    }

    fn meter(name: &str, kind: MetricKind) -> MetricMeter {
        MetricMeter::new(name, &MetricSource { kind, series: Some(name.to_owned()) }, None).unwrap()
    }

    /// Looks at a gauge every 0.1 s: noise of its own in each, and a load with a memory.
    fn length(noise: f64, load: f64, memory_s: f64) -> SlotLength {
        let (mut random, mut state, kept) = (RandomGenerator::new(1), 0.0, (-0.1 / memory_s).exp());
        let mut look = || {
            state = kept * state + (1.0 - kept * kept).sqrt() * random.next_normal();
            MetricSample::Now((100.0 * (load * state + noise * random.next_normal()).exp()).into())
        };
        let seen: Vec<MetricSample> = (0..1_600).map(|_| look()).collect();
        let metric = TrialMetric { name: "load".to_owned(), pattern: None, higher_is_better: false, reading: None };
        slot_length(&meter("load", MetricKind::Gauge), &metric, &seen, (0.1, 0.0)).unwrap()
    }

    #[test]
    fn slots_are_short_where_the_load_wanders_and_long_where_counts_come_in_bursts() {
        let wandering = length(0.0, 0.1, 5.0);
        assert!(wandering.slot_s <= 0.5 && wandering.noise.is_some_and(|noise| noise < 0.05), "{wandering:?}");
        // A page that is brought up to date once a second: most short slots would see nothing.
        let bursts: Vec<MetricSample> = (0..1_600)
            .map(|at| MetricSample::Count((f64::from(at / 10) * 100.0).into(), 0.1 * f64::from(at)))
            .collect();
        let metric = TrialMetric { name: "ops".to_owned(), pattern: None, higher_is_better: true, reading: None };
        let found = slot_length(&meter("ops", MetricKind::Rate), &metric, &bursts, (0.1, 0.0)).unwrap();
        assert!(found.slot_s >= 1.0, "{found:?}");
        let still = vec![MetricSample::Count(7.0.into(), 1.0); 500];
        assert_eq!(
            slot_length(&meter("ops", MetricKind::Rate), &metric, &still, (0.1, 0.0)),
            None,
            "a count that does not move has no length"
        );
        let counts: Vec<MetricSample> =
            (0..500).map(|at| MetricSample::Count(f64::from(at).into(), 0.1 * f64::from(at))).collect();
        let slow = slot_length(&meter("ops", MetricKind::Rate), &metric, &counts, (0.1, 0.5)).unwrap();
        assert!(slow.slot_s >= 0.5, "{slow:?}");
    }

    #[test]
    fn a_few_seconds_of_a_counter_are_enough_for_a_length() {
        let metric = TrialMetric { name: "ops".to_owned(), pattern: None, higher_is_better: true, reading: None };
        let meter = meter("ops", MetricKind::Rate);
        let counts = |looks: u32, each: u32| -> Vec<MetricSample> {
            (0..looks)
                .map(|at| MetricSample::Count((f64::from(at / each) * 7.0).into(), 0.15 * f64::from(at)))
                .collect()
        };
        let shortest = |seen: &[MetricSample], least_s| {
            shortest_slot(&meter, &metric, seen, (0.15, least_s)).map(|found| found.slot_s)
        };
        assert_eq!(slot_length(&meter, &metric, &counts(27, 1), (0.15, 0.6)), None, "too little to compare lengths");
        assert_eq!(shortest(&counts(27, 1), 0.6), Some(0.6));
        assert_eq!(shortest(&counts(27, 1), 0.0), Some(0.15));
        let sixth = shortest(&counts(40, 6), 0.0);
        assert!(sixth.is_some_and(|slot_s| (slot_s - 0.9).abs() < 1e-9), "it moves every sixth time: {sixth:?}");
        assert_eq!(shortest(&counts(27, 1), 100.0), Some(10.0));
        assert_eq!((shortest(&counts(8, 1), 0.0), shortest(&counts(9, 1), 0.0)), (None, Some(0.15)));
        assert_eq!(
            (count_values(&meter, &metric, &counts(8, 1)), count_values(&meter, &metric, &counts(40, 6))),
            (7, 6)
        );
        assert_eq!((shortest(&counts(40, 100), 0.0), shortest(&[], 0.0)), (None, None), "it does not move");
    }
}
