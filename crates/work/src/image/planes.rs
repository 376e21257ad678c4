//! Planes of the image functions, and the threads that work on them.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use super::picture::Picture;
use super::plane::Plane;
use super::team::Team;
use crate::Error;

/// One of the threads.
pub struct Member<'a> {
    /// Its number, and that of its band in each plane.
    pub band: usize,
    team: &'a Team<'a>,
}

impl<'a> Member<'a> {
    /// Creates the member of a number.
    pub const fn new(band: usize, team: &'a Team<'a>) -> Self {
        Self { band, team }
    }

    /// Returns the number of threads.
    pub const fn threads(&self) -> usize {
        self.team.threads()
    }

    /// Waits for the others; see [`Team::meet`].
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn meet(&self) -> Result<(), Error> {
        self.team.meet()
    }

    /// Checks the stop flag; see [`Team::go_on`].
    ///
    /// # Errors
    /// [`Error::Stopped`].
    #[inline]
    pub fn go_on(&self) -> Result<(), Error> {
        self.team.go_on()
    }
}

/// Count of each grey value.
pub type Histogram = [u64; 256];

/// Transforms of rows and columns, with their inverses.
pub struct Transforms {
    /// Transforms of rows.
    pub rows: [Arc<dyn Fft<f32>>; 2],
    /// Transforms of columns.
    pub columns: [Arc<dyn Fft<f32>>; 2],
}

impl Transforms {
    /// Plans the transforms for images of a size.
    pub fn new(width: usize, height: usize) -> Self {
        let mut planner = FftPlanner::new();
        let mut both = |length| [planner.plan_fft_forward(length), planner.plan_fft_inverse(length)];
        Self { rows: both(width), columns: both(height) }
    }
}

/// The image, each function's result, and the intermediate planes. A turned plane has the image's columns as rows.
pub struct Planes {
    /// The image.
    pub source: Plane<u8>,
    /// Blurred along rows; and the image transformed back from its spectrum.
    pub between: Plane<f32>,
    /// The blurred image.
    pub blurred: Plane<f32>,
    /// The magnitude of the gradient.
    pub edges: Plane<f32>,
    /// The median of 3 times 3 pixels.
    pub median: Plane<u8>,
    /// Eroded along rows.
    pub least: Plane<u8>,
    /// Eroded, and dilated along rows.
    pub most: Plane<u8>,
    /// Opened.
    pub opened: Plane<u8>,
    /// Otsu's threshold: the brightest dark value.
    pub threshold: AtomicU8,
    /// Squared distances along rows.
    pub squares: Plane<u32>,
    /// The same, turned; then squared distances.
    pub turned_squares: Plane<u32>,
    /// Squared distances.
    pub distances: Plane<u32>,
    /// Parent of each bright pixel.
    pub roots: Plane<u32>,
    /// Rank of each root within its band.
    pub ranks: Plane<u32>,
    /// Number of roots in each band.
    pub root_counts: Vec<AtomicU32>,
    /// Label of each pixel's set.
    pub labels: Plane<u32>,
    /// Spectrum along rows.
    pub spectrum: Plane<Complex<f32>>,
    /// Spectrum, turned.
    pub turned_spectrum: Plane<Complex<f32>>,
    /// Result of the low-pass.
    pub filtered: Plane<f32>,
    /// Plans of the transforms.
    pub transforms: Transforms,
    histograms: Vec<Mutex<Histogram>>,
}

impl Planes {
    /// Creates the planes of a size for a number of threads, without memory yet.
    pub fn new(width: usize, height: usize, threads: usize) -> Self {
        Self {
            source: Plane::new(width, height, threads),
            between: Plane::new(width, height, threads),
            blurred: Plane::new(width, height, threads),
            edges: Plane::new(width, height, threads),
            median: Plane::new(width, height, threads),
            least: Plane::new(width, height, threads),
            most: Plane::new(width, height, threads),
            opened: Plane::new(width, height, threads),
            threshold: AtomicU8::new(0),
            squares: Plane::new(width, height, threads),
            turned_squares: Plane::new(height, width, threads),
            distances: Plane::new(width, height, threads),
            roots: Plane::new(width, height, threads),
            ranks: Plane::new(width, height, threads),
            root_counts: (0..threads).map(|_| AtomicU32::new(0)).collect(),
            labels: Plane::new(width, height, threads),
            spectrum: Plane::new(width, height, threads),
            turned_spectrum: Plane::new(height, width, threads),
            filtered: Plane::new(width, height, threads),
            transforms: Transforms::new(width, height),
            histograms: (0..threads).map(|_| Mutex::new([0; 256])).collect(),
        }
    }

    /// Allocates a band of each plane, and fills the source's; call it on the thread that will use the band.
    pub fn allocate(&self, band: usize, picture: &Picture) {
        fn allocate<T: Copy + Default>(planes: &[&Plane<T>], band: usize) {
            planes.iter().for_each(|plane| plane.allocate(band));
        }
        allocate(&[&self.source, &self.median, &self.least, &self.most, &self.opened], band);
        allocate(&[&self.between, &self.blurred, &self.edges, &self.filtered], band);
        allocate(&[&self.squares, &self.turned_squares, &self.distances, &self.roots, &self.ranks, &self.labels], band);
        allocate(&[&self.spectrum, &self.turned_spectrum], band);
        let rows = self.source.rows(band);
        let pixels = &picture.pixels[rows.start * picture.width..rows.end * picture.width];
        self.source.write(band).copy_from_slice(pixels);
    }

    /// Returns the least bright grey value; 256 if none is bright.
    pub fn darkest_bright(&self) -> u16 {
        u16::from(self.threshold.load(Ordering::Relaxed)) + 1
    }

    /// Stores the counts of a thread.
    pub fn set_histogram(&self, band: usize, histogram: Histogram) {
        *self.histograms[band].lock().unwrap_or_else(PoisonError::into_inner) = histogram;
    }

    /// Returns the sum of all threads' counts.
    pub fn histogram(&self) -> Histogram {
        let mut sums = [0; 256];
        for histogram in &self.histograms {
            let histogram = histogram.lock().unwrap_or_else(PoisonError::into_inner);
            sums.iter_mut().zip(histogram.iter()).for_each(|(sum, count)| *sum += count);
        }
        sums
    }
}
