use proptest::prelude::*;

use super::*;
use crate::geometry::{BoxHierarchy, shapes};
use corewise_machine::random::RandomGenerator;

fn ray(origin: [f32; 3], towards: [f32; 3]) -> RaySegment {
    let (origin, towards) = (Vec3A::from_array(origin), Vec3A::from_array(towards));
    RaySegment { origin, direction: (towards - origin).normalize(), near: 0.0, far: f32::INFINITY }
}

fn soup(triangles: &[[[f32; 3]; 3]]) -> TriangleMesh {
    let points = triangles.iter().flatten().copied().map(Vec3A::from_array).collect();
    TriangleMesh::new(
        points,
        (0..triangles.len() as u32).map(|number| [0, 1, 2].map(|corner| 3 * number + corner)).collect(),
    )
    .unwrap()
}

#[test]
fn one_triangle_is_met_where_it_is() {
    let mesh = soup(&[[[0.0, 0.0, 2.0], [4.0, 0.0, 2.0], [0.0, 4.0, 2.0]]]);
    let answer = nearest_exact(&mesh, &ray([1.0, 1.0, 0.0], [1.0, 1.0, 1.0]));
    assert_eq!((answer.surely, answer.is_certain()), (Some(2.0), true));
    assert!(
        answer.allows_distance(Some(2.0001)) && !answer.allows_distance(Some(2.001)) && !answer.allows_distance(None)
    );
    let past = nearest_exact(&mesh, &ray([5.0, 5.0, 0.0], [5.0, 5.0, 1.0]));
    assert!(past.allows_distance(None) && !past.allows_distance(Some(2.0)));
    let edge = nearest_exact(&mesh, &ray([2.0, 2.0, 0.0], [2.0, 2.0, 1.0]));
    assert!(
        !edge.is_certain()
            && edge.allows_distance(None)
            && edge.allows_distance(Some(2.0))
            && !edge.allows_distance(Some(3.0))
    );
    let away = nearest_exact(&mesh, &ray([1.0, 1.0, 0.0], [1.0, 1.0, -1.0]));
    assert_eq!(away, ExactAnswer::default());
    let short = RaySegment { far: 1.0, ..ray([1.0, 1.0, 0.0], [1.0, 1.0, 1.0]) };
    assert_eq!(nearest_exact(&mesh, &short), ExactAnswer::default());
}

#[test]
fn rays_along_a_triangle_have_no_certain_answer() {
    let mesh = soup(&[[[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]]]);
    assert!(nearest_exact(&mesh, &ray([-1.0, 1.0, 0.0], [1.0, 1.0, 0.0])).allows_distance(None));
}

fn point(size: f32) -> impl Strategy<Value = [f32; 3]> {
    prop::array::uniform3(-size..size)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn the_hierarchy_says_what_all_triangles_say(
        triangles in prop::collection::vec((point(1.0), point(0.4), point(0.4)), 1..200),
        rays in prop::collection::vec((point(2.0), point(1.0)), 1..40),
    ) {
        let add = |a: [f32; 3], b: [f32; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
        let triangles: Vec<_> = triangles.into_iter().map(|(a, b, c)| [a, add(a, b), add(a, c)]).collect();
        let mesh = soup(&triangles);
        let hierarchy = BoxHierarchy::new(&mesh);
        for (origin, towards) in rays {
            let ray = ray(origin, towards);
            let (hit, answer) = (hierarchy.nearest_hit(&ray), nearest_exact(&mesh, &ray));
            prop_assert!(answer.allows_distance(hit.map(|hit| hit.distance)), "{hit:?} {answer:?}");
            prop_assert_eq!(hierarchy.is_free(&ray), hit.is_none());
            if let Some(hit) = hit {
                let itself = soup(&[triangles[hit.triangle as usize]]);
                prop_assert!(nearest_exact(&itself, &ray).allows_distance(Some(hit.distance)), "it is the triangle that it names");
            }
        }
    }

    #[test]
    fn flat_and_equal_triangles_are_met_too(
        triangles in prop::collection::vec((0..6_u8, 0..6_u8, 0..3_u8), 1..60),
        rays in prop::collection::vec((0..600_u16, 0..600_u16), 1..40),
    ) {
        // Right triangles in a few planes that are parallel to two axes, many of them the same.
        let corner = |x: u8, y: u8, z: u8| [f32::from(x), f32::from(y), f32::from(z)];
        let right = |(x, y, z): (u8, u8, u8)| [corner(x, y, z), corner(x + 1, y, z), corner(x, y + 1, z)];
        let mesh = soup(&triangles.into_iter().map(right).collect::<Vec<_>>());
        let hierarchy = BoxHierarchy::new(&mesh);
        for (x, y) in rays {
            let (x, y) = (f32::from(x) / 100.0 + 0.003, f32::from(y) / 100.0 + 0.002);
            let ray = ray([x, y, -1.0], [x, y, 0.0]);
            let (hit, answer) = (hierarchy.nearest_hit(&ray), nearest_exact(&mesh, &ray));
            prop_assert!(answer.allows_distance(hit.map(|hit| hit.distance)), "{hit:?} {answer:?}");
        }
    }
}

/// The distance to a sphere of radius one around zero, from outside of it.
fn to_sphere(ray: &RaySegment) -> Option<f64> {
    let (origin, direction) = (ray.origin.as_dvec3(), ray.direction.as_dvec3());
    let (half, rest) = (origin.dot(direction), origin.dot(origin) - 1.0);
    let square = half * half - rest;
    (square >= 0.0 && half < 0.0).then(|| -half - square.sqrt())
}

#[test]
fn a_mesh_of_a_sphere_is_met_where_the_sphere_is() {
    let hierarchy = BoxHierarchy::new(&shapes::make_sphere(200));
    let mut random = RandomGenerator::new(3);
    let mut met = 0;
    for _ in 0..20_000 {
        let mut inside = || loop {
            let point = [(); 3].map(|()| random.next_unit() as f32 * 2.0 - 1.0);
            if Vec3A::from_array(point).length() < 0.95 {
                return point;
            }
        };
        let (outside, towards) = (Vec3A::from_array(inside()).normalize() * 3.0, inside());
        let ray = ray(outside.to_array(), towards);
        let (hit, exact) = (hierarchy.nearest_hit(&ray), to_sphere(&ray));
        // The mesh is inside of the sphere, by at most 1 - cos(PI / 400) twice over; steeper rays see it magnified.
        let (hit, exact) = (f64::from(hit.unwrap().distance), exact.unwrap());
        assert!(hit >= exact - 1e-5 && hit <= exact + 3e-4, "{hit} {exact}");
        met += 1;
    }
    assert_eq!(met, 20_000);
    let past = ray([0.0, 1.001, 3.0], [0.0, 1.001, 0.0]);
    assert!(hierarchy.nearest_hit(&past).is_none() && to_sphere(&past).is_none());
}
