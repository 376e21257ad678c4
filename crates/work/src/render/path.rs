//! One path, from the eye to a source of light.

use std::f64::consts::TAU;

use corewise_machine::random::RandomGenerator;
use glam::Vec3A;

use super::scene::{RenderScene, SurfacePoint};
use crate::geometry::RaySegment;

/// Maximum surfaces of a path.
pub const DEPTH: u32 = 8;
/// Distance in front of a surface at which a path continues, so that it does not hit the surface again; the scene is about two long.
const LIFT: f32 = 1e-4;

/// Returns the radiance that comes back along a ray, by one random path (Kajiya, "The rendering equation", SIGGRAPH 1986). A path continues
/// at a surface with the probability of its largest albedo, towards the mirror's direction or with a density proportional to the cosine. So
/// the mean over all paths is the light of at most [`DEPTH`] surfaces.
pub fn path_radiance(scene: &RenderScene, mut ray: RaySegment, random: &mut RandomGenerator) -> Vec3A {
    let (mut sum, mut weight) = (Vec3A::ZERO, Vec3A::ONE);
    for _ in 0..DEPTH {
        let Some(met) = scene.meet_surface(&ray) else { return sum + weight * scene.sky() };
        sum += weight * met.material.emission;
        let goes_on = met.material.albedo.max_element();
        if random.next_unit() >= f64::from(goes_on) {
            break;
        }
        weight *= met.material.albedo / goes_on;
        ray = next_ray(&ray, &met, random);
    }
    sum
}

fn next_ray(ray: &RaySegment, met: &SurfacePoint, random: &mut RandomGenerator) -> RaySegment {
    let direction = if met.material.is_mirror {
        mirror_direction(ray.direction, met.normal)
    } else {
        draw_by_cosine(met.normal, random)
    };
    RaySegment { origin: met.point + met.normal * LIFT, direction, near: 0.0, far: f32::INFINITY }
}

fn mirror_direction(direction: Vec3A, normal: Vec3A) -> Vec3A {
    (direction - normal * (2.0 * direction.dot(normal))).normalize()
}

/// Draws a direction with a density proportional to the cosine of its angle with the normal. It points from the contact point of a unit
/// ball on the surface to a random point of the ball's own surface.
fn draw_by_cosine(normal: Vec3A, random: &mut RandomGenerator) -> Vec3A {
    let (height, around) = (2.0 * random.next_unit() - 1.0, TAU * random.next_unit());
    let radius = (1.0 - height * height).max(0.0).sqrt();
    let on_ball = Vec3A::new((radius * around.cos()) as f32, (radius * around.sin()) as f32, height as f32);
    (normal + on_ball).try_normalize().unwrap_or(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of the cosine under a density proportional to it is 2/3, and of its square 1/2.
    #[test]
    fn directions_have_the_moments_of_the_cosine_law() {
        let mut random = RandomGenerator::new(1);
        let normal = Vec3A::new(1.0, -2.0, 0.5).normalize();
        let (mut first, mut second, mut aside) = (0.0, 0.0, Vec3A::ZERO);
        for _ in 0..100_000 {
            let direction = draw_by_cosine(normal, &mut random);
            let cosine = f64::from(direction.dot(normal));
            assert!(cosine >= 0.0 && (direction.length() - 1.0).abs() < 1e-5);
            (first, second, aside) = (first + cosine, second + cosine * cosine, aside + direction / 100_000.0);
        }
        assert!((first / 1e5 - 2.0 / 3.0).abs() < 0.004 && (second / 1e5 - 0.5).abs() < 0.005, "{first} {second}");
        assert!(aside.distance(normal * (2.0 / 3.0)) < 0.01, "{aside}");
    }

    #[test]
    fn mirrors_turn_the_way_across_around() {
        let turned = mirror_direction(Vec3A::new(0.6, -0.8, 0.0), Vec3A::Y);
        assert!(turned.distance(Vec3A::new(0.6, 0.8, 0.0)) < 1e-6);
    }
}
