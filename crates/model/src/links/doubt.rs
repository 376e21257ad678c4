//! Costs that contradict all others of a map: a pair with a tiny cost although no other cost shows that the two are
//! near.
//!
//! Two near cpus are near to the same others. Costs are no distances in general, but they nearly obey the triangle
//! inequality: a third cpu cannot be near to one and far from the other. If all cpus are alike, this test is blind;
//! then a cost is impossible if it is far below the ratio of siblings to the nearest other core on any machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CostMatrix, format_cost};
use corewise_statistics::order::median;

/// Cpus up to this ratio beyond the nearest one count as equally near.
const AS_NEAR: f64 = 1.25;
/// A cpu near to one of a pair is far from the other if it costs this much more there, and see [`DETOUR`].
const FAR: f64 = 1.5;
/// Minimum ratio of that difference to the cost between the two.
const DETOUR: f64 = 3.0;
/// Siblings cost 2 to 9 times less than the nearest other core in published matrices.
const IMPOSSIBLE: f64 = 20.0;

/// A cost that no conclusion uses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostDoubt {
    /// The lower cpu.
    pub a: u32,
    /// The higher cpu.
    pub b: u32,
    /// The cost of the pair, in nanoseconds.
    pub cost_ns: f64,
    /// Ratio of the detour's saving by a third cpu, or of the others' cost, to this cost.
    pub times: f64,
    /// True if cpus near to one of the two are far from the other; otherwise each of them costs that much more with all
    /// others.
    pub is_detour: bool,
}

impl CostDoubt {
    /// Describes the doubt: "cpus 0 and 9: 0.4 ns is 142 times less than what either costs with any other cpu".
    pub fn describe_doubt(&self, unit: &str) -> String {
        let Self { a, b, cost_ns, times, is_detour } = *self;
        let cost = format_cost(cost_ns);
        match is_detour {
            true => format!(
                "cpus {a} and {b}: {cost} {unit} contradicts the other costs, since cpus near to one of them are far from the other"
            ),
            false => format!(
                "cpus {a} and {b}: {cost} {unit} is {times:.0} times less than the cost of either with any other cpu"
            ),
        }
    }
}

/// Returns the pairs of different cores with a cost that contradicts the others, in rising order.
pub fn find_doubts(matrix: &CostMatrix, is_core: impl Fn(usize, usize) -> bool) -> Vec<CostDoubt> {
    let places = matrix.len();
    // A cost can be too small only if it is the nearest of a cpu by far.
    let nearest: Vec<[f64; 2]> = (0..places).map(|place| two_nearest(matrix, place)).collect();
    let is_alone = |place: usize, cost: f64| nearest[place][0] == cost && nearest[place][1] >= AS_NEAR * cost;
    let pairs = matrix.known_pairs().filter(|&(i, j, cost)| is_alone(i, cost) || is_alone(j, cost));
    let pairs = pairs.filter(|&(i, j, _)| !is_core(i, j));
    let mut found: Vec<CostDoubt> = pairs.filter_map(|(i, j, cost)| check_pair(matrix, i, j, cost)).collect();
    // If many cpus have such a partner, the machine is really like that.
    let impossible = found.iter().filter(|doubt| !doubt.is_detour).count();
    found.retain(|doubt| doubt.is_detour || 4 * impossible < places);
    found
}

fn check_pair(matrix: &CostMatrix, i: usize, j: usize, cost: f64) -> Option<CostDoubt> {
    let [a, b] = [i, j].map(|place| matrix.cpus()[place]);
    let of = |times: f64, is_detour: bool| CostDoubt { a, b, cost_ns: cost, times, is_detour };
    let is_far = |(near, far): &&(f64, f64)| *far >= FAR * near && far - near >= DETOUR * cost;
    let is_mostly_far = |thirds: &[(f64, f64)]| 2 * thirds.iter().filter(is_far).count() > thirds.len();
    // One side is enough if the two are far nearer still: to a cpu outside of all groups all others are near.
    let is_nearer_still = |thirds: &[(f64, f64)]| thirds.iter().all(|(near, _)| *near >= DETOUR * cost);
    let sides = [near_of(matrix, i, j), near_of(matrix, j, i)];
    let both = sides.concat();
    let of_one = sides.iter().find(|side| is_mostly_far(side) && is_nearer_still(side));
    if let Some(thirds) = Some(&both).filter(|both| is_mostly_far(both)).or(of_one) {
        let times: Vec<f64> = thirds.iter().map(|(near, far)| (far - near) / cost).collect();
        return Some(of(median(&times), true));
    }
    // If few pairs of a cpu are known, its nearest may not be among them.
    let is_known =
        |of: usize| 2 * (0..matrix.len()).filter(|&other| matrix.pair_cost(of, other) > 0.0).count() >= matrix.len();
    let others = nearest_cost(matrix, i, j).min(nearest_cost(matrix, j, i));
    (others.is_finite() && others >= IMPOSSIBLE * cost && is_known(i) && is_known(j)).then(|| of(others / cost, false))
}

/// Returns the costs to the nearest and the second nearest of a place; infinite if unknown.
fn two_nearest(matrix: &CostMatrix, of: usize) -> [f64; 2] {
    let costs = (0..matrix.len()).filter(|&other| other != of).map(|other| matrix.pair_cost(of, other));
    costs.filter(|cost| *cost > 0.0).fold([f64::INFINITY; 2], |[first, second], cost| match () {
        () if cost < first => [cost, first],
        () => [first, second.min(cost)],
    })
}

/// Returns the cost to the nearest of a place, except another one; infinite if unknown.
fn nearest_cost(matrix: &CostMatrix, of: usize, but: usize) -> f64 {
    let others = (0..matrix.len()).filter(|&other| other != of && other != but);
    others.map(|other| matrix.pair_cost(of, other)).filter(|cost| *cost > 0.0).fold(f64::INFINITY, f64::min)
}

/// Returns the costs to both places of all cpus that are nearest to `one`, `other` excepted.
fn near_of(matrix: &CostMatrix, one: usize, other: usize) -> Vec<(f64, f64)> {
    let limit = AS_NEAR * nearest_cost(matrix, one, other);
    let thirds = (0..matrix.len()).filter(|&third| third != one && third != other);
    let costs = thirds.map(|third| (matrix.pair_cost(one, third), matrix.pair_cost(other, third)));
    costs.filter(|(near, far)| *near <= limit && far.is_finite()).collect()
}
