//! Triangle meshes and ray intersection, for the workloads that trace rays.

pub mod exact;
pub mod file;
pub mod hierarchy;
pub mod mesh;
pub mod shapes;

pub use hierarchy::{BoxHierarchy, MeshHit};
pub use mesh::TriangleMesh;

use glam::Vec3A;

/// A ray, or a segment of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RaySegment {
    /// Origin.
    pub origin: Vec3A,
    /// Direction, of any length above zero.
    pub direction: Vec3A,
    /// Least distance of a hit, in lengths of the direction, as all distances along a ray.
    pub near: f32,
    /// Distance from which hits are ignored.
    pub far: f32,
}
