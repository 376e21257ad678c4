//! Reader of mesh files: Wavefront OBJ, and PLY (text and binary).

use std::io::{BufReader, Read as _};
use std::path::Path;

use corewise_sys::input::{InputFile, InputKind};
use glam::Vec3A;
use ply_rs_bw::parser::Parser;
use ply_rs_bw::ply::{Property, PropertyAccess, PropertyAccessResult};

use super::TriangleMesh;
use crate::WorkError;

/// Reads the mesh in a file; the first bytes decide the format. Polygons are split into triangles at their first corner; other contents
/// (normals, colours, materials, lines) are ignored.
///
/// # Errors
/// [`WorkError::Input`] if it cannot be read, has neither format, is damaged, or holds no triangle.
pub fn read_mesh(path: &Path) -> Result<TriangleMesh, WorkError> {
    let wrong = |why: String| WorkError::Input { what: path.display().to_string(), why };
    let open = || InputFile::open(path, InputKind::WorkloadMesh).map_err(|error| wrong(error.to_string()));
    let mut start = Vec::new();
    open()?.take(4).read_to_end(&mut start).map_err(|error| wrong(error.to_string()))?;
    let file = BufReader::new(open()?);
    let mesh = if start.starts_with(b"ply") { read_ply(file) } else { read_obj(file) };
    mesh.map_err(wrong)
}

fn read_obj(mut file: BufReader<InputFile>) -> Result<TriangleMesh, String> {
    let options =
        tobj::LoadOptions { triangulate: true, ignore_points: true, ignore_lines: true, ..Default::default() };
    // Materials are not needed, so they are not read.
    let read = tobj::load_obj_buf(&mut file, &options, |_| Err(tobj::LoadError::OpenFileFailed));
    let (models, _) = read.map_err(|error| format!("as an OBJ file: {error}"))?;
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    for model in models {
        let first = u32::try_from(points.len()).map_err(|_| "it has too many points")?;
        points.extend(model.mesh.positions.chunks_exact(3).map(Vec3A::from_slice));
        triangles.extend(model.mesh.indices.chunks_exact(3).map(|corners| [0, 1, 2].map(|at| first + corners[at])));
    }
    TriangleMesh::new(points, triangles)
}

fn read_ply(mut file: BufReader<InputFile>) -> Result<TriangleMesh, String> {
    let read = Parser::<PlyElement>::new().read_ply(&mut file).map_err(|error| format!("as a PLY file: {error}"))?;
    let elements = |name: &str| read.payload.get(name).map_or(&[][..], Vec::as_slice);
    let points = elements("vertex").iter().map(|vertex| vertex.point).collect();
    let mut triangles = Vec::new();
    for face in elements("face") {
        let corners = face.corners.as_ref().map_err(|value| format!("a face names point {value}"))?;
        let fan = corners.windows(2).skip(1).map(|edge| [corners[0], edge[0], edge[1]]);
        triangles.extend(fan);
    }
    TriangleMesh::new(points, triangles)
}

/// A vertex, a face, or another element of a PLY file. A missing coordinate is NaN, which a mesh refuses.
struct PlyElement {
    point: Vec3A,
    /// Numbers of a face's points, or the first invalid one.
    corners: Result<Vec<u32>, i64>,
}

impl PropertyAccess for PlyElement {
    fn new() -> Self {
        Self { point: Vec3A::NAN, corners: Ok(Vec::new()) }
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        match (name, read_number(&property)) {
            ("x", Some(value)) => self.point.x = value,
            ("y", Some(value)) => self.point.y = value,
            ("z", Some(value)) => self.point.z = value,
            ("vertex_indices" | "vertex_index", None) => self.corners = read_corners(property),
            _ => return PropertyAccessResult::Ignored,
        }
        PropertyAccessResult::Set
    }
}

fn read_number(property: &Property) -> Option<f32> {
    match *property {
        Property::Char(value) => Some(value.into()),
        Property::UChar(value) => Some(value.into()),
        Property::Short(value) => Some(value.into()),
        Property::UShort(value) => Some(value.into()),
        Property::Int(value) => Some(value as f32),
        Property::UInt(value) => Some(value as f32),
        Property::Float(value) => Some(value),
        Property::Double(value) => Some(value as f32),
        _ => None,
    }
}

/// Returns the numbers of a face's points; the error is the first invalid one.
fn read_corners(property: Property) -> Result<Vec<u32>, i64> {
    fn to_corners<T: Into<i64>>(values: Vec<T>) -> Result<Vec<u32>, i64> {
        values.into_iter().map(|value| value.into()).map(|value| u32::try_from(value).map_err(|_| value)).collect()
    }
    match property {
        Property::ListChar(values) => to_corners(values),
        Property::ListUChar(values) => to_corners(values),
        Property::ListShort(values) => to_corners(values),
        Property::ListUShort(values) => to_corners(values),
        Property::ListInt(values) => to_corners(values),
        Property::ListUInt(values) => Ok(values),
        _ => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests;
