//! Fourier transforms of single precision, by rustfft. Its transforms are generic, and many: they are compiled in the crate that asks for a type,
//! which takes longer than all else in `work`. This crate asks once.
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
