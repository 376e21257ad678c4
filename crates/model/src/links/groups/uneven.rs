//! A part of faster cpus in a map without groups.

use corewise_machine::CpuSet;

use super::{CHEAPER, CheaperPart, MISPLACED, cost_inside, is_part};
use crate::links::CostMatrix;
use corewise_statistics::order::median;

/// Minimum ratio of the mean costs of two cpus between which a part ends.
const PART_STEP: f64 = 1.08;

/// Finds a part with a smaller cost among its cpus than among the rest, with the costs between both in between: each
/// cpu adds its own speed, as fast and slow cores without turbo do. No cpu is nearer to its own part, so linkage shows no group.
pub fn uneven_part(measured: &CostMatrix) -> Option<CheaperPart> {
    let mut means: Vec<(f64, usize)> = (0..measured.len()).map(|place| (mean_cost(measured, place), place)).collect();
    means.retain(|(mean, _)| mean.is_finite());
    means.sort_by(|one, other| one.0.total_cmp(&other.0));
    let step = |cut: &usize| means[*cut].0 / means[*cut - 1].0;
    let cut = (1..means.len()).max_by(|one, other| step(one).total_cmp(&step(other)))?;
    let part: CpuSet = means[..cut].iter().map(|(_, place)| measured.cpus()[*place]).collect();
    let rest = measured.cpu_set().difference(&part);
    let [inside_ns, rest_ns] = [&part, &rest].map(|cpus| cost_inside(measured, cpus, None));
    let found = CheaperPart { cpus: part, inside_ns, rest_ns, is_only_group: false };
    let is_found = step(&cut) >= PART_STEP
        && rest_ns >= CHEAPER * inside_ns
        && is_part(found.cpus.len(), measured.len())
        && found.has_enough_pairs(measured.len())
        && is_separate(measured, &found);
    is_found.then_some(found)
}

/// Returns the mean cost of a cpu with the others but the nearest, which may be its sibling.
fn mean_cost(measured: &CostMatrix, place: usize) -> f64 {
    let others = (0..measured.len()).filter(|other| *other != place);
    let costs: Vec<f64> =
        others.map(|other| measured.pair_cost(place, other)).filter(|cost| cost.is_finite()).collect();
    let nearest = costs.iter().copied().fold(f64::INFINITY, f64::min);
    (costs.iter().sum::<f64>() - nearest) / (costs.len() as f64 - 1.0)
}

/// Returns true if nearly all pairs lie on their side of the middle of both costs, and the pairs between lie in between.
fn is_separate(measured: &CostMatrix, part: &CheaperPart) -> bool {
    let middle = (part.inside_ns * part.rest_ns).sqrt();
    let (mut inside, mut of_rest, mut between) = (Vec::new(), Vec::new(), Vec::new());
    for (i, j, cost) in measured.known_pairs() {
        let has = |place: usize| part.cpus.contains(measured.cpus()[place]);
        // Siblings are cheap in either part.
        let is_core = 2.0 * cost < part.inside_ns;
        match (has(i), has(j)) {
            (true, true) if !is_core => inside.push(cost),
            (false, false) if !is_core => of_rest.push(cost),
            (true, true) | (false, false) => {}
            _ => between.push(cost),
        }
    }
    let share = |costs: &[f64], is_wrong: &dyn Fn(f64) -> bool| {
        costs.iter().filter(|cost| is_wrong(**cost)).count() as f64 <= MISPLACED * costs.len() as f64
    };
    let cross = median(&between);
    share(&inside, &|cost| cost > middle)
        && share(&of_rest, &|cost| cost < middle)
        && part.inside_ns < cross
        && cross < part.rest_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 28 cpus, each cost with up to 10 % of luck from a fixed sequence.
    fn part_of(cost: impl Fn(bool, bool) -> f64) -> Option<String> {
        let mut matrix = CostMatrix::all_unknown(0..28);
        let mut luck = 7_u32;
        for i in 0..28 {
            for j in 0..i {
                luck = luck.wrapping_mul(1_103_515_245).wrapping_add(12_345);
                let share = 0.95 + f64::from(luck >> 16 & 0xff) / 2550.0;
                matrix.set_both(i, j, share * cost(i >= 16, j >= 16));
            }
        }
        uneven_part(&matrix).map(|part| part.cpus.to_string())
    }

    #[test]
    fn fast_cores_are_a_part_and_luck_is_none() {
        let by_speed = |one: bool, other: bool| 93.0 + 20.0 * (f64::from(one) + f64::from(other));
        assert_eq!(part_of(by_speed).as_deref(), Some("0-15"));
        assert_eq!(part_of(|_, _| 93.0), None);
        assert_eq!(part_of(|one, other| if one == other { 93.0 } else { 134.0 }), None, "groups are no part");
    }

    #[test]
    fn a_pair_of_four_cpus_is_no_part() {
        let part = |cpus: u32| CheaperPart {
            cpus: CpuSet::first_cpus(cpus),
            inside_ns: 5.3,
            rest_ns: 10.3,
            is_only_group: true,
        };
        assert!(!part(2).has_enough_pairs(4));
        assert!(part(4).has_enough_pairs(8));
    }
}
