//! Distance of each bright pixel from the dark ones.

use super::planes::{ImagePlanes, TeamMember};
use crate::WorkError;

/// The squared distance if nothing is dark.
pub const NEVER: u32 = u32::MAX;

/// Computes the exact squared Euclidean distance between the centres of each pixel and the nearest dark one. Along rows it walks forth and
/// back; along columns it uses the lower envelope of parabolas in integers (P. Felzenszwalb and D. Huttenlocher, Distance Transforms of
/// Sampled Functions, 2012). A member transposes columns to rows, and back.
pub fn transform_distances(member: &TeamMember<'_>, planes: &ImagePlanes) -> Result<(), WorkError> {
    let dark = planes.darkest_bright();
    {
        let source = planes.source.read_around(member.band, 0);
        let mut squares = planes.squares.write_band(member.band);
        for (y, row) in planes.source.band_rows(member.band).zip(squares.chunks_exact_mut(planes.source.width())) {
            member.check_stop()?;
            along_row(source.row_at(y), dark, row);
        }
    }
    member.meet_others()?;
    {
        let height = planes.turned_squares.width();
        let mut columns = planes.turned_squares.write_band(member.band);
        planes.squares.read_all().turn_columns(planes.turned_squares.band_rows(member.band), &mut columns);
        let mut envelope = LowerEnvelope::new(height);
        for column in columns.chunks_exact_mut(height) {
            member.check_stop()?;
            envelope.transform_row(column);
        }
    }
    member.meet_others()?;
    let mut distances = planes.distances.write_band(member.band);
    planes.turned_squares.read_all().turn_columns(planes.distances.band_rows(member.band), &mut distances);
    Ok(())
}

/// Computes the squared distance of each pixel to the nearest one of the row that is darker than `bright`.
fn along_row(pixels: &[u8], bright: u16, squares: &mut [u32]) {
    let mut distance = NEVER;
    for (square, &pixel) in squares.iter_mut().zip(pixels) {
        distance = if u16::from(pixel) < bright { 0 } else { distance.saturating_add(1) };
        *square = distance;
    }
    distance = NEVER;
    for square in squares.iter_mut().rev() {
        distance = distance.saturating_add(1).min(*square);
        *square = if distance == NEVER { NEVER } else { distance * distance };
    }
}

/// Lower envelope of parabolas.
struct LowerEnvelope {
    /// Each parabola's position, height, and the first place at which it is the lowest.
    parabolas: Vec<(i64, i64, i64)>,
}

impl LowerEnvelope {
    fn new(length: usize) -> Self {
        Self { parabolas: Vec::with_capacity(length) }
    }

    /// Replaces the values `f` by the minimum of `f(i) + (x - i)^2` over all `i`, for each `x`.
    fn transform_row(&mut self, values: &mut [u32]) {
        self.parabolas.clear();
        let length = values.len() as i64;
        for (place, &height) in (0..length).zip(values.iter()).filter(|(_, height)| **height != NEVER) {
            self.add_parabola(place, i64::from(height), length);
        }
        let mut parabolas = self.parabolas.iter().copied().peekable();
        let Some(mut lowest) = parabolas.next() else { return };
        for (x, value) in (0..length).zip(values) {
            while let Some(next) = parabolas.next_if(|(_, _, from)| *from <= x) {
                lowest = next;
            }
            *value = ((x - lowest.0) * (x - lowest.0) + lowest.1) as u32;
        }
    }

    /// Adds a parabola to the right of all others.
    fn add_parabola(&mut self, place: i64, height: i64, length: i64) {
        while let Some(&(other, its_height, its_begin)) = self.parabolas.last() {
            let difference = (height + place * place) - (its_height + other * other);
            // The first integer at which the new one is lower.
            let begin = difference.div_euclid(2 * (place - other)) + 1;
            if begin > its_begin {
                if begin < length {
                    self.parabolas.push((place, height, begin));
                }
                return;
            }
            self.parabolas.pop();
        }
        self.parabolas.push((place, height, 0));
    }
}
