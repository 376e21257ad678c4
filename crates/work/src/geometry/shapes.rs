//! Meshes by formula: the same for the same number of triangles, on every machine.

use std::f32::consts::{PI, TAU};

use glam::Vec3A;

use super::TriangleMesh;

/// Builds a sphere of radius one around zero: `bands` rings of twice as many quadrilaterals, each of two triangles, or of one at the poles.
/// Its points are on the sphere, and its surface is nowhere farther inside than 1 - cos(PI / (2 `bands`)) squared, roughly.
///
/// # Panics
/// If there are fewer than two bands.
pub fn make_sphere(bands: u32) -> TriangleMesh {
    assert!(bands >= 2, "a sphere has two bands at least");
    let round = 2 * bands;
    let point = |band: u32, step: u32| {
        let (polar, around) = (PI * band as f32 / bands as f32, TAU * (step % round) as f32 / round as f32);
        Vec3A::new(polar.sin() * around.cos(), polar.cos(), polar.sin() * around.sin())
    };
    let mut points = vec![Vec3A::Y, Vec3A::NEG_Y];
    points.extend((1..bands).flat_map(|band| (0..round).map(move |step| point(band, step))));
    let number = |band: u32, step: u32| match band {
        0 => 0,
        _ if band == bands => 1,
        _ => 2 + (band - 1) * round + step % round,
    };
    let mut triangles = Vec::new();
    for (band, step) in (0..bands).flat_map(|band| (0..round).map(move |step| (band, step))) {
        let [a, b] = [number(band, step), number(band, step + 1)];
        let [c, d] = [number(band + 1, step), number(band + 1, step + 1)];
        if band > 0 {
            triangles.push([a, b, c]);
        }
        if band + 1 < bands {
            triangles.push([b, d, c]);
        }
    }
    TriangleMesh::new(points, triangles).expect("a sphere is a mesh")
}

/// Returns the number of triangles of [`sphere`] with a number of bands.
pub const fn sphere_triangles(bands: u32) -> usize {
    4 * bands as usize * (bands as usize - 1)
}

/// Builds a stone with ridges and a ring of seven smaller balls at different heights around it. The number of triangles is approximate
/// (within a tenth from 1,000 on); half of them are the stone's. It fits into the box from -1 to 1.
pub fn stone_and_balls(triangles: usize) -> TriangleMesh {
    let mut mesh = make_ridged(make_sphere(band_count(triangles / 2))).map_points(|point| point * 0.5);
    let ball = make_sphere(band_count(triangles / 14));
    for number in 0..7_u8 {
        let around = TAU * f32::from(number) / 7.0;
        let (radius, height) = (0.08 + 0.015 * f32::from(number), -0.4 + 0.15 * f32::from(number));
        let middle = Vec3A::new(0.75 * around.cos(), height, 0.75 * around.sin());
        mesh.append_mesh(&ball.clone().map_points(|point| middle + point * radius));
    }
    mesh.fit_to_unit()
}

/// Builds a square with waves around the axis, from -`half` to `half` in x and z, of about `triangles` triangles. It lies above `height`,
/// by at most a tenth of `half`: a grid of squares, each of two triangles.
pub fn make_ground(triangles: usize, height: f32, half: f32) -> TriangleMesh {
    let side = ((triangles as f64 / 2.0).sqrt().round() as u32).max(1);
    let point = |number: u32| {
        let [x, z] = [number % (side + 1), number / (side + 1)].map(|at| 2.0 * at as f32 / side as f32 - 1.0);
        let waves = (31.0 * x + 3.0 * (5.0 * z).sin()).sin() * (27.0 * z).cos() + 0.4 * (90.0 * (x + z)).sin();
        Vec3A::new(x * half, height + half * 0.01 * (waves + 1.5), z * half)
    };
    let corners = |square: u32| {
        let first = square / side * (side + 1) + square % side;
        [[first, first + side + 1, first + 1], [first + 1, first + side + 1, first + side + 2]]
    };
    let points = (0..(side + 1) * (side + 1)).map(point).collect();
    TriangleMesh::new(points, (0..side * side).flat_map(corners).collect()).expect("a ground is a mesh")
}

/// Adds waves to a sphere.
fn make_ridged(sphere: TriangleMesh) -> TriangleMesh {
    sphere.map_points(|point| {
        let waves = (9.0 * point.x + 2.0 * point.y).sin() * (7.0 * point.y).cos() + 0.5 * (23.0 * point.z).sin();
        point * (1.0 + 0.1 * waves)
    })
}

/// Returns the bands of a sphere of about that many triangles.
pub fn band_count(triangles: usize) -> u32 {
    (0.5 + (0.25 + triangles as f64 / 4.0).sqrt()).round().max(2.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sphere_has_its_triangles_and_its_points_on_it() {
        for bands in [2, 3, 10] {
            let sphere = make_sphere(bands);
            assert_eq!(sphere.len(), sphere_triangles(bands));
            assert!(sphere.all_corners().flatten().all(|point| (point.length() - 1.0).abs() < 1e-6));
        }
    }

    /// The closed form of a solid's volume as a sum over its surface; it is right only if no triangle is missing, doubled, or turned over.
    #[test]
    fn a_sphere_encloses_its_volume() {
        let volume: f32 = make_sphere(60).all_corners().map(|[a, b, c]| a.dot(b.cross(c)) / 6.0).sum();
        let ball = 4.0 / 3.0 * PI;
        assert!((volume.abs() - ball).abs() < 0.003 * ball, "{volume}");
    }

    #[test]
    fn a_ground_covers_its_square_from_above() {
        for triangles in [0, 1_000, 50_000] {
            let ground = make_ground(triangles, -1.0, 4.0);
            assert!(
                triangles == 0 || ground.len().abs_diff(triangles) * 20 < triangles,
                "{} of {triangles}",
                ground.len()
            );
            // Twice the area of each triangle, seen from above; none is turned over.
            let seen: Vec<f32> = ground.all_corners().map(|[a, b, c]| (b - a).cross(c - a).y).collect();
            assert!(seen.iter().all(|area| *area > 0.0) && (seen.iter().sum::<f32>() / 2.0 - 64.0).abs() < 0.1);
            let [low, high] = ground.bounding_box();
            assert!(low.y >= -1.0 && high.y <= -0.6);
        }
    }

    #[test]
    fn as_many_triangles_as_are_asked_for() {
        for triangles in [1_000, 50_000, 200_000] {
            let made = stone_and_balls(triangles);
            assert!(made.len().abs_diff(triangles) * 10 < triangles, "{} of {triangles}", made.len());
            let [low, high] = made.bounding_box();
            assert!(low.min_element() >= -1.001 && high.max_element() <= 1.001);
        }
        assert!(!stone_and_balls(0).is_empty());
    }
}
