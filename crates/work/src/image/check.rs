//! Checks of the results by other methods.

mod spectrum;

use std::sync::atomic::Ordering;

use super::distance::NEVER;

use super::picture::GreyPicture;
use super::planes::{GreyHistogram, ImagePlanes};
use super::stencil::{BLUR_RADIUS, OPENING_RADIUS, blur_kernel};
use crate::WorkError;
use crate::settings::WorkloadHost;
pub use spectrum::{ImageSpectrum, low_pass};

/// Largest difference in grey values between a blur in 32 bits and in 64.
const BLUR_TOLERANCE: f64 = 1e-3;
/// Distance of the checked samples, in pixels, for slow checks. Both are primes; the second is used if the first divides the width, so that
/// no column is left out. No picture is as wide as a multiple of both.
const PIXELS_PER_SAMPLE: [usize; 2] = [499, 503];
/// Maximum pixels read while searching for dark ones; if these are far, a few samples must do.
const LOOKS: usize = 50_000_000;

/// Compares all results of the last round with other methods; returns a description of them.
///
/// # Errors
/// [`WorkError::Wrong`] with the first difference; [`WorkError::Stopped`].
pub fn check_all(
    picture: &GreyPicture,
    planes: &ImagePlanes,
    spectrum: &ImageSpectrum,
    company: &WorkloadHost<'_>,
) -> Result<String, WorkError> {
    let threshold = planes.threshold.load(Ordering::Relaxed);
    company.check_stop()?;
    check_blur(picture, &planes.blurred.copy_values())?;
    check_sobel(picture, &planes.edges.copy_values())?;
    company.check_stop()?;
    check_median(picture, &planes.median.copy_values())?;
    open(picture, &planes.opened.copy_values())?;
    company.check_stop()?;
    check_histogram(picture, &planes.sum_histogram(), threshold)?;
    check_distances(picture, threshold, &planes.distances.copy_values())?;
    company.check_stop()?;
    check_labels(picture, threshold, &planes.labels.copy_values())?;
    company.check_stop()?;
    low_pass(picture, &planes.filtered.copy_values())?;
    spectrum.check_squares(picture, &planes.between.copy_values())?;
    Ok(format!(
        "blur, gradient, median, opening, distances and low-pass of one in {} pixels by second methods (real values \
            within {BLUR_TOLERANCE} and {} grey values); threshold, labels and inverse transform of all",
        pixels_per_sample(picture.width),
        spectrum::TOLERANCE
    ))
}

/// Returns a number that depends on each result.
pub fn planes_checksum(planes: &ImagePlanes) -> u64 {
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let wide = |values: Vec<u8>| values.into_iter().map(u32::from).collect::<Vec<_>>();
    let results = [
        bits(planes.blurred.copy_values()),
        bits(planes.edges.copy_values()),
        wide(planes.median.copy_values()),
        wide(planes.opened.copy_values()),
        planes.sum_histogram().map(|count| count as u32).to_vec(),
        vec![u32::from(planes.threshold.load(Ordering::Relaxed))],
        planes.distances.copy_values(),
        planes.labels.copy_values(),
        bits(planes.filtered.copy_values()),
    ];
    let mix = |hash: u64, &value: &u32| {
        let product = (hash ^ u64::from(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ (product >> 32)
    };
    results.iter().flatten().fold(1, mix)
}

fn pixels_per_sample(width: usize) -> usize {
    let [first, second] = PIXELS_PER_SAMPLE;
    if width.is_multiple_of(first) { second } else { first }
}

/// Iterates over the samples: number, column, row.
fn sample_points(picture: &GreyPicture) -> impl Iterator<Item = (usize, isize, isize)> {
    let place = |number: usize| (number, (number % picture.width) as isize, (number / picture.width) as isize);
    (0..picture.pixels.len()).step_by(pixels_per_sample(picture.width)).map(place)
}

fn wrong_pixel(what: &str, x: isize, y: isize, found: impl ToString, expected: impl ToString) -> WorkError {
    let (found, expected) = (found.to_string(), expected.to_string());
    WorkError::Wrong(format!("{what} at column {x}, row {y}: {found}, but {expected} by the second method"))
}

fn is_near(found: f32, expected: f64, tolerance: f64) -> bool {
    (f64::from(found) - expected).abs() <= tolerance
}

/// Checks the blur by a sum over the square in two dimensions.
pub fn check_blur(picture: &GreyPicture, blurred: &[f32]) -> Result<(), WorkError> {
    let (kernel, radius) = (blur_kernel(), BLUR_RADIUS as isize);
    for (number, x, y) in sample_points(picture) {
        let tap = |dx: isize, dy: isize| {
            let weight = kernel[(dx + radius) as usize] * kernel[(dy + radius) as usize];
            weight * f64::from(picture.clamped_pixel(x + dx, y + dy))
        };
        let expected: f64 = (-radius..=radius).flat_map(|dy| (-radius..=radius).map(move |dx| tap(dx, dy))).sum();
        if !is_near(blurred[number], expected, BLUR_TOLERANCE) {
            return Err(wrong_pixel("blur", x, y, blurred[number], expected));
        }
    }
    Ok(())
}

/// Checks the gradient by the two masks of the textbooks.
pub fn check_sobel(picture: &GreyPicture, edges: &[f32]) -> Result<(), WorkError> {
    const ACROSS: [[f64; 3]; 3] = [[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]];
    for (number, x, y) in sample_points(picture) {
        let (mut across, mut down) = (0.0, 0.0);
        for (dy, dx) in (0..3).flat_map(|dy| (0..3).map(move |dx| (dy, dx))) {
            let pixel = f64::from(picture.clamped_pixel(x + dx as isize - 1, y + dy as isize - 1));
            across += ACROSS[dy][dx] * pixel;
            down += ACROSS[dx][dy] * pixel;
        }
        let expected = f64::hypot(across, down);
        if !is_near(edges[number], expected, BLUR_TOLERANCE) {
            return Err(wrong_pixel("gradient", x, y, edges[number], expected));
        }
    }
    Ok(())
}

/// Iterates over the pixels of a square, row by row.
fn square_pixels(picture: &GreyPicture, x: isize, y: isize, radius: usize) -> impl Iterator<Item = u8> {
    let radius = radius as isize;
    (-radius..=radius).flat_map(move |dy| (-radius..=radius).map(move |dx| picture.clamped_pixel(x + dx, y + dy)))
}

/// Checks the median by sorting.
pub fn check_median(picture: &GreyPicture, medians: &[u8]) -> Result<(), WorkError> {
    for (number, x, y) in sample_points(picture) {
        let mut pixels: Vec<u8> = square_pixels(picture, x, y, 1).collect();
        pixels.sort_unstable();
        if medians[number] != pixels[4] {
            return Err(wrong_pixel("median", x, y, medians[number], pixels[4]));
        }
    }
    Ok(())
}

/// Checks the opening by its other definition: the greatest, over all squares with a centre in the image that hold the pixel, of their
/// least.
pub fn open(picture: &GreyPicture, opened: &[u8]) -> Result<(), WorkError> {
    let radius = OPENING_RADIUS as isize;
    let (width, height) = (picture.width as isize, picture.height as isize);
    for (number, x, y) in sample_points(picture) {
        let centres = (y - radius..=y + radius).flat_map(|y| (x - radius..=x + radius).map(move |x| (x, y)));
        let inside = centres.filter(|(x, y)| (0..width).contains(x) && (0..height).contains(y));
        let least = inside.filter_map(|(x, y)| square_pixels(picture, x, y, OPENING_RADIUS).min());
        let expected = least.max().unwrap_or(0);
        if opened[number] != expected {
            return Err(wrong_pixel("opening", x, y, opened[number], expected));
        }
    }
    Ok(())
}

/// Checks the histogram by counting again, and the threshold by trying all in integers.
pub fn check_histogram(picture: &GreyPicture, histogram: &GreyHistogram, threshold: u8) -> Result<(), WorkError> {
    let mut counts = [0_u64; 256];
    picture.pixels.iter().for_each(|&pixel| counts[usize::from(pixel)] += 1);
    if *histogram != counts || histogram.iter().sum::<u64>() != picture.pixels.len() as u64 {
        return Err(WorkError::Wrong("the histogram does not match the pixels".into()));
    }
    let sums = |values: std::ops::RangeInclusive<usize>| {
        let counts = values.map(|value| (u128::from(histogram[value]), value as u128));
        counts.fold((0, 0), |(count, sum), (more, value)| (count + more, sum + more * value))
    };
    // The variance between two classes, times the square of the number of pixels, as a fraction.
    let between = |threshold: usize| {
        let ((dark, dark_sum), (bright, bright_sum)) = (sums(0..=threshold), sums(threshold + 1..=255));
        let difference = (dark_sum * bright).abs_diff(bright_sum * dark);
        if dark * bright == 0 { 0.0 } else { (difference as f64).powi(2) / (dark * bright) as f64 }
    };
    let best = (0..255).map(between).fold(0.0, f64::max);
    let found = if threshold == 255 { 0.0 } else { between(usize::from(threshold)) };
    match found >= best * (1.0 - 1e-9) {
        true => Ok(()),
        false => Err(WorkError::Wrong(format!("threshold {threshold} does not separate dark from bright best"))),
    }
}

/// Checks distances by a search: one dark pixel is that far away, and none is nearer.
pub fn check_distances(picture: &GreyPicture, threshold: u8, distances: &[u32]) -> Result<(), WorkError> {
    let is_dark = |x: usize, y: usize| picture.pixels[y * picture.width + x] <= threshold;
    let any_dark = picture.pixels.iter().any(|&pixel| pixel <= threshold);
    let mut looks = 0;
    for (number, x, y) in sample_points(picture) {
        let found = distances[number];
        if found == NEVER || !any_dark {
            if found == NEVER && !any_dark {
                continue;
            }
            return Err(wrong_pixel("squared distance", x, y, found, "the other of never and somewhere"));
        }
        let radius = f64::from(found).sqrt().ceil() as usize;
        let (x, y) = (x as usize, y as usize);
        let rows = y.saturating_sub(radius)..(y + radius + 1).min(picture.height);
        let columns = x.saturating_sub(radius)..(x + radius + 1).min(picture.width);
        let dark = rows.flat_map(|row| columns.clone().map(move |column| (column, row)));
        let squared = dark.filter(|&(column, row)| is_dark(column, row)).map(|(column, row)| {
            looks += 1;
            (x.abs_diff(column).pow(2) + y.abs_diff(row).pow(2)) as u64
        });
        let nearest = squared.min();
        if nearest != Some(u64::from(found)) {
            let expected = nearest.map_or("none as near".to_owned(), |nearest| nearest.to_string());
            return Err(wrong_pixel("squared distance", x as isize, y as isize, found, expected));
        }
        looks += (2 * radius + 1).pow(2);
        if looks > LOOKS {
            break;
        }
    }
    Ok(())
}

/// Checks labels by filling each set from its first pixel.
pub fn check_labels(picture: &GreyPicture, threshold: u8, labels: &[u32]) -> Result<(), WorkError> {
    let filled = fill_labels(picture, threshold);
    match filled.iter().zip(labels).position(|(expected, found)| expected != found) {
        None => Ok(()),
        Some(number) => {
            let (x, y) = (number % picture.width, number / picture.width);
            Err(wrong_pixel("label", x as isize, y as isize, labels[number], filled[number]))
        }
    }
}

/// Computes the labels by flood fill.
fn fill_labels(picture: &GreyPicture, threshold: u8) -> Vec<u32> {
    let (width, height) = (picture.width, picture.height);
    let (mut labels, mut sets, mut edge) = (vec![0; width * height], 0, Vec::new());
    for number in 0..labels.len() {
        if picture.pixels[number] <= threshold || labels[number] != 0 {
            continue;
        }
        sets += 1;
        labels[number] = sets;
        edge.push(number);
        while let Some(pixel) = edge.pop() {
            let (x, y) = (pixel % width, pixel / width);
            for row in y.saturating_sub(1)..(y + 2).min(height) {
                for column in x.saturating_sub(1)..(x + 2).min(width) {
                    let next = row * width + column;
                    if labels[next] == 0 && picture.pixels[next] > threshold {
                        labels[next] = sets;
                        edge.push(next);
                    }
                }
            }
        }
    }
    labels
}
