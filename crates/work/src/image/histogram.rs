//! Histogram of grey values, and the threshold that best separates dark from bright.

use std::sync::atomic::Ordering;

use super::planes::{GreyHistogram, ImagePlanes, TeamMember};
use crate::WorkError;

/// Counts grey values, each thread in its band, and finds Otsu's threshold in the sum.
pub fn find_threshold(member: &TeamMember<'_>, planes: &ImagePlanes) -> Result<(), WorkError> {
    let source = planes.source.read_around(member.band, 0);
    // Four histograms in turn: neighbouring pixels are often equal, and each increment would wait for the store of the one before.
    let mut counts = [[0_u32; 256]; 4];
    for y in planes.source.band_rows(member.band) {
        member.check_stop()?;
        count_pixels(source.row_at(y), &mut counts);
    }
    let sums = std::array::from_fn(|value| counts.iter().map(|counts| u64::from(counts[value])).sum());
    planes.set_histogram(member.band, sums);
    member.meet_others()?;
    if member.band == 0 {
        planes.threshold.store(otsu_threshold(&planes.sum_histogram()), Ordering::Relaxed);
    }
    Ok(())
}

fn count_pixels(pixels: &[u8], counts: &mut [[u32; 256]; 4]) {
    let mut fours = pixels.chunks_exact(4);
    for four in fours.by_ref() {
        for (counts, &pixel) in counts.iter_mut().zip(four) {
            counts[usize::from(pixel)] += 1;
        }
    }
    fours.remainder().iter().for_each(|&pixel| counts[0][usize::from(pixel)] += 1);
}

/// Returns the brightest dark value that maximises the variance between dark and bright; the least of several (N. Otsu, A Threshold
/// Selection Method from Gray-Level Histograms, 1979).
pub fn otsu_threshold(histogram: &GreyHistogram) -> u8 {
    let all: u64 = histogram.iter().sum();
    let sum: u64 = (0..).zip(histogram).map(|(value, count)| value * count).sum();
    let (mut dark, mut dark_sum, mut best) = (0, 0, (0, 0.0));
    for (value, count) in (0_u8..=255).zip(histogram) {
        dark += count;
        dark_sum += u64::from(value) * count;
        if dark > 0 && dark < all {
            let means = dark_sum as f64 / dark as f64 - (sum - dark_sum) as f64 / (all - dark) as f64;
            let between = dark as f64 * (all - dark) as f64 * means * means;
            if between > best.1 {
                best = (value, between);
            }
        }
    }
    best.0
}
