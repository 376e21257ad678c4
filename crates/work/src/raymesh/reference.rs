//! The hierarchy's crate on its own, to measure the overhead of this workload.

use std::hint::black_box;
use std::time::{Duration, Instant};

use obvhs::BvhBuildParams;
use obvhs::bvh2::builder::build_bvh2_from_tris;
use obvhs::ray::{Ray, RayHit};
use obvhs::rt_triangle::RtTriangle;
use obvhs::triangle::Triangle;

use super::plan::RaymeshPlan;
use super::scene::{RaymeshScene, cell_rays};
use super::table::LightTable;
use super::{RaymeshOptions, TESTS, build_mesh};
use crate::{WorkError, WorkloadSettings};

/// Rays of a workload, and the crate's own hierarchy of its mesh.
pub struct ReferenceMesh {
    rays: Vec<Ray>,
    hierarchy: obvhs::bvh2::Bvh2,
    triangles: Vec<RtTriangle>,
}

impl ReferenceMesh {
    /// Builds the rays of [`super::run`], in its order. It takes all of them if they are at most one pass ([`super::TESTS`]). Otherwise it
    /// takes whole rows at equal distances, about as many rays as in a pass; 80 MB at most.
    ///
    /// # Errors
    /// As [`super::run`] for its input.
    pub fn new(settings: &WorkloadSettings, options: &RaymeshOptions) -> Result<Self, WorkError> {
        let plan = RaymeshPlan::new(settings)?;
        let apart = plan.ray_count().div_ceil(TESTS) as usize;
        let scene = RaymeshScene::new(&options.mesh)?;
        let inner = |ray: crate::geometry::RaySegment| Ray::new(ray.origin, ray.direction, ray.near, ray.far);
        let mut all = Vec::new();
        for (number, cells) in plan.cells.into_iter().enumerate() {
            let table = LightTable::new(cells);
            let rows = (apart / 2..table.row_count()).step_by(apart);
            let cells = rows.flat_map(|row| table.row_cells(row));
            all.extend(cells.flat_map(|cell| cell_rays(&scene, &plan, &table, number, cell).map(inner)));
        }
        let mesh = build_mesh(&options.mesh)?;
        let corners: Vec<Triangle> = mesh.all_corners().map(|[v0, v1, v2]| Triangle { v0, v1, v2 }).collect();
        let hierarchy = build_bvh2_from_tris(&corners, BvhBuildParams::medium_build(), &mut Duration::default());
        let triangles = hierarchy.primitive_indices.iter().map(|number| (&corners[*number as usize]).into()).collect();
        Ok(Self { rays: all, hierarchy, triangles })
    }

    /// Traces all rays in a straight loop on the calling thread, as the crate's documentation shows it: no tables, no threads, rays built
    /// before. Returns the rays per second.
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
    use crate::WorkloadSize;
    use crate::raymesh::{MeshSource, PASSES};

    fn rays(share: f64) -> usize {
        let options = RaymeshOptions { mesh: MeshSource::Procedural { triangles: 1_000 }, ..RaymeshOptions::default() };
        let reference = ReferenceMesh::new(
            &WorkloadSettings { size: WorkloadSize::Share(share), ..WorkloadSettings::new(1) },
            &options,
        )
        .unwrap();
        assert!(reference.rays_per_second() > 0.0);
        reference.rays.len()
    }

    #[test]
    fn the_reference_has_the_rays_of_a_pass_or_of_less() {
        assert_eq!(rays(1e-3 / f64::from(PASSES)), 976);
        let rays = rays(1.0) as f64 / TESTS as f64;
        assert!((0.95..1.05).contains(&rays), "{rays}");
    }
}
