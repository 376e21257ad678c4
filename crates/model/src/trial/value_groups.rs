//! Steps of numbers with jitter, which their digits do not show: values in narrow groups at equal distances.

use std::collections::BTreeMap;

use corewise_statistics::order::median;

/// Minimum number of values.
const FEWEST_VALUES: usize = 10;
/// Minimum number of groups; two may be two modes of the program.
const FEWEST_GROUPS: usize = 3;
/// Largest width of a group, as a share of the smallest gap between two.
const WIDEST: f64 = 0.15;
/// Minimum share of the values in groups of at least two, and minimum number of such groups.
const GROUPED: f64 = 0.7;
const FEWEST_LARGE_GROUPS: usize = 2;
/// Largest distance of a group from its place, as a share of the step.
const OUT_OF_PLACE: f64 = 0.07;

/// Returns the step between the values of arms, as a share of their median, if they fall into narrow groups at equal
/// distances of at least `least`, a share of the median. Only arms with values in two groups count: others may differ by
/// their placement. `None` if the values have no such steps, or if they are few.
pub(super) fn find_jittered_step(values: &[(usize, f64)], least: f64) -> Option<f64> {
    let middle = median(&values.iter().map(|(_, value)| *value).collect::<Vec<f64>>()).abs();
    let least = least * middle;
    if values.len() < FEWEST_VALUES || least == 0.0 {
        return None;
    }
    let mut groups_of_arm: BTreeMap<usize, usize> = BTreeMap::new();
    for group in split_at_gaps(values.to_vec(), least) {
        let mut arms: Vec<usize> = group.iter().map(|(arm, _)| *arm).collect();
        arms.sort_unstable();
        arms.dedup();
        arms.into_iter().for_each(|arm| *groups_of_arm.entry(arm).or_default() += 1);
    }
    let counted = values.iter().copied().filter(|(arm, _)| groups_of_arm[arm] > 1).collect();
    let groups: Vec<ValueGroup> =
        split_at_gaps(counted, least).iter().map(|group| ValueGroup::from_rising(group)).collect();
    common_step(&groups).map(|step| step / middle)
}

/// Sorts values and splits them at gaps of at least `least`.
fn split_at_gaps(mut values: Vec<(usize, f64)>, least: f64) -> Vec<Vec<(usize, f64)>> {
    values.sort_by(|a, b| a.1.total_cmp(&b.1));
    values.chunk_by(|low, high| high.1 - low.1 < least).map(<[_]>::to_vec).collect()
}

/// Values between two gaps.
struct ValueGroup {
    count: usize,
    low: f64,
    high: f64,
    mean: f64,
}

impl ValueGroup {
    fn from_rising(values: &[(usize, f64)]) -> Self {
        let mean = values.iter().map(|(_, value)| value).sum::<f64>() / values.len() as f64;
        Self { count: values.len(), low: values[0].1, high: values[values.len() - 1].1, mean }
    }
}

/// Returns the step of which all distances between narrow groups are multiples.
fn common_step(groups: &[ValueGroup]) -> Option<f64> {
    let all: usize = groups.iter().map(|group| group.count).sum();
    let large: Vec<usize> = groups.iter().map(|group| group.count).filter(|count| *count > 1).collect();
    let is_grouped = large.iter().sum::<usize>() as f64 >= GROUPED * all as f64;
    if groups.len() < FEWEST_GROUPS || large.len() < FEWEST_LARGE_GROUPS || !is_grouped {
        return None;
    }
    let widest = groups.iter().map(|group| group.high - group.low).fold(0.0, f64::max);
    let gap = groups.windows(2).map(|pair| pair[1].low - pair[0].high).fold(f64::INFINITY, f64::min);
    let step = groups.windows(2).map(|pair| pair[1].mean - pair[0].mean).fold(f64::INFINITY, f64::min);
    let is_in_place = |group: &ValueGroup| {
        let steps = (group.mean - groups[0].mean) / step;
        (steps - steps.round()).abs() <= OUT_OF_PLACE
    };
    (widest <= WIDEST * gap && groups.iter().all(is_in_place)).then_some(step)
}

#[cfg(test)]
mod tests {
    use corewise_machine::random::RandomGenerator;

    use super::*;

    /// The share of 500 experiments with steps by this rule; the value of a run depends on its arm and on chance.
    fn share_with_steps(runs: usize, value: impl Fn(usize, &mut RandomGenerator) -> f64) -> f64 {
        let random = &mut RandomGenerator::new(7);
        let found = (0..500).filter(|_| {
            let values: Vec<(usize, f64)> = (0..runs).map(|run| (run % 2, value(run % 2, random))).collect();
            find_jittered_step(&values, 0.015).is_some()
        });
        found.count() as f64 / 500.0
    }

    #[test]
    fn steps_of_a_tenth_are_seen_behind_jitter() {
        let jittered = |arm: usize, random: &mut RandomGenerator| {
            let value: f64 = 10.2 * (0.05 * random.next_normal()).exp() / [1.0, 1.04][arm];
            value.round() * (0.002 * random.next_normal()).exp()
        };
        let values = |runs: usize| {
            let random = &mut RandomGenerator::new(3);
            (0..runs).map(|run| (run % 2, jittered(run % 2, random))).collect::<Vec<_>>()
        };
        let step = find_jittered_step(&values(40), 0.015).unwrap();
        assert!((step - 0.1).abs() < 0.003, "{step}");
        assert!(find_jittered_step(&values(9), 0.015).is_none(), "too few");
        let share = share_with_steps(40, jittered);
        assert!(share >= 0.9, "{share}");
    }

    #[test]
    fn noise_modes_and_effects_are_no_steps() {
        let noise = |size: f64, random: &mut RandomGenerator| (size * random.next_normal()).exp();
        for runs in [10, 20, 40, 120] {
            for size in [0.002, 0.01, 0.03, 0.1] {
                let plain = share_with_steps(runs, |_, random| noise(size, random));
                let modes = share_with_steps(runs, |_, random| {
                    noise(size, random) * if random.next_unit() < 0.4 { 1.3 } else { 1.0 }
                });
                let shifted = share_with_steps(runs, |arm, random| {
                    let mode = if random.next_unit() < 0.4 { 1.6 } else { 1.0 };
                    noise(size, random) * mode / [1.0, 1.05][arm]
                });
                let apart = share_with_steps(runs, |arm, random| noise(size, random) * [1.0, 1.2][arm]);
                let struck = share_with_steps(runs, |_, random| {
                    let outlier = if random.next_unit() < 0.05 { 1.0 - 0.3 * random.next_unit().ln() } else { 1.0 };
                    noise(size, random) * outlier
                });
                let all = [plain, modes, shifted, apart, struck];
                assert!(all.iter().all(|share| *share <= 0.02), "{runs} runs, noise {size}: {all:?}");
            }
        }
    }
}
