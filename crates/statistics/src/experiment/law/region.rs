//! The region of laws that the counts do not exclude if each count has an error of its own.

use super::fit::{CountPairs, FitPoint, LARGEST, LawParameters, normal_matrix, sum_of_squares};
use crate::student::t_value;

/// Number of directions from the best law in which the region's end is searched.
const DIRECTIONS: u32 = 360;
const HALVINGS: u32 = 40;
/// A parameter below this is 0.
const NOTHING: f64 = 1e-9;
/// The level of the throughputs is a parameter, too.
const PARAMETERS: usize = 3;

impl CountPairs {
    /// Returns the boundary of the region of laws with a sum of squares of at most `1 + t² / f` times the least, in all
    /// directions. `f` is the number of counts beyond the parameters, `t` Student's two-sided 5 % point. The range of a
    /// function of the parameters within the region is its 95 % interval, if all counts have errors of the same spread
    /// (Bates and Watts, "Nonlinear Regression Analysis and Its Applications", 1988, profile t). Empty if there are not
    /// enough counts.
    pub(super) fn confidence_region(&self, blocks: &[usize], best: &LawParameters) -> Vec<LawParameters> {
        let points = self.points_of_blocks(blocks);
        let Some(free) = self.counts_in(blocks).checked_sub(PARAMETERS).filter(|free| *free > 0) else {
            return Vec::new();
        };
        let t = student_95(free);
        let start = [best.contention, best.coherency];
        let most = sum_of_squares(&points, start) * (1.0 + t * t / free as f64);
        let directions = (0..DIRECTIONS).map(|at| f64::from(at) * std::f64::consts::TAU / f64::from(DIRECTIONS));
        directions.map(|angle| find_region_end(&points, start, random_direction(&points, start, angle), most)).collect()
    }
}

/// Returns Student's two-sided 5 % point; Wallace's formula is too large for the fewest degrees of freedom.
fn student_95(free: usize) -> f64 {
    match free {
        1 => 12.706,
        2 => 4.303,
        _ => t_value(1.959_964, free as f64),
    }
}

/// Scales a direction so that the squares grow equally fast in all of them: the parameters are correlated, and of
/// different sizes.
fn random_direction(points: &[FitPoint], at: [f64; 2], angle: f64) -> [f64; 2] {
    let [first, both, second] = normal_matrix(points, at, [true, true]);
    // The inverse of the transposed Cholesky factor, with which the curvature becomes the same everywhere.
    let lower = first.sqrt();
    let beside = both / lower;
    let last = (second - beside * beside).max(f64::MIN_POSITIVE).sqrt();
    let coherency = angle.sin() / last;
    [(angle.cos() - beside * coherency) / lower, coherency]
}

/// Returns the point in a direction at which the squares or a parameter reach their limit.
fn find_region_end(points: &[FitPoint], start: [f64; 2], direction: [f64; 2], most: f64) -> LawParameters {
    let at = |distance: f64| [0, 1].map(|index| start[index] + distance * direction[index]);
    let is_within = |distance: f64| {
        let values = at(distance);
        values.iter().all(|value| (0.0..=LARGEST).contains(value)) && sum_of_squares(points, values) <= most
    };
    let (mut inside, mut outside) = (0.0, most.sqrt().max(1e-9));
    while is_within(outside) {
        (inside, outside) = (outside, 2.0 * outside);
    }
    for _ in 0..HALVINGS {
        let middle = (inside + outside) / 2.0;
        if is_within(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    let [contention, coherency] = at(inside).map(|value| if value < NOTHING { 0.0 } else { value });
    LawParameters { contention, coherency }
}
