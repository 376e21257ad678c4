//! A floor, a mesh over it, and three lights above.

use corewise_machine::random::RandomGenerator;
use glam::Vec3A;

use super::plan::RaymeshPlan;
use super::table::{CellLight, LightTable};
use super::{MeshSource, build_mesh};
use crate::WorkError;
use crate::geometry::{BoxHierarchy, RaySegment, TriangleMesh as Triangles};

/// Half the side of the floor; the mesh is two long.
const FLOOR: f32 = 1.5;
/// Distance of the floor below the mesh, so that no ray begins in a triangle.
const GAP: f32 = 0.02;
/// Positions of the lights.
const LIGHTS: [[f32; 3]; 3] = [[1.6, 3.0, 0.6], [-1.0, 4.0, 1.2], [0.2, 3.5, -1.8]];

/// The scene of a table.
pub struct RaymeshScene {
    /// The triangles.
    pub mesh: Triangles,
    /// Their hierarchy.
    pub hierarchy: BoxHierarchy,
    /// Height of the floor.
    floor: f32,
}

impl RaymeshScene {
    /// Builds the scene of a mesh.
    ///
    /// # Errors
    /// As [`build_mesh`].
    pub fn new(mesh: &MeshSource) -> Result<Self, WorkError> {
        let mesh = build_mesh(mesh)?;
        let (hierarchy, floor) = (BoxHierarchy::new(&mesh), mesh.bounding_box()[0].y - GAP);
        Ok(Self { mesh, hierarchy, floor })
    }
}

/// Returns the rays of a cell in order: from random points within it to the light of its table, which they reach at a distance of one. The
/// points depend on the seed, the table and the cell alone.
#[inline]
pub fn cell_rays(
    scene: &RaymeshScene,
    plan: &RaymeshPlan,
    table: &LightTable,
    number: usize,
    cell: usize,
) -> impl Iterator<Item = RaySegment> {
    let item = (number as u64) << 32 | cell as u64;
    let mut random = RandomGenerator::new(plan.seed.wrapping_add(item.wrapping_mul(0xd134_2543_de82_ef95)));
    let size = [table.width(), table.row_count()].map(|side| 2.0 * FLOOR / side as f32);
    let corner = [cell % table.width(), cell / table.width()];
    let [x, z] = [0, 1].map(|axis| corner[axis] as f32 * size[axis] - FLOOR);
    let (floor, light) = (scene.floor, Vec3A::from_array(LIGHTS[number]));
    (0..plan.samples).map(move |_| {
        let bits = random.next_bits();
        // Single precision holds only the upper 24 bits of each half.
        let [right, down] = [bits >> 40, bits >> 8 & 0xff_ffff].map(|bits| bits as u32 as f32 / (1 << 24) as f32);
        let origin = Vec3A::new(x + right * size[0], floor, z + down * size[1]);
        RaySegment { origin, direction: light - origin, near: 0.0, far: 1.0 }
    })
}

/// Computes the light of a cell.
#[inline]
pub fn trace_cell(
    scene: &RaymeshScene,
    plan: &RaymeshPlan,
    table: &LightTable,
    number: usize,
    cell: usize,
) -> CellLight {
    let (mut free, mut way) = (0, 0.0);
    for ray in cell_rays(scene, plan, table, number, cell) {
        let met = scene.hierarchy.nearest_distance(&ray);
        free += u32::from(met.is_none());
        way += met.unwrap_or(ray.far) * ray.direction.length();
    }
    CellLight { free, way: way / plan.samples as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{WorkloadSettings, WorkloadSize};

    #[test]
    fn rays_begin_at_random_in_their_cell_and_end_at_their_light() {
        let scene = RaymeshScene::new(&MeshSource::Procedural { triangles: 500 }).unwrap();
        let plan =
            RaymeshPlan::new(&WorkloadSettings { size: WorkloadSize::Share(1.0), ..WorkloadSettings::new(1) }).unwrap();
        let (table, side) = (LightTable::new(9), 2.0 * FLOOR / 3.0);
        let mut begins = std::collections::BTreeSet::new();
        for (number, cell) in (0..3).flat_map(|number| (0..9).map(move |cell| (number, cell))) {
            let corner = Vec3A::new((cell % 3) as f32, 0.0, (cell / 3) as f32) * side - Vec3A::new(FLOOR, 0.0, FLOOR);
            for ray in cell_rays(&scene, &plan, &table, number, cell) {
                let within = (ray.origin - corner) / side;
                assert!((-1e-6..=1.000_001).contains(&within.x) && (-1e-6..=1.000_001).contains(&within.z), "{within}");
                assert!((ray.origin + ray.direction).distance(Vec3A::from_array(LIGHTS[number])) < 1e-5);
                begins.insert([within.x, within.z].map(|at| (at * 1e4) as i32));
            }
        }
        // A few of them are the same by chance.
        assert!(begins.len() > 27 * plan.samples as usize - 5, "{}", begins.len());
    }
}
