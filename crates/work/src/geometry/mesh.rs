//! A triangle mesh.

use glam::Vec3A;

/// Maximum triangles of a mesh: its hierarchy takes about 200 bytes for each.
pub const MOST_TRIANGLES: usize = 10_000_000;

/// Points, and triangles between them; at least one triangle, all numbers finite.
#[derive(Clone, Debug, PartialEq)]
pub struct TriangleMesh {
    points: Vec<Vec3A>,
    triangles: Vec<[u32; 3]>,
}

impl TriangleMesh {
    /// Creates a mesh of triangles that name points by their numbers from zero.
    ///
    /// # Errors
    /// In words: if there is no triangle, or too many; if a point does not exist; if a coordinate is not finite or above 1e15.
    pub fn new(points: Vec<Vec3A>, triangles: Vec<[u32; 3]>) -> Result<Self, String> {
        if triangles.is_empty() {
            return Err("it contains no triangle".into());
        }
        if triangles.len() > MOST_TRIANGLES {
            return Err(format!("it has {} triangles, and at most {MOST_TRIANGLES} are supported", triangles.len()));
        }
        if let Some(corner) = triangles.iter().flatten().find(|corner| **corner as usize >= points.len()) {
            return Err(format!("a triangle names point {corner}, and the last is {}", points.len() as i64 - 1));
        }
        if let Some(point) = points.iter().find(|point| !point.is_finite() || point.abs().max_element() > 1e15) {
            return Err(format!("a point is at {point}"));
        }
        Ok(Self { points, triangles })
    }

    /// Returns the number of triangles.
    pub fn len(&self) -> usize {
        self.triangles.len()
    }

    /// Returns false: a mesh has at least one triangle.
    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }

    /// Returns the corners of a triangle by its number.
    ///
    /// # Panics
    /// If the number is not below [`TriangleMesh::len`].
    pub fn triangle_corners(&self, triangle: usize) -> [Vec3A; 3] {
        self.triangles[triangle].map(|point| self.points[point as usize])
    }

    /// Iterates over the corners of all triangles, in order of their numbers.
    pub fn all_corners(&self) -> impl Iterator<Item = [Vec3A; 3]> + '_ {
        (0..self.len()).map(|triangle| self.triangle_corners(triangle))
    }

    /// Returns the lowest and the highest coordinates of its triangles.
    pub fn bounding_box(&self) -> [Vec3A; 2] {
        let start = [Vec3A::splat(f32::INFINITY), Vec3A::splat(f32::NEG_INFINITY)];
        self.all_corners().flatten().fold(start, |[low, high], point| [low.min(point), high.max(point)])
    }

    /// Moves and scales it so that its longest side is from -1 to 1 and the centre of its box at zero. A shape without extent is only
    /// moved.
    #[must_use]
    pub fn fit_to_unit(mut self) -> Self {
        let [low, high] = self.bounding_box();
        let (middle, half) = ((low + high) * 0.5, (high - low).max_element() * 0.5);
        let scale = if half > f32::MIN_POSITIVE { 1.0 / half } else { 1.0 };
        for point in &mut self.points {
            *point = (*point - middle) * scale;
        }
        self
    }

    /// Appends another mesh's triangles.
    pub fn append_mesh(&mut self, other: &Self) {
        let first = self.points.len() as u32;
        self.points.extend(&other.points);
        self.triangles.extend(other.triangles.iter().map(|corners| corners.map(|point| point + first)));
    }

    /// Maps each point.
    #[must_use]
    pub fn map_points(mut self, to: impl Fn(Vec3A) -> Vec3A) -> Self {
        for point in &mut self.points {
            *point = to(*point);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(coordinates: &[[f32; 3]]) -> Vec<Vec3A> {
        coordinates.iter().copied().map(Vec3A::from_array).collect()
    }

    #[test]
    fn what_is_no_mesh_is_told() {
        let three = || points(&[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
        let error = |points, triangles| TriangleMesh::new(points, triangles).unwrap_err();
        assert_eq!(error(three(), vec![]), "it contains no triangle");
        assert_eq!(error(three(), vec![[0, 1, 3]]), "a triangle names point 3, and the last is 2");
        assert_eq!(error(vec![], vec![[0, 0, 0]]), "a triangle names point 0, and the last is -1");
        for bad in [f32::NAN, f32::INFINITY, -1e30] {
            let mut points = three();
            points[1].y = bad;
            assert!(error(points, vec![[0, 1, 2]]).starts_with("a point is at ["));
        }
    }

    #[test]
    fn a_fitted_mesh_fills_its_box_and_one_without_extent_stays_finite() {
        let mesh =
            TriangleMesh::new(points(&[[5.0, 5.0, 5.0], [9.0, 5.0, 6.0], [5.0, 7.0, 5.0]]), vec![[0, 1, 2]]).unwrap();
        let [low, high] = mesh.fit_to_unit().bounding_box();
        assert_eq!((low, high), (Vec3A::new(-1.0, -0.5, -0.25), Vec3A::new(1.0, 0.5, 0.25)));
        let dot = TriangleMesh::new(points(&[[5.0; 3]]), vec![[0, 0, 0]]).unwrap().fit_to_unit();
        assert_eq!(dot.bounding_box(), [Vec3A::ZERO; 2]);
    }
}
