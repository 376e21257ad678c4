use super::*;

fn read_bytes(bytes: &[u8]) -> Result<TriangleMesh, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesh");
    std::fs::write(&path, bytes).unwrap();
    read_mesh(&path).map_err(|error| match error {
        WorkError::Input { what, why } if what == path.display().to_string() => why,
        other => panic!("{other:?}"),
    })
}

/// A square with corners (0, 0, 2), (3, 0, 2), (3, 3, 2), (0, 3, 2).
fn is_square(mesh: &TriangleMesh) {
    assert_eq!(mesh.len(), 2);
    let area: f32 = mesh.all_corners().map(|[a, b, c]| (b - a).cross(c - a).length() / 2.0).sum();
    let middles: Vec<Vec3A> = mesh.all_corners().map(|corners| corners.into_iter().sum::<Vec3A>() / 3.0).collect();
    assert_eq!(middles, [Vec3A::new(2.0, 1.0, 2.0), Vec3A::new(1.0, 2.0, 2.0)]);
    assert_eq!((area, mesh.bounding_box()), (9.0, [Vec3A::new(0.0, 0.0, 2.0), Vec3A::new(3.0, 3.0, 2.0)]));
}

const OBJ: &str = "# a square\nmtllib none.mtl\no square\nv 0 0 2\nv 3 0 2\nv 3 3 2\nv 0 3 2\nusemtl red\nf 1 2 3 4\n";
const PLY: &str = "element vertex 4\nproperty float x\nproperty double y\nproperty int z\nproperty uchar red\n\
    element face 1\nproperty list uchar int vertex_indices\nend_header\n";

fn binary_ply(big: bool) -> Vec<u8> {
    let kind = if big { "big" } else { "little" };
    let mut bytes = format!("ply\nformat binary_{kind}_endian 1.0\n{PLY}").into_bytes();
    let mut put = |value: &[u8]| bytes.extend(value.iter().rev().copied().collect::<Vec<_>>());
    let mut word = |mut value: Vec<u8>| {
        if big {
            value.reverse();
        }
        // `put` turns it around once more.
        value.reverse();
        put(&value);
    };
    for (x, y) in [(0.0_f32, 0.0_f64), (3.0, 0.0), (3.0, 3.0), (0.0, 3.0)] {
        word(x.to_le_bytes().to_vec());
        word(y.to_le_bytes().to_vec());
        word(2_i32.to_le_bytes().to_vec());
        word(vec![255]);
    }
    word(vec![4]);
    for corner in 0..4_i32 {
        word(corner.to_le_bytes().to_vec());
    }
    bytes
}

#[test]
fn the_same_square_is_read_from_all_kinds() {
    is_square(&read_bytes(OBJ.as_bytes()).unwrap());
    let text = format!("ply\nformat ascii 1.0\n{PLY}0 0 2 9\n3 0 2 9\n3 3 2 9\n0 3 2 9\n4 0 1 2 3\n");
    is_square(&read_bytes(text.as_bytes()).unwrap());
    is_square(&read_bytes(&binary_ply(false)).unwrap());
    is_square(&read_bytes(&binary_ply(true)).unwrap());
}

#[test]
fn objects_of_a_file_become_one_mesh() {
    let second = "o other\nv 0 0 7\nv 1 0 7\nv 0 1 7\nf 5 6 7\nf -3 -2 -1\n";
    let mesh = read_bytes(format!("{OBJ}{second}").as_bytes()).unwrap();
    assert_eq!((mesh.len(), mesh.bounding_box()[1].z, mesh.triangle_corners(2)[0].z), (4, 7.0, 7.0));
}

#[test]
fn what_is_no_mesh_is_told_and_nothing_panics() {
    let why = |bytes: &[u8]| read_bytes(bytes).unwrap_err();
    for nothing in [&b""[..], b"\0\xff\xfe", b"v 0 0 0\n", b"hello\n", b"pl"] {
        let _ = why(nothing);
    }
    assert_eq!(why(b"# empty\n"), "it contains no triangle");
    assert!(why(b"v 0 0 0\nf 1 2 9\n").starts_with("as an OBJ file: "));
    assert!(why(b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").starts_with("a point is at ["));
    assert!(why(b"ply\n").starts_with("as a PLY file: "));
    let ply = |rows: &str| why(format!("ply\nformat ascii 1.0\n{PLY}{rows}").as_bytes());
    let points = "0 0 2 9\n3 0 2 9\n3 3 2 9\n0 3 2 9\n";
    assert_eq!(ply(&format!("{points}3 0 1 4\n")), "a triangle names point 4, and the last is 3");
    assert_eq!(ply(&format!("{points}3 0 1 -1\n")), "a face names point -1");
    assert_eq!(ply(&format!("{points}2 0 1\n")), "it contains no triangle");
    assert!(ply("0 0 2 9\n").starts_with("as a PLY file: "));
    let many = "ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty float x\nend_header\n";
    assert!(why(many.as_bytes()).starts_with("as a PLY file: "));
    let flat = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nelement face 1\n\
        property list uchar int vertex_index\nend_header\n0\n3 0 0 0\n";
    assert!(why(flat.as_bytes()).starts_with("a point is at ["), "it has no y");
    let all = binary_ply(false);
    for length in 0..all.len() {
        assert!(read_bytes(&all[..length]).is_err(), "cut after {length} bytes");
    }
}

#[test]
fn a_file_that_is_not_there_and_a_folder_are_told() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("none.obj"), folder.path().to_owned()] {
        assert!(matches!(read_mesh(&path), Err(WorkError::Input { .. })), "{}", path.display());
    }
}
