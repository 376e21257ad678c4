//! Checks of the tracer against closed forms, and of a picture.

use std::sync::atomic::{AtomicBool, Ordering};

use corewise_machine::random::RandomGenerator;
use glam::Vec3A;

use super::canvas::LightCanvas;
use super::path::{DEPTH, path_radiance};
use super::plan::RenderPlan;
use super::scene::{RenderScene, SceneBall, SurfaceMaterial, make_square};
use crate::WorkError;
use crate::geometry::{RaySegment, shapes};

/// Paths of each closed form.
const PATHS: u32 = 50_000;
/// Tolerance of a mean, in standard errors.
const ERRORS: f64 = 5.0;
/// Number of points of a picture that are traced again.
const POINTS: usize = 50;

/// Checks the tracer, and then a picture of a number of rounds.
///
/// # Errors
/// [`WorkError::Wrong`].
pub fn check_render(
    scene: &RenderScene,
    plan: &RenderPlan,
    canvas: &LightCanvas,
    rounds: u64,
    stop: &AtomicBool,
) -> Result<String, WorkError> {
    let furnace = check_furnace(&glowing_sphere(GLOW), plan.seed)?;
    let lamp = check_lamp(&lamp_over_floor(LAMP_RADIUS), plan.seed)?;
    check_picture(scene, plan, canvas, rounds, stop)?;
    Ok(format!(
        "a glowing sphere ({furnace}), a floor under a lamp ({lamp}), and {POINTS} points of the picture traced again (the same)"
    ))
}

/// Material of the glowing sphere.
const GLOW: SurfaceMaterial =
    SurfaceMaterial { albedo: Vec3A::splat(0.7), emission: Vec3A::splat(0.5), is_mirror: false };
const LAMP_RADIUS: f32 = 0.5;
const LAMP_HEIGHT: f32 = 2.0;
const LAMP_EMISSION: f32 = 10.0;
const FLOOR_ALBEDO: f32 = 0.5;

fn glowing_sphere(material: SurfaceMaterial) -> RenderScene {
    RenderScene::new(&shapes::make_sphere(20), vec![material], |_| 0, Vec::new(), Vec3A::ZERO)
}

fn lamp_over_floor(radius: f32) -> RenderScene {
    let lamp =
        SceneBall { middle: Vec3A::Y * LAMP_HEIGHT, radius, material: SurfaceMaterial::new_lamp([LAMP_EMISSION; 3]) };
    RenderScene::new(
        &make_square(0.0, 9.0),
        vec![SurfaceMaterial::new_matt([FLOOR_ALBEDO; 3])],
        |_| 0,
        vec![lamp],
        Vec3A::ZERO,
    )
}

/// Checks the furnace test: inside a uniform closed sphere, light comes from everywhere alike, so each surface of a path adds its emission
/// times the previous albedos.
fn check_furnace(scene: &RenderScene, seed: u64) -> Result<String, WorkError> {
    let (albedo, emission) = (f64::from(GLOW.albedo.x), f64::from(GLOW.emission.x));
    let exact = emission * (1.0 - albedo.powi(DEPTH as i32)) / (1.0 - albedo);
    compare_mean(
        "the glowing sphere",
        exact,
        |random| {
            let direction = Vec3A::from_array([(); 3].map(|()| random.next_normal() as f32)).normalize();
            path_radiance(scene, endless_ray(Vec3A::new(0.3, 0.1, -0.2), direction), random)
        },
        seed,
    )
}

/// Checks the floor straight below a ball of radiance l, of radius a at height h. The irradiance is PI l (a / h)^2, and a matt floor
/// reflects its albedo over PI of it to all sides.
fn check_lamp(scene: &RenderScene, seed: u64) -> Result<String, WorkError> {
    let exact = f64::from(FLOOR_ALBEDO * LAMP_EMISSION * (LAMP_RADIUS / LAMP_HEIGHT).powi(2));
    // At the centre of the floor, away from edges of triangles, seen from beside the lamp.
    let eye = Vec3A::new(2.0, 1.0, 0.3);
    compare_mean(
        "the floor under a lamp",
        exact,
        |random| path_radiance(scene, endless_ray(eye, (Vec3A::new(1e-3, 0.0, 3e-3) - eye).normalize()), random),
        seed,
    )
}

fn endless_ray(origin: Vec3A, direction: Vec3A) -> RaySegment {
    RaySegment { origin, direction, near: 0.0, far: f32::INFINITY }
}

fn compare_mean(
    what: &str,
    exact: f64,
    path: impl Fn(&mut RandomGenerator) -> Vec3A,
    seed: u64,
) -> Result<String, WorkError> {
    let mut random = RandomGenerator::new(seed);
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..PATHS {
        let light = path(&mut random).to_array().map(f64::from);
        let grey = light.iter().sum::<f64>() / 3.0;
        (sum, squares) = (sum + grey, squares + grey * grey);
    }
    let paths = f64::from(PATHS);
    let mean = sum / paths;
    let error = ((squares / paths - mean * mean).max(0.0) / (paths - 1.0)).sqrt();
    // A NaN mean is not near anything.
    if (mean - exact).abs() <= ERRORS * error {
        return Ok(format!("{mean:.4}, exactly {exact:.4}, standard error {error:.4}"));
    }
    Err(WorkError::Wrong(format!("{what} has radiance {mean} instead of {exact} (standard error {error})")))
}

/// Checks that all points are complete and possible, and that some are the same when traced again.
fn check_picture(
    scene: &RenderScene,
    plan: &RenderPlan,
    canvas: &LightCanvas,
    rounds: u64,
    stop: &AtomicBool,
) -> Result<(), WorkError> {
    let wrong = |point, what: String| Err(WorkError::Wrong(format!("point {point} of the picture {what}")));
    let most = rounds as f32 * plan.samples as f32 * DEPTH as f32 * scene.brightest_radiance();
    for point in 0..canvas.len() {
        let (light, count) = (canvas.light_at(point), u64::from(canvas.count_at(point)));
        if count != rounds {
            return wrong(point, format!("has {count} rounds of {rounds}"));
        }
        if !light.is_finite() || light.min_element() < 0.0 || light.max_element() > most {
            return wrong(point, format!("has the light {light}"));
        }
    }
    let mut random = RandomGenerator::new(plan.seed);
    for _ in 0..POINTS {
        let point = random.next_below(canvas.len());
        let mut again = Vec3A::ZERO;
        for round in 0..rounds {
            if stop.load(Ordering::Relaxed) {
                return Err(WorkError::Stopped);
            }
            again += plan.trace_point(scene, point, round);
        }
        if again != canvas.light_at(point) {
            return wrong(point, format!("has the light {}, and {again} when traced again", canvas.light_at(point)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::RenderOptions;
    use crate::{WorkloadSettings, WorkloadSize};

    #[test]
    fn right_tracers_agree_with_closed_forms_for_any_seed() {
        for seed in 0..10 {
            check_furnace(&glowing_sphere(GLOW), seed).unwrap();
            check_lamp(&lamp_over_floor(LAMP_RADIUS), seed).unwrap();
        }
    }

    #[test]
    fn other_light_than_that_of_the_closed_form_is_found() {
        let duller = SurfaceMaterial { albedo: Vec3A::splat(0.69), ..GLOW };
        assert!(matches!(check_furnace(&glowing_sphere(duller), 1), Err(WorkError::Wrong(_))));
        let brighter = SurfaceMaterial { emission: Vec3A::splat(0.51), ..GLOW };
        assert!(matches!(check_furnace(&glowing_sphere(brighter), 1), Err(WorkError::Wrong(_))));
        assert!(matches!(check_lamp(&lamp_over_floor(0.55), 1), Err(WorkError::Wrong(_))));
        let nothing = |_: &mut RandomGenerator| Vec3A::NAN;
        assert!(matches!(compare_mean("it", 1.0, nothing, 1), Err(WorkError::Wrong(_))));
    }

    #[test]
    fn spoiled_pictures_are_found() {
        let settings = WorkloadSettings { size: WorkloadSize::Share(1.0), ..WorkloadSettings::new(1) };
        let options = RenderOptions { width: 8, height: 6, samples: 2, ..RenderOptions::default() };
        let (scene, plan) = (RenderScene::stone_scene(500), RenderPlan::new(&settings, &options).unwrap());
        let traced = |spoil: &dyn Fn(usize, Vec3A) -> Option<Vec3A>| {
            let canvas = LightCanvas::new(8, 6);
            for point in 0..canvas.len() {
                if let Some(light) = spoil(point, plan.trace_point(&scene, point, 0)) {
                    canvas.add_light(point, light);
                }
            }
            check_picture(&scene, &plan, &canvas, 1, &AtomicBool::new(false))
        };
        traced(&|_, light| Some(light)).unwrap();
        assert!(traced(&|point, light| (point != 7).then_some(light)).is_err(), "a point is missing");
        assert!(traced(&|point, light| Some(if point == 7 { Vec3A::NAN } else { light })).is_err());
        assert!(traced(&|point, light| Some(if point == 7 { light * -1.0 - 1.0 } else { light })).is_err());
        assert!(traced(&|point, light| Some(if point == 7 { Vec3A::splat(1e9) } else { light })).is_err());
        assert!(traced(&|_, light| Some(light * 1.001)).is_err(), "not what is traced again");
    }
}
