//! Number of paths, and their start at the camera.

use std::time::Duration;

use corewise_machine::random::RandomGenerator;
use glam::Vec3A;

use super::RenderOptions;
use super::path::path_radiance;
use super::scene::RenderScene;
use crate::geometry::RaySegment;
use crate::{WorkError, WorkloadSettings, WorkloadSize};

/// Largest share.
const MOST: f64 = 1_000.0;
/// Position of the camera, and the point it looks at.
const CAMERA: Vec3A = Vec3A::new(0.35, 0.8, 2.6);
const SUBJECT: Vec3A = Vec3A::new(0.0, -0.25, 0.0);
/// Half the height of the picture at a distance of one.
const OPENING: f32 = 0.42;

/// Paths of a run, or of one of its rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderPlan {
    /// Points in a row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Paths of each point.
    pub samples: u32,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Time for which it is repeated; `None` for once.
    pub until: Option<Duration>,
}

impl RenderPlan {
    /// Plans the paths of a size.
    ///
    /// # Errors
    /// [`WorkError::Input`] for no threads, options out of range, or a share that is not a number above zero or is too large.
    pub fn new(settings: &WorkloadSettings, options: &RenderOptions) -> Result<Self, WorkError> {
        for (what, value, most) in [
            ("threads", settings.threads, usize::MAX),
            ("width", options.width as usize, 16_384),
            ("height", options.height as usize, 16_384),
            ("samples", options.samples as usize, 100_000),
            ("triangles", options.triangles, 5_000_000),
        ] {
            if value == 0 || value > most {
                return Err(WorkError::Input {
                    what: what.into(),
                    why: format!("{value} is not between 1 and {most}"),
                });
            }
        }
        let whole = |samples, until| Self {
            width: options.width as usize,
            height: options.height as usize,
            samples,
            seed: settings.seed,
            until,
        };
        match settings.size {
            WorkloadSize::Time(time) => Ok(whole(1, Some(time))),
            WorkloadSize::Share(share) if share > 0.0 && share <= MOST => {
                let samples = share * f64::from(options.samples);
                let side = |side: u32| (f64::from(side) * samples.min(1.0).sqrt()).ceil() as usize;
                let (width, height) = (side(options.width), side(options.height));
                Ok(Self { width, height, ..whole((samples.round() as u32).max(1), None) })
            }
            WorkloadSize::Share(share) => {
                Err(WorkError::Input { what: "size".into(), why: format!("{share} is not above 0 and at most {MOST}") })
            }
        }
    }

    /// Returns the number of paths of all points.
    pub fn samples_of_a_round(&self) -> u64 {
        (self.width * self.height) as u64 * u64::from(self.samples)
    }

    /// Returns the random numbers of a point in a round; they depend on these and the seed alone.
    fn point_random(&self, point: usize, round: u64) -> RandomGenerator {
        let item = (point as u64) << 32 | round;
        RandomGenerator::new(self.seed.wrapping_add(item.wrapping_mul(0xd134_2543_de82_ef95)))
    }

    /// Returns the sum of the light of a point's paths in a round.
    pub fn trace_point(&self, scene: &RenderScene, point: usize, round: u64) -> Vec3A {
        let mut random = self.point_random(point, round);
        (0..self.samples).map(|_| path_radiance(scene, self.camera_ray(point, &mut random), &mut random)).sum()
    }

    /// Returns a ray from the camera through a random place in a point of the picture.
    fn camera_ray(&self, point: usize, random: &mut RandomGenerator) -> RaySegment {
        let ahead = (SUBJECT - CAMERA).normalize();
        let right = ahead.cross(Vec3A::Y).normalize();
        let up = right.cross(ahead);
        let mut within = |at: usize, side: usize| ((at as f64 + random.next_unit()) / side as f64 * 2.0 - 1.0) as f32;
        let (across, down) = (within(point % self.width, self.width), within(point / self.width, self.height));
        let wide = OPENING * self.width as f32 / self.height as f32;
        let direction = (ahead + right * (across * wide) - up * (down * OPENING)).normalize();
        RaySegment { origin: CAMERA, direction, near: 0.0, far: f32::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(size: WorkloadSize) -> Result<RenderPlan, WorkError> {
        RenderPlan::new(&WorkloadSettings { size, ..WorkloadSettings::new(1) }, &RenderOptions::default())
    }

    #[test]
    fn shares_change_the_paths_and_then_the_picture() {
        let shape =
            |share| plan(WorkloadSize::Share(share)).map(|plan| (plan.width, plan.height, plan.samples)).unwrap();
        assert_eq!(shape(1.0), (400, 300, 32));
        assert_eq!(shape(2.5), (400, 300, 80));
        assert_eq!(shape(1.0 / 32.0), (400, 300, 1));
        assert_eq!(shape(1.0 / 128.0), (200, 150, 1));
        assert_eq!(shape(1e-300), (1, 1, 1));
        assert_eq!(plan(WorkloadSize::Time(Duration::ZERO)).unwrap().samples_of_a_round(), 400 * 300);
    }

    #[test]
    fn each_point_has_random_numbers_of_its_own_in_each_round() {
        let plan = plan(WorkloadSize::Share(1.0)).unwrap();
        let pairs = (0..1_000).flat_map(|point| (0..10).map(move |round| (point, round)));
        let first: std::collections::BTreeSet<u64> =
            pairs.map(|(point, round)| plan.point_random(point, round).next_bits()).collect();
        assert_eq!(first.len(), 10_000);
    }

    #[test]
    fn what_is_out_of_range_is_told() {
        for share in [0.0, -1.0, f64::NAN, f64::INFINITY, 1_001.0] {
            assert!(matches!(plan(WorkloadSize::Share(share)), Err(WorkError::Input { .. })), "{share}");
        }
        let usual = RenderOptions::default;
        for options in [
            RenderOptions { width: 0, ..usual() },
            RenderOptions { height: 20_000, ..usual() },
            RenderOptions { samples: 0, ..usual() },
            RenderOptions { triangles: 0, ..usual() },
        ] {
            assert!(
                matches!(RenderPlan::new(&WorkloadSettings::new(1), &options), Err(WorkError::Input { .. })),
                "{options:?}"
            );
        }
        assert!(RenderPlan::new(&WorkloadSettings { threads: 0, ..WorkloadSettings::new(1) }, &usual()).is_err());
    }
}
