//! Low-pass filter in the frequency domain.

use std::f32::consts::PI;

use rustfft::Fft;
use rustfft::num_complex::Complex;

use super::plane::Plane;
use super::planes::{Member, Planes};
use crate::Error;

/// Standard deviation in pixels of the low-pass filter's Gaussian in the spatial domain. Nothing is left of it at the highest frequency
/// (3e-9), so that it is a Gaussian there too.
pub const LOW_PASS_SIGMA: f64 = 2.0;

/// Multiplies each frequency of the image by a Gaussian's.
pub fn low_pass(member: &Member<'_>, planes: &Planes) -> Result<(), Error> {
    let (height, width) = (planes.turned_spectrum.width(), planes.source.width());
    let down = transfer(height);
    let across = transfer(width);
    through_spectrum(member, planes, &planes.filtered, |frequency, column| {
        for (value, weight) in column.iter_mut().zip(&down) {
            *value *= weight * across[frequency];
        }
    })
}

/// Returns a Gaussian's weight of each frequency; those above half of the length are negative frequencies.
fn transfer(length: usize) -> Vec<f32> {
    let left = |frequency: usize| {
        let cycles = frequency.min(length - frequency) as f32 / length as f32;
        (-2.0 * (PI * LOW_PASS_SIGMA as f32 * cycles).powi(2)).exp()
    };
    (0..length).map(left).collect()
}

/// Transforms the image by rows and columns, calls `change` on each column of the spectrum, and transforms it back. The arguments are the
/// column's number, and its values from the lowest frequency on.
pub fn through_spectrum(
    member: &Member<'_>,
    planes: &Planes,
    to: &Plane<f32>,
    mut change: impl FnMut(usize, &mut [Complex<f32>]),
) -> Result<(), Error> {
    let [rows, rows_back] = &planes.transforms.rows;
    let [columns, columns_back] = &planes.transforms.columns;
    let scratch_length = [rows, rows_back, columns, columns_back].map(|transform| transform.get_inplace_scratch_len());
    let mut scratch = vec![Complex::default(); scratch_length.into_iter().max().unwrap_or(0)];
    forward(member, planes, rows.as_ref(), &mut scratch)?;
    member.meet()?;
    {
        let turned = &planes.turned_spectrum;
        let mut band = turned.write(member.band);
        planes.spectrum.all().turn(turned.rows(member.band), &mut band);
        for (frequency, column) in turned.rows(member.band).zip(band.chunks_exact_mut(turned.width())) {
            member.go_on()?;
            columns.process_with_scratch(column, &mut scratch);
            change(frequency, column);
            columns_back.process_with_scratch(column, &mut scratch);
        }
    }
    member.meet()?;
    let mut band = planes.spectrum.write(member.band);
    planes.turned_spectrum.all().turn(planes.spectrum.rows(member.band), &mut band);
    let (width, mut filtered) = (to.width(), to.write(member.band));
    let scale = 1.0 / (width * planes.turned_spectrum.width()) as f32;
    for (values, row) in band.chunks_exact_mut(width).zip(filtered.chunks_exact_mut(width)) {
        member.go_on()?;
        rows_back.process_with_scratch(values, &mut scratch);
        row.iter_mut().zip(values).for_each(|(pixel, value)| *pixel = value.re * scale);
    }
    Ok(())
}

/// Transforms the rows of a band.
fn forward(
    member: &Member<'_>,
    planes: &Planes,
    rows: &dyn Fft<f32>,
    scratch: &mut [Complex<f32>],
) -> Result<(), Error> {
    let source = planes.source.around(member.band, 0);
    let mut band = planes.spectrum.write(member.band);
    for (y, values) in planes.source.rows(member.band).zip(band.chunks_exact_mut(planes.source.width())) {
        member.go_on()?;
        for (value, &pixel) in values.iter_mut().zip(source.row(y)) {
            *value = Complex::new(f32::from(pixel), 0.0);
        }
        rows.process_with_scratch(values, scratch);
    }
    Ok(())
}
