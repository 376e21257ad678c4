//! Bounding-volume hierarchy over a mesh: finds the first triangle that a ray hits without testing all.

use std::time::Duration;

use glam::Vec3A;
use obvhs::BvhBuildParams;
use obvhs::bvh2::Bvh2;
use obvhs::bvh2::builder::build_bvh2_from_tris;
use obvhs::ray::{INVALID_ID, RayHit};
use obvhs::rt_triangle::RtTriangle;
use obvhs::triangle::Triangle;

use super::{RaySegment, TriangleMesh};

/// Hit of a ray on a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshHit {
    /// Number of the triangle in its mesh.
    pub triangle: u32,
    /// Distance from the ray's origin, in lengths of its direction.
    pub distance: f32,
    /// Index of the triangle in the hierarchy.
    leaf: u32,
}

/// A binary hierarchy of boxes, built by the crate obvhs, with its triangles in the order of the leaves. After construction any number of
/// threads only read it.
#[derive(Clone)]
pub struct BoxHierarchy {
    boxes: Bvh2,
    triangles: Vec<RtTriangle>,
}

impl BoxHierarchy {
    /// Builds the hierarchy of a mesh; the same for the same mesh.
    pub fn new(mesh: &TriangleMesh) -> Self {
        let corners: Vec<Triangle> = mesh.all_corners().map(|[v0, v1, v2]| Triangle { v0, v1, v2 }).collect();
        let boxes = build_bvh2_from_tris(&corners, BvhBuildParams::medium_build(), &mut Duration::default());
        let triangles = boxes.primitive_indices.iter().map(|number| (&corners[*number as usize]).into()).collect();
        Self { boxes, triangles }
    }

    /// Returns the first triangle that a ray hits, from either side.
    #[inline]
    pub fn nearest_hit(&self, ray: &RaySegment) -> Option<MeshHit> {
        let hit = self.traverse_boxes(ray);
        let leaf = hit.primitive_id;
        let triangle = *self.boxes.primitive_indices.get(leaf as usize).filter(|_| leaf != INVALID_ID)?;
        Some(MeshHit { triangle, distance: hit.t, leaf })
    }

    /// Returns the distance to the first triangle that a ray hits, or `None`. It is [`BoxHierarchy::nearest_hit`] without looking up the triangle.
    #[inline]
    pub fn nearest_distance(&self, ray: &RaySegment) -> Option<f32> {
        let hit = self.traverse_boxes(ray);
        (hit.primitive_id != INVALID_ID).then_some(hit.t)
    }

    #[inline]
    fn traverse_boxes(&self, ray: &RaySegment) -> RayHit {
        let mut hit = RayHit::none();
        let triangles = self.triangles.as_slice();
        self.boxes.ray_traverse(to_obvhs_ray(ray), &mut hit, |ray, leaf| triangles[leaf].intersect(ray));
        hit
    }

    /// Returns true if a ray hits no triangle; stops at the first hit.
    #[inline]
    pub fn is_free(&self, ray: &RaySegment) -> bool {
        let triangles = self.triangles.as_slice();
        self.boxes.ray_traverse_miss(to_obvhs_ray(ray), |ray, leaf| triangles[leaf].intersect(ray))
    }

    /// Returns the unit normal of a hit's triangle, on either side. Zero for a triangle without area.
    #[inline]
    pub fn normal_at(&self, hit: &MeshHit) -> Vec3A {
        self.triangles[hit.leaf as usize].compute_normal()
    }

    /// Copies it into fresh memory first touched by the calling thread, so that the thread's memory policy places it.
    #[must_use]
    pub fn fresh_copy(&self) -> Self {
        let boxes = Bvh2 {
            nodes: copy_fresh(&self.boxes.nodes),
            primitive_indices: copy_fresh(&self.boxes.primitive_indices),
            max_depth: self.boxes.max_depth,
            ..Bvh2::default()
        };
        Self { boxes, triangles: copy_fresh(&self.triangles) }
    }

    /// Returns the size of the memory that tracing reads, in bytes.
    pub fn size_bytes(&self) -> usize {
        let Self { boxes, triangles } = self;
        size_of_val(&boxes.nodes[..]) + size_of_val(&boxes.primitive_indices[..]) + size_of_val(&triangles[..])
    }
}

/// Copies items into fresh pages from the kernel. An allocator may reuse memory that another thread has touched, on another node.
/// Allocations above 32 MiB are always mapped anew (mallopt(3) on M_MMAP_THRESHOLD), and their unwritten part takes no memory.
pub fn copy_fresh<T: Copy>(items: &[T]) -> Vec<T> {
    const MAPPED_BYTES: usize = (32 << 20) + 4096;
    let mut copy = Vec::with_capacity(items.len().max(MAPPED_BYTES / size_of::<T>().max(1)));
    copy.extend_from_slice(items);
    copy
}

#[inline]
fn to_obvhs_ray(ray: &RaySegment) -> obvhs::ray::Ray {
    obvhs::ray::Ray::new(ray.origin, ray.direction, ray.near, ray.far)
}
