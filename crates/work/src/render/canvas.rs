//! A picture to which many threads add light; only one thread at a time works on a point.

use std::sync::atomic::{AtomicU32, Ordering};

use glam::Vec3A;

use crate::picture;

/// Side of the squares that threads take.
const SQUARE: usize = 8;

/// Sums of red, green and blue light for each point, and the number of additions.
#[derive(Debug)]
pub struct LightCanvas {
    width: usize,
    height: usize,
    points: Vec<[AtomicU32; 4]>,
}

impl LightCanvas {
    /// Creates a black picture; both sides are at least one.
    pub fn new(width: usize, height: usize) -> Self {
        let points = std::iter::repeat_with(<[AtomicU32; 4]>::default).take(width * height).collect();
        Self { width, height, points }
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Returns the numbers of the points of a square, counted from the upper left; `None` if there is no such square.
    pub fn square_points(&self, square: usize) -> Option<impl Iterator<Item = usize> + use<>> {
        let (width, height) = (self.width, self.height);
        let across = width.div_ceil(SQUARE);
        let [left, top] = [square % across * SQUARE, square / across * SQUARE];
        let rows = top..height.min(top + SQUARE);
        let columns = left..width.min(left + SQUARE);
        (top < height).then(|| rows.flat_map(move |row| columns.clone().map(move |column| row * width + column)))
    }

    /// Adds light to a point; only one thread at a time does that for a point.
    pub fn add_light(&self, point: usize, light: Vec3A) {
        let [count, ..] = &self.points[point];
        let sum = self.light_at(point) + light;
        for (sum, channel) in sum.to_array().into_iter().zip(&self.points[point][1..]) {
            channel.store(sum.to_bits(), Ordering::Relaxed);
        }
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Returns the sum of a point's light.
    pub fn light_at(&self, point: usize) -> Vec3A {
        let [_, red, green, blue] = &self.points[point];
        Vec3A::from_array([red, green, blue].map(|channel| f32::from_bits(channel.load(Ordering::Relaxed))))
    }

    /// Returns the number of additions to a point.
    pub fn count_at(&self, point: usize) -> u32 {
        self.points[point][0].load(Ordering::Relaxed)
    }

    /// Returns a number that depends on every bit of it.
    pub fn canvas_checksum(&self) -> u64 {
        picture::words_checksum(self.points.iter().flatten().map(|channel| u64::from(channel.load(Ordering::Relaxed))))
    }

    /// Returns red, green and blue of all points for a screen (gamma 2.2), scaled so that the mean is at a quarter of white.
    pub fn to_bytes(&self) -> Vec<u8> {
        let light = || (0..self.len()).map(|point| self.light_at(point));
        let mean = light().map(|light| f64::from(light.element_sum())).sum::<f64>() / (3 * self.len()) as f64;
        let scale = if mean > 0.0 { 0.25 / mean } else { 0.0 };
        let byte = |light: f32| (255.0 * (f64::from(light) * scale).clamp(0.0, 1.0).powf(1.0 / 2.2)).round() as u8;
        light().flat_map(|light| light.to_array().map(byte)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_have_all_points_once() {
        for (width, height) in [(1, 1), (16, 16), (17, 15), (40, 33)] {
            let canvas = LightCanvas::new(width, height);
            let squares = (0..).map_while(|square| canvas.square_points(square));
            let mut points: Vec<usize> = squares.flatten().collect();
            points.sort_unstable();
            assert!(points.into_iter().eq(0..width * height), "{width} x {height}");
        }
    }

    #[test]
    fn light_adds_up_and_shows() {
        let canvas = LightCanvas::new(2, 1);
        canvas.add_light(1, Vec3A::new(1.0, 2.0, 3.0));
        let before = canvas.canvas_checksum();
        canvas.add_light(1, Vec3A::new(1.0, 0.0, 3.0));
        assert_eq!((canvas.light_at(1), canvas.count_at(1), canvas.count_at(0)), (Vec3A::new(2.0, 2.0, 6.0), 2, 0));
        assert_ne!(canvas.canvas_checksum(), before);
        let bytes = canvas.to_bytes();
        assert_eq!(bytes[..3], [0, 0, 0]);
        assert!(bytes[3] == bytes[4] && bytes[3] < bytes[5] && bytes[3] > 0, "{bytes:?}");
    }
}
