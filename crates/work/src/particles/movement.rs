//! Six ways to make a random step of length one in three dimensions.
//!
//! The first five draw a direction uniformly on the sphere and stress different parts of a core: sines and cosines, an unpredictable
//! branch, square roots, logarithms. The last walks on the lattice and hardly computes.

use std::f64::consts::TAU;

use corewise_machine::random::RandomGenerator;

/// A way to step, and the walk made of such steps.
#[derive(Clone, Copy)]
pub struct WalkMovement {
    /// First word of its metric.
    pub name: &'static str,
    /// Returns the end of a walk from the origin, given the number of steps.
    pub walk: fn(&mut RandomGenerator, u32) -> [f64; 3],
}

/// All movements, in the order of their metrics.
pub const MOVEMENTS: [WalkMovement; 6] = [
    WalkMovement { name: "trigonometric", walk: |random, steps| walk_steps(random, steps, trigonometric_step) },
    WalkMovement { name: "disc", walk: |random, steps| walk_steps(random, steps, disc_step) },
    WalkMovement { name: "cube", walk: |random, steps| walk_steps(random, steps, cube_step) },
    WalkMovement { name: "normal", walk: |random, steps| walk_steps(random, steps, normal_step) },
    WalkMovement { name: "polar", walk: |random, steps| walk_steps(random, steps, polar_step) },
    WalkMovement { name: "lattice", walk: |random, steps| walk_steps(random, steps, lattice_step) },
];

#[inline(always)]
fn walk_steps(random: &mut RandomGenerator, steps: u32, step: impl Fn(&mut RandomGenerator) -> [f64; 3]) -> [f64; 3] {
    let mut at = [0.0; 3];
    for _ in 0..steps {
        let by = step(random);
        at = [at[0] + by[0], at[1] + by[1], at[2] + by[2]];
    }
    at
}

/// Draws a height and an angle, both uniform: a sphere's surface between two heights is that of its cylinder (Archimedes).
pub fn trigonometric_step(random: &mut RandomGenerator) -> [f64; 3] {
    let (z, angle) = (1.0 - 2.0 * random.next_unit(), TAU * random.next_unit());
    let radius = (1.0 - z * z).sqrt();
    let (sine, cosine) = angle.sin_cos();
    [radius * cosine, radius * sine, z]
}

/// Draws a point in the unit disc by rejection from its square (G. Marsaglia, Choosing a point from the surface of a sphere, Annals of
/// Mathematical Statistics 43, 1972).
pub fn disc_step(random: &mut RandomGenerator) -> [f64; 3] {
    loop {
        let (x, y) = (draw_signed(random), draw_signed(random));
        let squared = x * x + y * y;
        if squared < 1.0 {
            let scale = 2.0 * (1.0 - squared).sqrt();
            return [x * scale, y * scale, 1.0 - 2.0 * squared];
        }
    }
}

/// Draws a point in the unit ball by rejection from its cube, and projects it to the surface. A point too near to the centre has lost its
/// direction to rounding.
pub fn cube_step(random: &mut RandomGenerator) -> [f64; 3] {
    loop {
        let at = [draw_signed(random), draw_signed(random), draw_signed(random)];
        let squared = squared_length(at);
        if (1e-12..1.0).contains(&squared) {
            return scale_vector(at, 1.0 / squared.sqrt());
        }
    }
}

/// Draws three standard normal numbers; their joint density is the same in all directions.
pub fn normal_step(random: &mut RandomGenerator) -> [f64; 3] {
    loop {
        let at = [random.next_normal(), random.next_normal(), random.next_normal()];
        let squared = squared_length(at);
        if squared > 1e-12 {
            return scale_vector(at, 1.0 / squared.sqrt());
        }
    }
}

/// Draws the two angles of polar coordinates, the first by the inverse of its distribution, and computes sine and cosine of both.
pub fn polar_step(random: &mut RandomGenerator) -> [f64; 3] {
    let (down, around) = ((1.0 - 2.0 * random.next_unit()).acos(), TAU * random.next_unit());
    let ((down_sine, down_cosine), (around_sine, around_cosine)) = (down.sin_cos(), around.sin_cos());
    [down_sine * around_cosine, down_sine * around_sine, down_cosine]
}

/// Draws one of the six neighbours on the integer lattice.
pub fn lattice_step(random: &mut RandomGenerator) -> [f64; 3] {
    const NEIGHBOURS: [[f64; 3]; 6] =
        [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]];
    NEIGHBOURS[random.next_below(NEIGHBOURS.len())]
}

/// Draws a number from -1 to 1.
fn draw_signed(random: &mut RandomGenerator) -> f64 {
    2.0 * random.next_unit() - 1.0
}

/// Returns the square of a vector's length.
pub fn squared_length([x, y, z]: [f64; 3]) -> f64 {
    x * x + y * y + z * z
}

fn scale_vector([x, y, z]: [f64; 3], by: f64) -> [f64; 3] {
    [x * by, y * by, z * by]
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 100_000;

    /// Mean squares alone do not tell the sphere from a cube's corners or from the lattice: the fourth power of a coordinate, whose mean
    /// is 1/5 on the sphere with a variance of 1/9 - 1/25, does.
    #[test]
    fn five_draw_from_the_whole_sphere_evenly() {
        let tolerance = 6.0 * ((1.0 / 9.0 - 1.0 / 25.0) / f64::from(DRAWS)).sqrt();
        for (name, step) in [
            ("trigonometric", trigonometric_step as fn(&mut RandomGenerator) -> [f64; 3]),
            ("disc", disc_step),
            ("cube", cube_step),
            ("normal", normal_step),
            ("polar", polar_step),
        ] {
            let (mut random, mut fourth, mut diagonal) = (RandomGenerator::new(3), [0.0; 3], 0.0);
            for _ in 0..DRAWS {
                let at = step(&mut random);
                assert!((squared_length(at) - 1.0).abs() < 1e-12, "{name}: {at:?}");
                (0..3).for_each(|axis| fourth[axis] += at[axis].powi(4));
                diagonal += (at[0] * at[1]).powi(2);
            }
            for mean in fourth.map(|sum| sum / f64::from(DRAWS)) {
                assert!((mean - 0.2).abs() < tolerance, "{name}: {fourth:?}");
            }
            // The mean of x²y² is 1/15, its variance below 1/100.
            let mean: f64 = diagonal / f64::from(DRAWS);
            assert!((mean - 1.0 / 15.0).abs() < 0.6 / f64::from(DRAWS).sqrt(), "{name}: {mean}");
        }
    }

    #[test]
    fn each_neighbour_of_the_lattice_is_as_likely_as_any() {
        let (mut random, mut seen) = (RandomGenerator::new(3), std::collections::BTreeMap::new());
        for _ in 0..60_000 {
            *seen.entry(lattice_step(&mut random).map(|part| part as i8)).or_insert(0_u32) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|&count| count.abs_diff(10_000) < 600), "{seen:?}");
    }
}
