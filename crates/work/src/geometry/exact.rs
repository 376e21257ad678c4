//! Reference method: a ray against every triangle of a mesh, in double precision.

use glam::Vec3A;

use super::{RaySegment, TriangleMesh};

/// Relative tolerance of distances.
pub const TOLERANCE: f64 = 1e-4;
/// Rounding error of single precision in one step of the computation, with a margin: sixteen times half the spacing of neighbouring
/// numbers.
const LOST: f64 = 1e-6;

/// Possible hits of a ray. Single precision cannot decide on which side of a close edge a ray passes, so such a ray has several right
/// answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExactAnswer {
    /// Distance of the nearest triangle that it hits well inside; `None` if there is no such triangle.
    pub surely: Option<f64>,
    /// Nearer triangles that it hits too close to an edge, or at too flat an angle, to be sure: their distances, and the uncertainty of
    /// these.
    pub perhaps: Vec<(f64, f64)>,
}

impl ExactAnswer {
    /// Returns true if a distance, or `None` for no hit, is right.
    pub fn allows_distance(&self, distance: Option<f32>) -> bool {
        let Some(distance) = distance.map(f64::from) else { return self.surely.is_none() };
        let is = |exact: f64, uncertain: f64| (exact - distance).abs() <= uncertain.max(TOLERANCE * exact);
        self.surely.is_some_and(|exact| is(exact, 0.0)) || self.perhaps.iter().any(|(exact, by)| is(*exact, *by))
    }

    /// Returns true if there is only one right answer.
    pub fn is_certain(&self) -> bool {
        self.perhaps.is_empty()
    }
}

/// Finds a ray's first hit by testing every triangle.
pub fn nearest_exact(mesh: &TriangleMesh, ray: &RaySegment) -> ExactAnswer {
    let mut answer = ExactAnswer::default();
    for met in mesh.all_corners().filter_map(|corners| meet_triangle(corners, ray)) {
        if !met.is_certain {
            answer.perhaps.push((met.distance, met.uncertain));
        } else if answer.surely.is_none_or(|surely| met.distance < surely) {
            answer.surely = Some(met.distance);
        }
    }
    let surely = answer.surely.unwrap_or(f64::INFINITY);
    answer.perhaps.retain(|(distance, by)| distance - by < surely);
    answer
}

struct ExactHit {
    distance: f64,
    uncertain: f64,
    /// True if well inside the triangle and the ray's ends.
    is_certain: bool,
}

/// Intersects one triangle: Moeller and Trumbore, "Fast, minimum storage ray/triangle intersection", Journal of Graphics Tools 2(1), 1997.
fn meet_triangle(corners: [Vec3A; 3], ray: &RaySegment) -> Option<ExactHit> {
    let [a, b, c] = corners.map(|corner| corner.as_dvec3());
    let (origin, direction) = (ray.origin.as_dvec3(), ray.direction.as_dvec3());
    let (side_b, side_c, from_a) = (b - a, c - a, origin - a);
    let (across, turned) = (direction.cross(side_c), from_a.cross(side_b));
    let determinant = side_b.dot(across);
    if determinant == 0.0 {
        return None;
    }
    let (u, v) = (from_a.dot(across) / determinant, direction.dot(turned) / determinant);
    let distance = side_c.dot(turned) / determinant;
    // The errors of the products above, over their divisors.
    let (long, short) = (side_b.length().max(side_c.length()), side_b.length().min(side_c.length()));
    let edge = LOST * (1.0 + from_a.length() * direction.length() * long / determinant.abs());
    let uncertain = LOST * (from_a.length() * long * short / determinant.abs() + distance.abs());
    let (near, far) = (f64::from(ray.near), f64::from(ray.far));
    let inner = u.min(v).min(1.0 - u - v);
    let is_met = inner >= -edge && distance >= near - uncertain && distance <= far + uncertain;
    let is_inside = inner > edge && distance > near + uncertain && distance < far - uncertain;
    let is_certain = is_inside && uncertain < TOLERANCE * distance;
    is_met.then_some(ExactHit { distance, uncertain, is_certain })
}

#[cfg(test)]
mod tests;
