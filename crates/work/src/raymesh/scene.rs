//! A floor, a mesh over it, and three lights above.

use corewise_model::stats::random::Random;
use glam::Vec3A;

use super::plan::Plan;
use super::table::{Light, Table};
use super::{Mesh, mesh_of};
use crate::Error;
use crate::geometry::{Hierarchy, Mesh as Triangles, Ray};

/// Half the side of the floor; the mesh is two long.
const FLOOR: f32 = 1.5;
/// How far the floor is below the mesh: a ray does not begin in a triangle.
const GAP: f32 = 0.02;
/// Where the lights are.
const LIGHTS: [[f32; 3]; 3] = [[1.6, 3.0, 0.6], [-1.0, 4.0, 1.2], [0.2, 3.5, -1.8]];

/// What rays are traced through.
pub struct Scene {
    /// The triangles.
    pub mesh: Triangles,
    /// Their hierarchy.
    pub hierarchy: Hierarchy,
    /// The height of the floor.
    floor: f32,
}

impl Scene {
    /// The scene of a mesh.
    ///
    /// # Errors
    /// As [`mesh_of`].
    pub fn new(mesh: &Mesh) -> Result<Self, Error> {
        let mesh = mesh_of(mesh)?;
        let (hierarchy, floor) = (Hierarchy::new(&mesh), mesh.bounds()[0].y - GAP);
        Ok(Self { mesh, hierarchy, floor })
    }

    /// The ray from a place on the floor, each coordinate from 0 to 1, to a light.
    fn ray(&self, place: [f32; 2], light: usize) -> Ray {
        let [x, z] = place.map(|at| FLOOR * (2.0 * at - 1.0));
        let origin = Vec3A::new(x, self.floor, z);
        let way = Vec3A::from_array(LIGHTS[light]) - origin;
        Ray { origin, direction: way.normalize(), near: 0.0, far: way.length() }
    }
}

/// The rays of a cell, in their order: from random points within it, that depend on the seed, the table and the cell alone.
pub fn rays(scene: &Scene, plan: &Plan, table: &Table, number: usize, cell: usize) -> impl Iterator<Item = Ray> {
    let item = (number as u64) << 32 | cell as u64;
    let mut random = Random::new(plan.seed.wrapping_add(item.wrapping_mul(0xd134_2543_de82_ef95)));
    let corner = [(cell % table.width()) as f64, (cell / table.width()) as f64];
    let size = [table.width() as f64, table.rows() as f64];
    (0..plan.samples).map(move |_| {
        let place = [0, 1].map(|axis| ((corner[axis] + random.unit()) / size[axis]) as f32);
        scene.ray(place, number)
    })
}

/// How light a cell is.
pub fn trace(scene: &Scene, plan: &Plan, table: &Table, number: usize, cell: usize) -> Light {
    let (mut free, mut way) = (0, 0.0);
    for ray in rays(scene, plan, table, number, cell) {
        let hit = scene.hierarchy.nearest(&ray);
        free += u32::from(hit.is_none());
        way += hit.map_or(ray.far, |hit| hit.distance);
    }
    Light { free, way: way / plan.samples as f32 }
}
