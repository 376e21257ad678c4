//! The bounding-volume hierarchy over a mesh: which of its triangles a ray meets first, without asking all.

use std::time::Duration;

use glam::Vec3A;
use obvhs::BvhBuildParams;
use obvhs::bvh2::Bvh2;
use obvhs::bvh2::builder::build_bvh2_from_tris;
use obvhs::ray::{INVALID_ID, RayHit};
use obvhs::rt_triangle::RtTriangle;
use obvhs::triangle::Triangle;

use super::{Mesh, Ray};

/// Where a ray meets a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The number of the triangle in its mesh.
    pub triangle: u32,
    /// How far from the ray's origin, in lengths of its direction.
    pub distance: f32,
    /// Where the hierarchy has the triangle.
    leaf: u32,
}

/// A hierarchy of boxes, two in each, made by the crate obvhs, and the triangles of its leaves in the order in which a ray comes to them. It is only
/// read after it was made, by any number of threads.
#[derive(Clone)]
pub struct Hierarchy {
    boxes: Bvh2,
    triangles: Vec<RtTriangle>,
}

impl Hierarchy {
    /// The hierarchy of a mesh; the same for the same mesh.
    pub fn new(mesh: &Mesh) -> Self {
        let corners: Vec<Triangle> = mesh.all_corners().map(|[v0, v1, v2]| Triangle { v0, v1, v2 }).collect();
        let boxes = build_bvh2_from_tris(&corners, BvhBuildParams::medium_build(), &mut Duration::default());
        let triangles = boxes.primitive_indices.iter().map(|number| (&corners[*number as usize]).into()).collect();
        Self { boxes, triangles }
    }

    /// The triangle that a ray meets first, from either side.
    #[inline]
    pub fn nearest(&self, ray: &Ray) -> Option<Hit> {
        let hit = self.traverse(ray);
        let leaf = hit.primitive_id;
        let triangle = *self.boxes.primitive_indices.get(leaf as usize).filter(|_| leaf != INVALID_ID)?;
        Some(Hit { triangle, distance: hit.t, leaf })
    }

    /// How far a ray goes until it meets a triangle; absent where it meets none. It is [`Hierarchy::nearest`] without the look-up of which triangle it is.
    #[inline]
    pub fn distance(&self, ray: &Ray) -> Option<f32> {
        let hit = self.traverse(ray);
        (hit.primitive_id != INVALID_ID).then_some(hit.t)
    }

    #[inline]
    fn traverse(&self, ray: &Ray) -> RayHit {
        let mut hit = RayHit::none();
        let triangles = self.triangles.as_slice();
        self.boxes.ray_traverse(inner(ray), &mut hit, |ray, leaf| triangles[leaf].intersect(ray));
        hit
    }

    /// Whether a ray meets no triangle; no more of them are asked than it takes.
    #[inline]
    pub fn is_free(&self, ray: &Ray) -> bool {
        let triangles = self.triangles.as_slice();
        self.boxes.ray_traverse_miss(inner(ray), |ray, leaf| triangles[leaf].intersect(ray))
    }

    /// The direction across the triangle of a hit, of length one; it may point to either side. Zero for a triangle without area.
    #[inline]
    pub fn normal(&self, hit: &Hit) -> Vec3A {
        self.triangles[hit.leaf as usize].compute_normal()
    }

    /// The same again in memory that nobody has touched before the calling thread, so that it is where that thread's memory policy puts it.
    #[must_use]
    pub fn copied(&self) -> Self {
        let boxes = Bvh2 {
            nodes: fresh(&self.boxes.nodes),
            primitive_indices: fresh(&self.boxes.primitive_indices),
            max_depth: self.boxes.max_depth,
            ..Bvh2::default()
        };
        Self { boxes, triangles: fresh(&self.triangles) }
    }

    /// The memory that tracing a ray reads, in bytes.
    pub fn bytes(&self) -> usize {
        let Self { boxes, triangles } = self;
        size_of_val(&boxes.nodes[..]) + size_of_val(&boxes.primitive_indices[..]) + size_of_val(&triangles[..])
    }
}

/// A copy in pages that come fresh from the kernel. An allocator may give memory out again that another thread has touched, on another node; what is
/// larger than 32 MiB it always maps anew (mallopt(3) on M_MMAP_THRESHOLD), and what of that is not written takes no memory.
pub fn fresh<T: Copy>(items: &[T]) -> Vec<T> {
    const MAPPED_BYTES: usize = (32 << 20) + 4096;
    let mut copy = Vec::with_capacity(items.len().max(MAPPED_BYTES / size_of::<T>().max(1)));
    copy.extend_from_slice(items);
    copy
}

#[inline]
fn inner(ray: &Ray) -> obvhs::ray::Ray {
    obvhs::ray::Ray::new(ray.origin, ray.direction, ray.near, ray.far)
}
