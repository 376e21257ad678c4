//! Samples of a visit: taking them, and discarding disturbed ones.

use std::ops::Range;

use corewise_model::links::map::SpoiledSamples;
use corewise_statistics::order::{median, quantile};
use corewise_sys::clock::TickSource;
use corewise_sys::thread::SwitchCounts;

/// Multiple of the typical value above which a sample was interrupted by the kernel or the host.
const INTERRUPTED: f64 = 1.5;
/// Quantile that is typical: the lower quartile, since disturbances only make a sample longer.
const TYPICAL: f64 = 0.25;

/// Number of samples of a kind, and their meaning.
#[derive(Clone, Copy, Debug)]
pub struct SamplePlan {
    /// Number of lines, used one after the other; 1 for kinds that do not use single lines.
    pub groups: usize,
    /// Number of samples on each line; the first is discarded, since the line is still elsewhere.
    pub samples: usize,
    /// Number of the kind's documented quantities that one sample sums.
    pub numbers: f64,
    /// True if the measurement includes sleeping. Then only involuntary switches spoil a sample, and no sample is too long.
    pub sleeps: bool,
    /// Statistic of the good samples.
    pub number: SampleAverage,
}

/// Statistic that turns samples into one number.
#[derive(Clone, Copy, Debug)]
pub enum SampleAverage {
    /// Their median.
    Median,
    /// Their mean: for values that vary by themselves, so that no single sample is typical.
    Mean,
}

impl SampleAverage {
    /// Computes the statistic of some values; NaN if there are none.
    pub fn average_of(self, values: &[f64]) -> f64 {
        match self {
            Self::Median => median(values),
            Self::Mean => values.iter().sum::<f64>() / values.len() as f64,
        }
    }
}

impl SamplePlan {
    /// Creates a plan for samples on one line, without sleeping, summarized by their median.
    pub const fn new(samples: usize, numbers: f64) -> Self {
        Self { groups: 1, samples, numbers, sleeps: false, number: SampleAverage::Median }
    }

    /// Returns the number of samples that are not discarded.
    pub const fn kept_samples(&self) -> u64 {
        (self.groups * (self.samples - 1)) as u64
    }

    /// Returns how often the calling thread lost the cpu in a way that spoils a sample.
    fn count_switches(&self) -> u64 {
        let SwitchCounts { voluntary, involuntary } = SwitchCounts::read_now();
        if self.sleeps { involuntary } else { voluntary + involuntary }
    }
}

/// One side of the communication. Both sides take the same number of samples, each doing its part of the same sample.
pub trait TalkSide {
    /// Selects the lines of the next samples.
    fn turn_to(&mut self, _group: usize) {}

    /// Does the untimed lead-in of a sample, until the partner has finished its work between samples and the exchange is in full swing.
    /// Returns false if the visit is over.
    fn lead_in(&mut self) -> bool;

    /// Does the sample; false if the visit is over.
    fn talk_once(&mut self) -> bool;

    /// Returns the sample's value, in ticks.
    fn sample_value(&mut self, elapsed: u64) -> f64 {
        elapsed as f64
    }
}

/// A side that passes on consecutive numbers from sample to sample. Each group begins with 0.
pub struct CountedSide<P> {
    lead: u64,
    sample: u64,
    group: usize,
    next: u64,
    pass: P,
}

impl<P: FnMut(usize, Range<u64>) -> bool> CountedSide<P> {
    /// Passes on `lead` numbers before a sample and `sample` numbers in it. `pass` gets the group and the numbers; it returns false when
    /// the visit is over.
    pub const fn new(lead: u64, sample: u64, pass: P) -> Self {
        Self { lead, sample, group: 0, next: 0, pass }
    }

    fn pass(&mut self, count: u64) -> bool {
        let from = self.next;
        self.next += count;
        (self.pass)(self.group, from..self.next)
    }
}

impl<P: FnMut(usize, Range<u64>) -> bool> TalkSide for CountedSide<P> {
    fn turn_to(&mut self, group: usize) {
        (self.group, self.next) = (group, 0);
    }

    fn lead_in(&mut self) -> bool {
        self.pass(self.lead)
    }

    fn talk_once(&mut self) -> bool {
        self.pass(self.sample)
    }
}

/// Records of one side.
#[derive(Debug)]
pub struct SideRecord {
    /// Value of each sample, in ticks.
    pub values: Vec<f64>,
    /// Number of times the thread had lost the cpu: before the first sample, and after each.
    pub switches: Vec<u64>,
}

impl SideRecord {
    /// Allocates room for all samples.
    pub fn new(plan: &SamplePlan) -> Self {
        let all = plan.groups * plan.samples;
        Self { values: Vec::with_capacity(all), switches: Vec::with_capacity(all + 1) }
    }
}

/// Takes all samples of one side, until the visit is over.
pub fn take_samples(ticks: impl TickSource, plan: &SamplePlan, side: &mut impl TalkSide, record: &mut SideRecord) {
    record.switches.push(plan.count_switches());
    for group in 0..plan.groups {
        side.turn_to(group);
        for _ in 0..plan.samples {
            if !side.lead_in() {
                return;
            }
            let begin = ticks.read_ticks();
            if !side.talk_once() {
                return;
            }
            let elapsed = ticks.read_ticks().saturating_sub(begin);
            record.values.push(side.sample_value(elapsed));
            record.switches.push(plan.count_switches());
        }
    }
}

/// Clock of the side that takes no time: reading a real one would delay its answers.
#[derive(Clone, Copy)]
pub struct UntimedTicks;

impl TickSource for UntimedTicks {
    #[inline(always)]
    fn read_ticks(self) -> u64 {
        0
    }
}

/// Samples after discarding disturbed ones.
#[derive(Debug, PartialEq)]
pub struct SiftedSamples {
    /// Good values of each group.
    pub groups: Vec<Vec<f64>>,
    /// Discarded samples.
    pub spoiled: SpoiledSamples,
}

/// Discards samples in which a side lost the cpu, and samples much longer than typical in their group. Groups are judged separately, since
/// some lines are more expensive than others (their home in the cache is elsewhere).
pub fn sift_samples(plan: &SamplePlan, values: &[f64], switches: [&[u64]; 2]) -> SiftedSamples {
    let noted = switches.map(|counts| counts.len().saturating_sub(1));
    // If a visit was cut short, only samples that both sides finished count.
    let complete = values.len().min(noted[0]).min(noted[1]);
    let mut sifted = SiftedSamples { groups: vec![Vec::new(); plan.groups], spoiled: SpoiledSamples::default() };
    let is_switched = |sample: usize| switches.iter().any(|counts| counts[sample + 1] != counts[sample]);
    for (group, good) in sifted.groups.iter_mut().enumerate() {
        let begin = group * plan.samples;
        let kept = (begin + 1..begin + plan.samples).take_while(|&sample| sample < complete);
        let (switched, whole): (Vec<usize>, Vec<usize>) = kept.partition(|&sample| is_switched(sample));
        let whole: Vec<f64> = whole.into_iter().map(|sample| values[sample]).collect();
        let longest = if plan.sleeps { f64::INFINITY } else { INTERRUPTED * quantile(&whole, TYPICAL) };
        good.extend(whole.iter().filter(|&&value| value <= longest));
        sifted.spoiled.samples += (switched.len() + whole.len()) as u64;
        sifted.spoiled.switched += switched.len() as u64;
        sifted.spoiled.interrupted += (whole.len() - good.len()) as u64;
    }
    sifted
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: SamplePlan =
        SamplePlan { groups: 2, samples: 4, numbers: 1.0, sleeps: false, number: SampleAverage::Median };
    const QUIET: [u64; 9] = [5; 9];

    #[test]
    fn the_first_sample_of_a_line_and_much_longer_ones_do_not_count() {
        let values = [900.0, 10.0, 15.0, 11.0, 900.0, 20.0, 30.0, 31.0];
        let sifted = sift_samples(&PLAN, &values, [&QUIET; 2]);
        // The lower quartiles are 10.5 and 25, each line's own.
        assert_eq!(sifted.groups, [vec![10.0, 15.0, 11.0], vec![20.0, 30.0, 31.0]]);
        assert_eq!(sifted.spoiled, SpoiledSamples { samples: 6, ..SpoiledSamples::default() });
        let values = [900.0, 10.0, 16.0, 10.0, 0.0, 20.0, 20.0, 500.0];
        let sifted = sift_samples(&PLAN, &values, [&QUIET; 2]);
        assert_eq!(sifted.groups, [vec![10.0, 10.0], vec![20.0, 20.0]]);
        assert_eq!(sifted.spoiled, SpoiledSamples { samples: 6, interrupted: 2, ..SpoiledSamples::default() });
    }

    #[test]
    fn a_sample_in_which_either_side_was_switched_does_not_count() {
        let values = [10.0; 8];
        let first = [0, 1, 1, 1, 1, 1, 1, 1, 1];
        let second = [7, 7, 7, 8, 8, 8, 8, 8, 9];
        let sifted = sift_samples(&PLAN, &values, [&first, &second]);
        assert_eq!(sifted.groups, [vec![10.0; 2], vec![10.0; 2]]);
        // The first side's switch was in a sample that is thrown away anyway.
        assert_eq!(sifted.spoiled, SpoiledSamples { samples: 6, switched: 2, ..SpoiledSamples::default() });
    }

    #[test]
    fn a_switched_sample_says_nothing_about_what_is_typical() {
        let values = [10.0, 1.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0];
        let sifted = sift_samples(&PLAN, &values, [&[0, 0, 1, 1, 1, 1, 1, 1, 1], &QUIET]);
        assert_eq!(sifted.groups[0], [10.0, 10.0]);
    }

    #[test]
    fn a_visit_that_was_cut_short_has_the_samples_that_both_sides_ended() {
        let sifted = sift_samples(&PLAN, &[10.0; 7], [&QUIET, &QUIET[..7]]);
        assert_eq!(sifted.groups, [vec![10.0; 3], vec![10.0; 1]]);
        assert_eq!(sift_samples(&PLAN, &[10.0; 7], [&QUIET, &[]]).spoiled.samples, 0);
    }
}
