//! Triangle meshes and the rays that meet them, for the workloads that trace rays.

pub mod exact;
pub mod file;
pub mod hierarchy;
pub mod mesh;
pub mod shapes;

pub use hierarchy::{Hierarchy, Hit};
pub use mesh::Mesh;

use glam::Vec3A;

/// A ray, or the part of one that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Where it begins.
    pub origin: Vec3A,
    /// Its direction, of any length above zero.
    pub direction: Vec3A,
    /// What is nearer than this is not met; in lengths of the direction, as all distances along a ray.
    pub near: f32,
    /// What is not nearer than this is not met.
    pub far: f32,
}
