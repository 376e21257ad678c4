//! Fourier transforms of single precision: rustfft's, which are generic and large, so that they are compiled in a crate that asks for them by
//! type. This is that crate, once for all that use it.
#![forbid(unsafe_code)]

use std::sync::Arc;

pub use rustfft::Fft;
use rustfft::FftPlanner;
pub use rustfft::num_complex::Complex;

/// Plans the transform of rows of a length, and its inverse, which multiplies by the length.
pub fn plan_transforms(length: usize) -> [Arc<dyn Fft<f32>>; 2] {
    let mut planner = FftPlanner::new();
    [planner.plan_fft_forward(length), planner.plan_fft_inverse(length)]
}
