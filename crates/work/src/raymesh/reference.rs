//! What the crate of the hierarchy does by itself, to tell what this workload adds to it: for tools that measure.

use std::hint::black_box;
use std::time::{Duration, Instant};

use obvhs::BvhBuildParams;
use obvhs::bvh2::builder::build_bvh2_from_tris;
use obvhs::ray::{Ray, RayHit};
use obvhs::rt_triangle::RtTriangle;
use obvhs::triangle::Triangle;

use super::plan::Plan;
use super::scene::{Scene, rays};
use super::table::Table;
use super::{Options, mesh_of};
use crate::{Error, Settings};

/// The rays of a workload, and the crate's own hierarchy of its mesh.
pub struct Reference {
    rays: Vec<Ray>,
    hierarchy: obvhs::bvh2::Bvh2,
    triangles: Vec<RtTriangle>,
}

impl Reference {
    /// The rays of one test of each cell of what [`super::run`] would compute, in its order; at most one pass of them, 70 MB. They are all the rays of a run
    /// whose share is 1 / [`super::PASSES`] or less: a run with several tests of each cell has neighbouring rays one after the other, which is faster.
    ///
    /// # Errors
    /// As [`super::run`] for what it is given.
    pub fn new(settings: &Settings, options: &Options) -> Result<Self, Error> {
        let plan = Plan { samples: 1, ..Plan::new(settings)? };
        let scene = Scene::new(&options.mesh)?;
        let inner = |ray: crate::geometry::Ray| Ray::new(ray.origin, ray.direction, ray.near, ray.far);
        let mut all = Vec::new();
        for (number, cells) in plan.cells.into_iter().enumerate() {
            let table = Table::new(cells);
            all.extend((0..cells).flat_map(|cell| rays(&scene, &plan, &table, number, cell).map(inner)));
        }
        let mesh = mesh_of(&options.mesh)?;
        let corners: Vec<Triangle> = mesh.all_corners().map(|[v0, v1, v2]| Triangle { v0, v1, v2 }).collect();
        let hierarchy = build_bvh2_from_tris(&corners, BvhBuildParams::medium_build(), &mut Duration::default());
        let triangles = hierarchy.primitive_indices.iter().map(|number| (&corners[*number as usize]).into()).collect();
        Ok(Self { rays: all, hierarchy, triangles })
    }

    /// A straight loop over all rays on the calling thread, as the crate's documentation shows it: no tables, no threads, rays made before. The rays
    /// that it traced in a second.
    pub fn rays_per_second(&self) -> f64 {
        let begun = Instant::now();
        for ray in &self.rays {
            let mut hit = RayHit::none();
            self.hierarchy.ray_traverse(*ray, &mut hit, |ray, leaf| self.triangles[leaf].intersect(ray));
            black_box(hit.t);
        }
        self.rays.len() as f64 / begun.elapsed().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Size;
    use crate::raymesh::{Mesh, PASSES};

    #[test]
    fn the_reference_has_the_rays_of_one_pass() {
        let options = Options { mesh: Mesh::Procedural { triangles: 1_000 }, ..Options::default() };
        let reference =
            Reference::new(&Settings { size: Size::Share(1e-3 / f64::from(PASSES)), ..Settings::new(1) }, &options)
                .unwrap();
        assert_eq!(reference.rays.len(), 976);
        assert!(reference.rays_per_second() > 0.0);
    }
}
