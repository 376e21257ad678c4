//! Costs that contradict all others of a map: a pair that talks for next to nothing although nothing else says that the two are near.
//!
//! Who is near is near to the same cpus. Costs are no distances in general, but they nearly obey the triangle inequality: what is near one of two
//! cpus cannot be far from the other and these two near each other. Where all cpus are alike, this cannot be seen; there a cost is impossible if it
//! is far below what siblings of any machine cost against the nearest other core.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Matrix, brief};
use crate::stats::order::median;

/// Cpus that cost this much more than the nearest one are as near as it.
const AS_NEAR: f64 = 1.25;
/// What is near one of two cpus is far from the other if it costs this much more there…
const FAR: f64 = 1.5;
/// …and the difference is so many times the cost between the two.
const DETOUR: f64 = 3.0;
/// Siblings cost 2 to 9 times less than the nearest other core in published matrices.
const IMPOSSIBLE: f64 = 20.0;
/// Those near to one of the two are enough to contradict a cost if they cost so many times more than it.
const FAR_ABOVE: f64 = 4.0;

/// A cost that nothing is concluded from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// The lower cpu.
    pub a: u32,
    /// The higher cpu.
    pub b: u32,
    /// The cost of the pair, in nanoseconds.
    pub cost_ns: f64,
    /// How many times less that is than the way around by a third cpu saves, or than what the others cost.
    pub times: f64,
    /// Whether what is near one of the two cpus is far from the other; else each of them talks to all others for that much more.
    pub is_detour: bool,
}

impl Doubt {
    /// "cpus 0 and 9: 0.4 ns is 142 times less than what either costs with any other cpu".
    pub fn words(&self, unit: &str) -> String {
        let Self { a, b, cost_ns, times, is_detour } = *self;
        let cost = brief(cost_ns);
        match is_detour {
            true => format!(
                "cpus {a} and {b}: {cost} {unit} contradicts the other costs, since cpus near to one of them are far from the other"
            ),
            false => format!(
                "cpus {a} and {b}: {cost} {unit} is {times:.0} times less than what either costs with any other cpu"
            ),
        }
    }
}

/// The pairs of different cores whose cost contradicts the others, in rising order.
pub fn doubts(matrix: &Matrix, is_core: impl Fn(usize, usize) -> bool) -> Vec<Doubt> {
    let places = matrix.len();
    // Only who is alone with its nearest can be too near to it.
    let nearest: Vec<[f64; 2]> = (0..places).map(|place| two_nearest(matrix, place)).collect();
    let is_alone = |place: usize, cost: f64| nearest[place][0] == cost && nearest[place][1] >= AS_NEAR * cost;
    let pairs = matrix.known().filter(|&(i, j, cost)| is_alone(i, cost) || is_alone(j, cost));
    let pairs = pairs.filter(|&(i, j, _)| !is_core(i, j));
    let mut found: Vec<Doubt> = pairs.filter_map(|(i, j, cost)| doubt(matrix, i, j, cost)).collect();
    // Where most cpus have somebody that near, the machine is like that.
    let impossible = found.iter().filter(|doubt| !doubt.is_detour).count();
    found.retain(|doubt| doubt.is_detour || 4 * impossible < places);
    found
}

fn doubt(matrix: &Matrix, i: usize, j: usize, cost: f64) -> Option<Doubt> {
    let [a, b] = [i, j].map(|place| matrix.cpus()[place]);
    let of = |times: f64, is_detour: bool| Doubt { a, b, cost_ns: cost, times, is_detour };
    let sides = [near_of(matrix, i, j), near_of(matrix, j, i)];
    let is_far = |(near, far): &(f64, f64), detour: f64| *far >= FAR * near && far - near >= detour * cost;
    // The one with a sibling is contradicted by it alone: those near to the other are far from all.
    let contradicts = |(near, far): &&(f64, f64)| *near >= FAR_ABOVE * cost && is_far(&(*near, *far), IMPOSSIBLE);
    let detours: Vec<(f64, f64)> = sides.concat();
    let far = detours.iter().filter(|two| is_far(two, DETOUR)).count();
    if 2 * far > detours.len() || sides.iter().any(|side| 2 * side.iter().filter(contradicts).count() > side.len()) {
        let times: Vec<f64> = detours.iter().map(|(near, far)| (far - near) / cost).collect();
        return Some(of(median(&times), true));
    }
    // Of a cpu of which few pairs are known the nearest may not be among them.
    let is_known =
        |of: usize| 2 * (0..matrix.len()).filter(|&other| matrix.cost(of, other) > 0.0).count() >= matrix.len();
    let others = nearest(matrix, i, j).min(nearest(matrix, j, i));
    (others.is_finite() && others >= IMPOSSIBLE * cost && is_known(i) && is_known(j)).then(|| of(others / cost, false))
}

/// What the nearest and the second nearest of a place cost; infinite where they are not known.
fn two_nearest(matrix: &Matrix, of: usize) -> [f64; 2] {
    let costs = (0..matrix.len()).filter(|&other| other != of).map(|other| matrix.cost(of, other));
    costs.filter(|cost| *cost > 0.0).fold([f64::INFINITY; 2], |[first, second], cost| match () {
        () if cost < first => [cost, first],
        () => [first, second.min(cost)],
    })
}

/// What the nearest of a place costs, another one left out; infinite where nothing is known.
fn nearest(matrix: &Matrix, of: usize, but: usize) -> f64 {
    let others = (0..matrix.len()).filter(|&other| other != of && other != but);
    others.map(|other| matrix.cost(of, other)).filter(|cost| *cost > 0.0).fold(f64::INFINITY, f64::min)
}

/// Of those that are as near to one place as any but the other: their costs to the one and to the other.
fn near_of(matrix: &Matrix, one: usize, other: usize) -> Vec<(f64, f64)> {
    let limit = AS_NEAR * nearest(matrix, one, other);
    let thirds = (0..matrix.len()).filter(|&third| third != one && third != other);
    let costs = thirds.map(|third| (matrix.cost(one, third), matrix.cost(other, third)));
    costs.filter(|(near, far)| *near <= limit && far.is_finite()).collect()
}
