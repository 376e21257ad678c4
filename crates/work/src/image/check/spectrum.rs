//! Checks of the Fourier transform.

use std::sync::{Mutex, PoisonError};

use corewise_fourier::Complex;

use super::super::fourier::{LOW_PASS_SIGMA, through_spectrum};
use super::super::picture::GreyPicture;
use super::super::planes::{ImagePlanes, TeamMember};
use super::{is_near, sample_points, wrong_pixel};
use crate::WorkError;

/// Largest error in grey values after a transform in 32 bits and its inverse.
pub const TOLERANCE: f64 = 0.02;

/// Checks the low-pass by a convolution with a Gaussian's density in the spatial domain, with a periodic image.
pub fn low_pass(picture: &GreyPicture, filtered: &[f32]) -> Result<(), WorkError> {
    let (width, height) = (picture.width as isize, picture.height as isize);
    let radius = (6.0 * LOW_PASS_SIGMA) as isize;
    let spread = 2.0 * LOW_PASS_SIGMA * LOW_PASS_SIGMA;
    let density = |away: isize| (-((away * away) as f64) / spread).exp() / (std::f64::consts::PI * spread).sqrt();
    let density: Vec<f64> = (-radius..=radius).map(density).collect();
    for (number, x, y) in sample_points(picture) {
        let pixel = |dx: usize, dy: usize| {
            let (x, y) = ((x + dx as isize - radius).rem_euclid(width), (y + dy as isize - radius).rem_euclid(height));
            f64::from(picture.pixels[(y * width + x) as usize])
        };
        let row = |dy: usize| density.iter().enumerate().map(|(dx, weight)| weight * pixel(dx, dy)).sum::<f64>();
        let expected: f64 = density.iter().enumerate().map(|(dy, weight)| weight * row(dy)).sum();
        if !is_near(filtered[number], expected, TOLERANCE) {
            return Err(wrong_pixel("low-pass", x, y, filtered[number], expected));
        }
    }
    Ok(())
}

/// Property of the image's spectrum: the sum of its squares.
#[derive(Debug, Default)]
pub struct ImageSpectrum {
    squares: Mutex<f64>,
}

impl ImageSpectrum {
    /// Transforms the image and back, untimed, and sums the squares on the way.
    ///
    /// # Errors
    /// [`WorkError::Stopped`].
    pub fn find_squares(&self, member: &TeamMember<'_>, planes: &ImagePlanes) -> Result<(), WorkError> {
        let mut squares = 0.0;
        let square = |value: &Complex<f32>| f64::from(value.re).powi(2) + f64::from(value.im).powi(2);
        let add = |_, column: &mut [Complex<f32>]| squares += column.iter().map(square).sum::<f64>();
        through_spectrum(member, planes, &planes.between, add)?;
        *self.squares.lock().unwrap_or_else(PoisonError::into_inner) += squares;
        Ok(())
    }

    /// Compares the squares with the image's, by Parseval's theorem, and the inverse transform with the image.
    ///
    /// # Errors
    /// [`WorkError::Wrong`].
    pub fn check_squares(&self, picture: &GreyPicture, back: &[f32]) -> Result<(), WorkError> {
        let expected: f64 = picture.pixels.iter().map(|&pixel| f64::from(pixel).powi(2)).sum();
        let found = *self.squares.lock().unwrap_or_else(PoisonError::into_inner) / picture.pixels.len() as f64;
        if (found - expected).abs() > 1e-5 * expected {
            return Err(WorkError::Wrong(format!(
                "the squares of the spectrum sum to {found}, the image's to {expected}"
            )));
        }
        let far = |(&pixel, &back): (&u8, &f32)| !is_near(back, f64::from(pixel), TOLERANCE);
        match picture.pixels.iter().zip(back).position(far) {
            None => Ok(()),
            Some(number) => {
                let (x, y) = ((number % picture.width) as isize, (number / picture.width) as isize);
                Err(wrong_pixel("the inverse transform", x, y, back[number], picture.pixels[number]))
            }
        }
    }
}
