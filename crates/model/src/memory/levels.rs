//! Levels of a staircase: ranges of sizes with a constant cost of a load, each proven to differ from the one before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::VisitEstimate;
use super::{LatencyStaircase, StaircaseStep};
use corewise_statistics::order::{are_apart, median};

/// Maximum ratio between the medians of one level's sizes.
const ALIKE: f64 = 1.12;
/// Minimum ratio of a level's cost to that of the one before: smaller steps are the limits of translation buffers, or
/// slopes.
const FARTHER: f64 = 1.5;
/// Minimum number of sizes of a level: one and a half doublings.
const LEAST_SIZES: usize = 3;

/// A level of the memory of one cpu.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryLevel {
    /// The smallest measured working set of it.
    pub from_bytes: u64,
    /// The largest measured working set of it: its capacity lies between this and the next measured size.
    pub until_bytes: u64,
    /// The time of a load, in nanoseconds.
    pub ns: VisitEstimate,
    /// The same in cycles of the core, if its clock rate is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<f64>,
}

/// Returns the levels of a staircase, nearest first.
///
/// A run of sizes is a level if their medians lie within [`ALIKE`]. Two consecutive runs are two levels if the 95 %
/// intervals of their values do not meet and the later costs [`FARTHER`] times as much; otherwise they are one.
pub fn find_levels(staircase: &LatencyStaircase) -> Vec<MemoryLevel> {
    let steps: Vec<&StaircaseStep> = staircase.steps.iter().filter(|step| !step.visits_ns.is_empty()).collect();
    let mut levels: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    while from + LEAST_SIZES <= steps.len() {
        let until = run(&steps, from);
        if until - from < LEAST_SIZES {
            from += 1;
            continue;
        }
        match levels.last_mut() {
            Some(last) if !levels_differ(&estimate_run(&steps[last.0..last.1]), &estimate_run(&steps[from..until])) => {
                last.1 = until
            }
            _ => levels.push((from, until)),
        }
        from = until;
    }
    let level = |(from, until): (usize, usize)| {
        let ns = estimate_run(&steps[from..until]);
        MemoryLevel {
            from_bytes: steps[from].bytes,
            until_bytes: steps[until - 1].bytes,
            ns,
            cycles: load_cycles(&steps[from..until]),
        }
    };
    levels.into_iter().map(level).collect()
}

/// Returns the end of the run of equal costs that begins at `from`.
fn run(steps: &[&StaircaseStep], from: usize) -> usize {
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for (place, step) in steps.iter().enumerate().skip(from) {
        let cost = median(&step.visits_ns);
        (least, most) = (least.min(cost), most.max(cost));
        if most > least * ALIKE {
            return place;
        }
    }
    steps.len()
}

/// Returns the cost of a run: the median over the sizes of each visit, so that a disturbed visit affects one value.
fn estimate_run(steps: &[&StaircaseStep]) -> VisitEstimate {
    let visits = steps.iter().map(|step| step.visits_ns.len()).max().unwrap_or(0);
    let visit = |index: usize| {
        let values: Vec<f64> = steps.iter().filter_map(|step| step.visits_ns.get(index).copied()).collect();
        median(&values)
    };
    VisitEstimate::from_visits(&(0..visits).map(visit).collect::<Vec<_>>()).unwrap_or_default()
}

/// Returns the cycles of a load, with each size's own clock rate.
fn load_cycles(steps: &[&StaircaseStep]) -> Option<f64> {
    let known = steps.iter().filter(|step| !step.visits_gigahertz.is_empty());
    let cycles: Vec<f64> = known.map(|step| median(&step.visits_ns) * median(&step.visits_gigahertz)).collect();
    (!cycles.is_empty()).then(|| median(&cycles))
}

fn levels_differ(one: &VisitEstimate, other: &VisitEstimate) -> bool {
    are_apart((one.low, one.high), (other.low, other.high)) && other.median > FARTHER * one.median
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewise_machine::random::RandomGenerator;

    /// A staircase of caches with sharp ends; each visit has noise of this share.
    fn staircase(ends: &[(u64, f64)], noise: f64, seed: u64) -> LatencyStaircase {
        let mut random = RandomGenerator::new(seed);
        let sizes = (12..30).flat_map(|power| [1_u64 << power, 3 << (power - 1)]);
        let step = |bytes: u64| {
            let truth = ends.iter().find(|(end, _)| bytes <= *end).map_or(100.0, |(_, ns)| *ns);
            StaircaseStep {
                bytes,
                visits_ns: (0..9).map(|_| truth * (1.0 + noise * random.next_normal())).collect(),
                visits_gigahertz: vec![4.0],
            }
        };
        LatencyStaircase { cpu: 0, steps: sizes.map(step).collect() }
    }

    #[test]
    fn levels_are_found_with_their_sizes() {
        let found = find_levels(&staircase(&[(32 << 10, 1.25), (512 << 10, 4.0), (32 << 20, 12.0)], 0.02, 1));
        let told: Vec<(u64, u64)> =
            found.iter().map(|level| (level.until_bytes, level.ns.median.round() as u64)).collect();
        assert_eq!(told, [(32 << 10, 1), (512 << 10, 4), (32 << 20, 12), (3 << 28, 100)]);
        assert!((found[0].cycles.unwrap() - 5.0).abs() < 0.2);
    }

    #[test]
    fn memory_without_levels_has_one_whatever_the_noise() {
        for seed in 0..100 {
            let found = find_levels(&staircase(&[], 0.03, seed));
            assert_eq!(found.len(), 1, "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn a_slope_is_no_level() {
        let step = |place: u32| StaircaseStep {
            bytes: 4096 << place,
            visits_ns: vec![1.3_f64.powi(place as i32); 9],
            visits_gigahertz: vec![],
        };
        let slope = LatencyStaircase { cpu: 0, steps: (0..12).map(step).collect() };
        assert_eq!(find_levels(&slope), []);
        assert_eq!(find_levels(&LatencyStaircase { steps: vec![], ..slope }), []);
    }
}
