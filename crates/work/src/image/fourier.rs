//! Low-pass filter in the frequency domain.

use std::f32::consts::PI;

use corewise_fourier::{Complex, Fft};

use super::plane::BandedPlane;
use super::planes::{ImagePlanes, TeamMember};
use crate::WorkError;

/// Standard deviation in pixels of the low-pass filter's Gaussian in the spatial domain. Nothing is left of it at the highest frequency
/// (3e-9), so that it is a Gaussian there too.
pub const LOW_PASS_SIGMA: f64 = 2.0;

/// Multiplies each frequency of the image by a Gaussian's.
pub fn low_pass(member: &TeamMember<'_>, planes: &ImagePlanes) -> Result<(), WorkError> {
    let (height, width) = (planes.turned_spectrum.width(), planes.source.width());
    let down = gaussian_transfer(height);
    let across = gaussian_transfer(width);
    through_spectrum(member, planes, &planes.filtered, |frequency, column| {
        for (value, weight) in column.iter_mut().zip(&down) {
            *value *= weight * across[frequency];
        }
    })
}

/// Returns a Gaussian's weight of each frequency; those above half of the length are negative frequencies.
fn gaussian_transfer(length: usize) -> Vec<f32> {
    let left = |frequency: usize| {
        let cycles = frequency.min(length - frequency) as f32 / length as f32;
        (-2.0 * (PI * LOW_PASS_SIGMA as f32 * cycles).powi(2)).exp()
    };
    (0..length).map(left).collect()
}

/// Transforms the image by rows and columns, calls `change` on each column of the spectrum, and transforms it back. The arguments are the
/// column's number, and its values from the lowest frequency on.
pub fn through_spectrum(
    member: &TeamMember<'_>,
    planes: &ImagePlanes,
    to: &BandedPlane<f32>,
    mut change: impl FnMut(usize, &mut [Complex<f32>]),
) -> Result<(), WorkError> {
    let [rows, rows_back] = &planes.transforms.rows;
    let [columns, columns_back] = &planes.transforms.columns;
    let scratch_length = [rows, rows_back, columns, columns_back].map(|transform| transform.get_inplace_scratch_len());
    let mut scratch = vec![Complex::default(); scratch_length.into_iter().max().unwrap_or(0)];
    transform_rows(member, planes, rows.as_ref(), &mut scratch)?;
    member.meet_others()?;
    {
        let turned = &planes.turned_spectrum;
        let mut band = turned.write_band(member.band);
        planes.spectrum.read_all().turn_columns(turned.band_rows(member.band), &mut band);
        for (frequency, column) in turned.band_rows(member.band).zip(band.chunks_exact_mut(turned.width())) {
            member.check_stop()?;
            columns.process_with_scratch(column, &mut scratch);
            change(frequency, column);
            columns_back.process_with_scratch(column, &mut scratch);
        }
    }
    member.meet_others()?;
    let mut band = planes.spectrum.write_band(member.band);
    planes.turned_spectrum.read_all().turn_columns(planes.spectrum.band_rows(member.band), &mut band);
    let (width, mut filtered) = (to.width(), to.write_band(member.band));
    let scale = 1.0 / (width * planes.turned_spectrum.width()) as f32;
    for (values, row) in band.chunks_exact_mut(width).zip(filtered.chunks_exact_mut(width)) {
        member.check_stop()?;
        rows_back.process_with_scratch(values, &mut scratch);
        row.iter_mut().zip(values).for_each(|(pixel, value)| *pixel = value.re * scale);
    }
    Ok(())
}

/// Transforms the rows of a band.
fn transform_rows(
    member: &TeamMember<'_>,
    planes: &ImagePlanes,
    rows: &dyn Fft<f32>,
    scratch: &mut [Complex<f32>],
) -> Result<(), WorkError> {
    let source = planes.source.read_around(member.band, 0);
    let mut band = planes.spectrum.write_band(member.band);
    for (y, values) in planes.source.band_rows(member.band).zip(band.chunks_exact_mut(planes.source.width())) {
        member.check_stop()?;
        for (value, &pixel) in values.iter_mut().zip(source.row_at(y)) {
            *value = Complex::new(f32::from(pixel), 0.0);
        }
        rows.process_with_scratch(values, scratch);
    }
    Ok(())
}
