//! Neighbourhood filters: blur, gradient, median, erosion and dilation. Outside the image its nearest pixels are repeated.

use super::plane::{BandedPlane, PlaneWindow};
use super::planes::{ImagePlanes, TeamMember};
use crate::WorkError;

/// Standard deviation of the blur, in pixels.
pub const BLUR_SIGMA: f64 = 3.0;
/// Radius of the blur, in pixels: three standard deviations.
pub const BLUR_RADIUS: usize = 9;
/// Radius of erosion and dilation, in pixels; their squares have sides of twice this plus one.
pub const OPENING_RADIUS: usize = 3;

const BLUR_TAPS: usize = 2 * BLUR_RADIUS + 1;

/// Returns a Gaussian scaled to a sum of one.
pub fn blur_kernel() -> [f64; BLUR_TAPS] {
    let weight = |tap: usize| {
        let x = tap as f64 - BLUR_RADIUS as f64;
        (-x * x / (2.0 * BLUR_SIGMA * BLUR_SIGMA)).exp()
    };
    let weights: [f64; BLUR_TAPS] = std::array::from_fn(weight);
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

/// Blurs by a Gaussian, along rows and then along columns.
pub fn blur_band(member: &TeamMember<'_>, planes: &ImagePlanes) -> Result<(), WorkError> {
    let kernel = blur_kernel().map(|weight| weight as f32);
    let mut padded = Vec::new();
    map_rows(member, &planes.source, &planes.between, 0, |source, y, row| {
        pad_row(source.row_at(y), BLUR_RADIUS, f32::from, &mut padded);
        row.fill(0.0);
        for (tap, &weight) in kernel.iter().enumerate() {
            add_weighted(row, &padded[tap..], weight);
        }
    })?;
    member.meet_others()?;
    map_rows(member, &planes.between, &planes.blurred, BLUR_RADIUS, |between, y, row| {
        row.fill(0.0);
        for (tap, &weight) in kernel.iter().enumerate() {
            add_weighted(row, between.clamped_row((y + tap) as isize - BLUR_RADIUS as isize), weight);
        }
    })
}

/// Computes the magnitude of the gradient by Sobel's operator.
pub fn sobel_band(member: &TeamMember<'_>, planes: &ImagePlanes) -> Result<(), WorkError> {
    map_rows(member, &planes.source, &planes.edges, 1, |source, y, row| three_by_three(source, y, row, sobel_gradient))
}

/// Computes the median of 3 times 3 pixels.
pub fn median_band(member: &TeamMember<'_>, planes: &ImagePlanes) -> Result<(), WorkError> {
    map_rows(member, &planes.source, &planes.median, 1, |source, y, row| three_by_three(source, y, row, median_of_nine))
}

/// Erodes by a square, then dilates by it: an opening. Passes along rows are done together with the column pass before.
pub fn open(member: &TeamMember<'_>, planes: &ImagePlanes) -> Result<(), WorkError> {
    let (mut padded, mut least) = (Vec::new(), vec![0; planes.source.width()]);
    map_rows(member, &planes.source, &planes.least, 0, |source, y, row| {
        pad_row(source.row_at(y), OPENING_RADIUS, u8::from, &mut padded);
        along_row(&padded, row, u8::min);
    })?;
    member.meet_others()?;
    map_rows(member, &planes.least, &planes.most, OPENING_RADIUS, |rows, y, row| {
        across_rows(rows, y, &mut least, u8::min);
        pad_row(&least, OPENING_RADIUS, u8::from, &mut padded);
        along_row(&padded, row, u8::max);
    })?;
    member.meet_others()?;
    map_rows(member, &planes.most, &planes.opened, OPENING_RADIUS, |rows, y, row| across_rows(rows, y, row, u8::max))
}

/// Computes each row of a member's band in one plane from surrounding rows of another.
fn map_rows<A: Copy + Default, B: Copy + Default>(
    member: &TeamMember<'_>,
    from: &BandedPlane<A>,
    to: &BandedPlane<B>,
    more: usize,
    mut make: impl FnMut(&PlaneWindow<'_, A>, usize, &mut [B]),
) -> Result<(), WorkError> {
    let source = from.read_around(member.band, more);
    let mut band = to.write_band(member.band);
    for (y, row) in to.band_rows(member.band).zip(band.chunks_exact_mut(to.width())) {
        member.check_stop()?;
        make(&source, y, row);
    }
    Ok(())
}

/// Pads a row with its first and last value on both sides.
fn pad_row<A: Copy, B: Copy>(row: &[A], radius: usize, convert: impl Fn(A) -> B, padded: &mut Vec<B>) {
    padded.clear();
    padded.extend(std::iter::repeat_n(convert(row[0]), radius));
    padded.extend(row.iter().map(|&value| convert(value)));
    padded.extend(std::iter::repeat_n(convert(row[row.len() - 1]), radius));
}

fn add_weighted(sum: &mut [f32], values: &[f32], weight: f32) {
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum += weight * value;
    }
}

fn fold_row(row: &mut [u8], values: &[u8], choose: impl Fn(u8, u8) -> u8) {
    for (chosen, &value) in row.iter_mut().zip(values) {
        *chosen = choose(*chosen, value);
    }
}

fn along_row(padded: &[u8], row: &mut [u8], choose: impl Fn(u8, u8) -> u8) {
    row.copy_from_slice(&padded[..row.len()]);
    (1..=2 * OPENING_RADIUS).for_each(|tap| fold_row(row, &padded[tap..], &choose));
}

fn across_rows(rows: &PlaneWindow<'_, u8>, y: usize, row: &mut [u8], choose: impl Fn(u8, u8) -> u8) {
    let first = y as isize - OPENING_RADIUS as isize;
    row.copy_from_slice(rows.clamped_row(first));
    (1..=2 * OPENING_RADIUS).for_each(|tap| fold_row(row, rows.clamped_row(first + tap as isize), &choose));
}

/// Computes a row from the 3 times 3 pixels around each of its pixels, row by row.
fn three_by_three<T>(source: &PlaneWindow<'_, u8>, y: usize, row: &mut [T], find: impl Fn([u8; 9]) -> T) {
    let rows = [-1, 0, 1].map(|away| source.clamped_row(y as isize + away));
    let width = row.len();
    for x in [0, width - 1] {
        let columns = [x.saturating_sub(1), x, (x + 1).min(width - 1)];
        row[x] = find(std::array::from_fn(|place| rows[place / 3][columns[place % 3]]));
    }
    if width > 2 {
        let [a, b, c] = rows.map(|row| [&row[..width - 2], &row[1..width - 1], &row[2..width]]);
        for (x, found) in row[1..width - 1].iter_mut().enumerate() {
            *found = find([a[0][x], a[1][x], a[2][x], b[0][x], b[1][x], b[2][x], c[0][x], c[1][x], c[2][x]]);
        }
    }
}

#[inline(always)]
fn sobel_gradient(pixels: [u8; 9]) -> f32 {
    let [a, b, c, d, _, e, f, g, h] = pixels.map(i32::from);
    let (across, down) = ((c + 2 * e + h) - (a + 2 * d + f), (f + 2 * g + h) - (a + 2 * b + c));
    ((across * across + down * down) as f32).sqrt()
}

/// Sorts the columns. The median is then the middle of three values: the greatest of the least, the middle of the middle ones, and the
/// least of the greatest (A. Paeth, Median Finding on a 3x3 Grid, in Graphics Gems, 1990). It needs no branch, so that it vectorises.
#[inline(always)]
fn median_of_nine([a, b, c, d, e, f, g, h, i]: [u8; 9]) -> u8 {
    let (left, middle, right) = (sort_three(a, d, g), sort_three(b, e, h), sort_three(c, f, i));
    let least = left.0.max(middle.0).max(right.0);
    let greatest = left.2.min(middle.2).min(right.2);
    sort_three(least, sort_three(left.1, middle.1, right.1).1, greatest).1
}

#[inline(always)]
fn sort_three(a: u8, b: u8, c: u8) -> (u8, u8, u8) {
    let (low, high) = (a.min(b), a.max(b));
    (low.min(c), low.max(high.min(c)), high.max(c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_median_is_in_the_middle_of_the_sorted(pixels in any::<[u8; 9]>()) {
            let mut sorted = pixels;
            sorted.sort_unstable();
            prop_assert_eq!(median_of_nine(pixels), sorted[4]);
        }
    }
}
