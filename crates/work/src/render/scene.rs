//! The scene: triangles and balls, their materials, and the sky.

use std::mem::size_of_val;

use glam::Vec3A;

use crate::geometry::hierarchy::copy_fresh;
use crate::geometry::{BoxHierarchy, RaySegment, TriangleMesh, shapes};

/// Optical properties of a surface, for each of red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfaceMaterial {
    /// Share of the light that it reflects, 0 to 1.
    pub albedo: Vec3A,
    /// Radiance that it emits.
    pub emission: Vec3A,
    /// True for a mirror; otherwise it scatters to all sides (Lambert).
    pub is_mirror: bool,
}

impl SurfaceMaterial {
    /// Creates a matt surface.
    pub const fn new_matt(albedo: [f32; 3]) -> Self {
        Self { albedo: Vec3A::from_array(albedo), emission: Vec3A::ZERO, is_mirror: false }
    }

    /// Creates a mirror.
    pub const fn new_mirror(albedo: f32) -> Self {
        Self { albedo: Vec3A::splat(albedo), emission: Vec3A::ZERO, is_mirror: true }
    }

    /// Creates a lamp, which reflects nothing.
    pub const fn new_lamp(emission: [f32; 3]) -> Self {
        Self { albedo: Vec3A::ZERO, emission: Vec3A::from_array(emission), is_mirror: false }
    }
}

/// A perfect ball.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceneBall {
    /// Centre.
    pub middle: Vec3A,
    /// Radius.
    pub radius: f32,
    /// Material.
    pub material: SurfaceMaterial,
}

/// A scene; it is only read after construction.
pub struct RenderScene {
    hierarchy: BoxHierarchy,
    /// Material of each triangle, by its number.
    made_of: Vec<u8>,
    materials: Vec<SurfaceMaterial>,
    balls: Vec<SceneBall>,
    /// Radiance of the sky.
    sky: Vec3A,
}

/// A point at which light hits a surface.
pub struct SurfacePoint {
    /// The point.
    pub point: Vec3A,
    /// Unit normal of the surface, on the side from which the ray came.
    pub normal: Vec3A,
    /// Material of the surface.
    pub material: SurfaceMaterial,
}

impl RenderScene {
    /// Creates a scene of a mesh and balls under a sky of one colour; `made_of` returns the material of each triangle by its number.
    ///
    /// # Panics
    /// If there are more than 256 materials, or a material does not exist.
    pub fn new(
        mesh: &TriangleMesh,
        materials: Vec<SurfaceMaterial>,
        made_of: impl Fn(usize) -> usize,
        balls: Vec<SceneBall>,
        sky: Vec3A,
    ) -> Self {
        let material = |triangle| {
            let material = made_of(triangle);
            assert!(material < materials.len(), "there is no material {material}");
            u8::try_from(material).expect("there are at most 256 materials")
        };
        let made_of = (0..mesh.len()).map(material).collect();
        Self { hierarchy: BoxHierarchy::new(mesh), made_of, materials, balls, sky }
    }

    /// Builds a stone and seven balls in four colours on a ground with waves, of about that many triangles, with two mirrors and a lamp.
    pub fn stone_scene(triangles: usize) -> Self {
        let mut mesh = shapes::stone_and_balls(triangles / 2);
        let stones = mesh.len();
        let floor = mesh.bounding_box()[0].y;
        mesh.append_mesh(&shapes::make_ground(triangles / 2, floor - 0.1, 4.0));
        let materials = vec![
            SurfaceMaterial::new_matt([0.75, 0.65, 0.55]),
            SurfaceMaterial::new_matt([0.65, 0.25, 0.2]),
            SurfaceMaterial::new_matt([0.25, 0.45, 0.65]),
            SurfaceMaterial::new_matt([0.7, 0.7, 0.3]),
            SurfaceMaterial::new_matt([0.6, 0.6, 0.6]),
        ];
        let made_of = move |triangle| match triangle {
            _ if triangle >= stones => 4,
            _ if triangle < stones / 2 => 0,
            _ => 1 + triangle * 14 / stones % 3,
        };
        let ball =
            |middle: [f32; 3], radius, material| SceneBall { middle: Vec3A::from_array(middle), radius, material };
        let balls = vec![
            ball([-1.5, floor + 0.5, -0.9], 0.5, SurfaceMaterial::new_mirror(0.9)),
            ball([1.1, floor + 0.25, 1.0], 0.25, SurfaceMaterial::new_mirror(0.8)),
            ball([2.0, 2.6, 1.0], 1.0, SurfaceMaterial::new_lamp([9.0, 8.0, 6.5])),
        ];
        Self::new(&mesh, materials, made_of, balls, Vec3A::new(0.45, 0.6, 0.85))
    }

    /// Copies it into fresh memory first touched by the calling thread.
    #[must_use]
    pub fn fresh_copy(&self) -> Self {
        Self {
            hierarchy: self.hierarchy.fresh_copy(),
            made_of: copy_fresh(&self.made_of),
            materials: self.materials.clone(),
            balls: self.balls.clone(),
            sky: self.sky,
        }
    }

    /// Returns the size of the memory that tracing reads, in bytes.
    pub fn size_bytes(&self) -> usize {
        self.hierarchy.size_bytes() + size_of_val(&self.made_of[..])
    }

    /// Returns the radiance of the sky.
    pub fn sky(&self) -> Vec3A {
        self.sky
    }

    /// Returns the largest radiance emitted by any surface or the sky.
    pub fn brightest_radiance(&self) -> f32 {
        let surfaces = self.materials.iter().chain(self.balls.iter().map(|ball| &ball.material));
        surfaces.map(|material| material.emission.max_element()).fold(self.sky.max_element(), f32::max)
    }

    /// Returns a ray's first hit on a surface.
    pub fn meet_surface(&self, ray: &RaySegment) -> Option<SurfacePoint> {
        let (ball, far) = self.nearest_ball(ray);
        if let Some(hit) = self.hierarchy.nearest_hit(&RaySegment { far, ..*ray }) {
            let material = self.materials[usize::from(self.made_of[hit.triangle as usize])];
            return Some(surface_point(ray, hit.distance, self.hierarchy.normal_at(&hit), material));
        }
        let ball = ball?;
        let point = ray.origin + ray.direction * far;
        Some(surface_point(ray, far, (point - ball.middle).normalize(), ball.material))
    }

    fn nearest_ball(&self, ray: &RaySegment) -> (Option<&SceneBall>, f32) {
        let mut nearest = (None, ray.far);
        for ball in &self.balls {
            if let Some(distance) = to_ball(ray, ball).filter(|distance| *distance < nearest.1) {
                nearest = (Some(ball), distance);
            }
        }
        nearest
    }
}

fn surface_point(ray: &RaySegment, distance: f32, normal: Vec3A, material: SurfaceMaterial) -> SurfacePoint {
    let normal = if normal.dot(ray.direction) > 0.0 { -normal } else { normal };
    SurfacePoint { point: ray.origin + ray.direction * distance, normal, material }
}

/// Returns the distance to a ball along a ray that begins outside.
fn to_ball(ray: &RaySegment, ball: &SceneBall) -> Option<f32> {
    let from = ray.origin - ball.middle;
    let half = from.dot(ray.direction);
    let square = half * half - from.length_squared() + ball.radius * ball.radius;
    let distance = -half - square.max(0.0).sqrt();
    (square >= 0.0 && distance > ray.near).then_some(distance)
}

/// Builds a horizontal square around the axis at a height, by half its side.
pub fn make_square(height: f32, half: f32) -> TriangleMesh {
    let corners = [[-half, -half], [half, -half], [half, half], [-half, half]];
    let points = corners.map(|[x, z]| Vec3A::new(x, height, z)).to_vec();
    TriangleMesh::new(points, vec![[0, 1, 2], [0, 2, 3]]).expect("a square is a mesh")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn down_from(x: f32) -> RaySegment {
        RaySegment { origin: Vec3A::new(x, 5.0, 0.1), direction: Vec3A::NEG_Y, near: 0.0, far: f32::INFINITY }
    }

    #[test]
    fn the_first_surface_is_met_from_its_outside() {
        let ball =
            SceneBall { middle: Vec3A::new(0.0, 1.0, 0.1), radius: 1.0, material: SurfaceMaterial::new_mirror(0.5) };
        let floor = SurfaceMaterial::new_matt([0.1, 0.2, 0.3]);
        let scene = RenderScene::new(&make_square(0.0, 3.0), vec![floor], |_| 0, vec![ball], Vec3A::ONE);
        let met = scene.meet_surface(&down_from(0.0)).unwrap();
        assert!(met.point.distance(Vec3A::new(0.0, 2.0, 0.1)) < 1e-6 && met.normal.distance(Vec3A::Y) < 1e-6);
        assert!(met.material.is_mirror);
        let met = scene.meet_surface(&down_from(2.0)).unwrap();
        assert_eq!((met.material, met.normal), (floor, Vec3A::Y));
        assert!(scene.meet_surface(&down_from(4.0)).is_none());
        assert_eq!(scene.brightest_radiance(), 1.0);
    }

    #[test]
    fn a_copy_is_the_same_and_as_large() {
        let scene = RenderScene::stone_scene(2_000);
        let copy = scene.fresh_copy();
        assert_eq!((copy.size_bytes(), copy.brightest_radiance(), copy.sky()), (scene.size_bytes(), 9.0, scene.sky()));
        for step in 0..100_u8 {
            let point =
                |scene: &RenderScene| scene.meet_surface(&down_from(f32::from(step) * 0.02 - 1.0)).map(|met| met.point);
            assert_eq!(point(&copy), point(&scene));
        }
    }
}
