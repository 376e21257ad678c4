//! Planes of the image functions, and the threads that work on them.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use corewise_fourier::{Complex, Fft, plan_transforms};

use super::picture::GreyPicture;
use super::plane::BandedPlane;
use super::team::ThreadTeam;
use crate::WorkError;

/// One of the threads.
pub struct TeamMember<'a> {
    /// Its number, and that of its band in each plane.
    pub band: usize,
    team: &'a ThreadTeam<'a>,
}

impl<'a> TeamMember<'a> {
    /// Creates the member of a number.
    pub const fn new(band: usize, team: &'a ThreadTeam<'a>) -> Self {
        Self { band, team }
    }

    /// Returns the number of threads.
    pub const fn thread_count(&self) -> usize {
        self.team.threads()
    }

    /// Waits for the others; see [`ThreadTeam::meet`].
    ///
    /// # Errors
    /// [`WorkError::Stopped`].
    pub fn meet_others(&self) -> Result<(), WorkError> {
        self.team.meet_all()
    }

    /// Checks the stop flag; see [`ThreadTeam::check_stop`].
    ///
    /// # Errors
    /// [`WorkError::Stopped`].
    #[inline]
    pub fn check_stop(&self) -> Result<(), WorkError> {
        self.team.check_stop()
    }
}

/// Count of each grey value.
pub type GreyHistogram = [u64; 256];

/// Transforms of rows and columns, with their inverses.
pub struct ImageTransforms {
    /// Transforms of rows.
    pub rows: [Arc<dyn Fft<f32>>; 2],
    /// Transforms of columns.
    pub columns: [Arc<dyn Fft<f32>>; 2],
}

impl ImageTransforms {
    /// Plans the transforms for images of a size.
    pub fn new(width: usize, height: usize) -> Self {
        Self { rows: plan_transforms(width), columns: plan_transforms(height) }
    }
}

/// The image, each function's result, and the intermediate planes. A turned plane has the image's columns as rows.
pub struct ImagePlanes {
    /// The image.
    pub source: BandedPlane<u8>,
    /// Blurred along rows; and the image transformed back from its spectrum.
    pub between: BandedPlane<f32>,
    /// The blurred image.
    pub blurred: BandedPlane<f32>,
    /// The magnitude of the gradient.
    pub edges: BandedPlane<f32>,
    /// The median of 3 times 3 pixels.
    pub median: BandedPlane<u8>,
    /// Eroded along rows.
    pub least: BandedPlane<u8>,
    /// Eroded, and dilated along rows.
    pub most: BandedPlane<u8>,
    /// Opened.
    pub opened: BandedPlane<u8>,
    /// Otsu's threshold: the brightest dark value.
    pub threshold: AtomicU8,
    /// Squared distances along rows.
    pub squares: BandedPlane<u32>,
    /// The same, turned; then squared distances.
    pub turned_squares: BandedPlane<u32>,
    /// Squared distances.
    pub distances: BandedPlane<u32>,
    /// Parent of each bright pixel.
    pub roots: BandedPlane<u32>,
    /// Rank of each root within its band.
    pub ranks: BandedPlane<u32>,
    /// Number of roots in each band.
    pub root_counts: Vec<AtomicU32>,
    /// Label of each pixel's set.
    pub labels: BandedPlane<u32>,
    /// Spectrum along rows.
    pub spectrum: BandedPlane<Complex<f32>>,
    /// Spectrum, turned.
    pub turned_spectrum: BandedPlane<Complex<f32>>,
    /// Result of the low-pass.
    pub filtered: BandedPlane<f32>,
    /// Plans of the transforms.
    pub transforms: ImageTransforms,
    histograms: Vec<Mutex<GreyHistogram>>,
}

impl ImagePlanes {
    /// Creates the planes of a size for a number of threads, without memory yet.
    pub fn new(width: usize, height: usize, threads: usize) -> Self {
        Self {
            source: BandedPlane::new(width, height, threads),
            between: BandedPlane::new(width, height, threads),
            blurred: BandedPlane::new(width, height, threads),
            edges: BandedPlane::new(width, height, threads),
            median: BandedPlane::new(width, height, threads),
            least: BandedPlane::new(width, height, threads),
            most: BandedPlane::new(width, height, threads),
            opened: BandedPlane::new(width, height, threads),
            threshold: AtomicU8::new(0),
            squares: BandedPlane::new(width, height, threads),
            turned_squares: BandedPlane::new(height, width, threads),
            distances: BandedPlane::new(width, height, threads),
            roots: BandedPlane::new(width, height, threads),
            ranks: BandedPlane::new(width, height, threads),
            root_counts: (0..threads).map(|_| AtomicU32::new(0)).collect(),
            labels: BandedPlane::new(width, height, threads),
            spectrum: BandedPlane::new(width, height, threads),
            turned_spectrum: BandedPlane::new(height, width, threads),
            filtered: BandedPlane::new(width, height, threads),
            transforms: ImageTransforms::new(width, height),
            histograms: (0..threads).map(|_| Mutex::new([0; 256])).collect(),
        }
    }

    /// Allocates a band of each plane, and fills the source's; call it on the thread that will use the band.
    pub fn allocate_band(&self, band: usize, picture: &GreyPicture) {
        fn allocate_band<T: Copy + Default>(planes: &[&BandedPlane<T>], band: usize) {
            planes.iter().for_each(|plane| plane.allocate_band(band));
        }
        allocate_band(&[&self.source, &self.median, &self.least, &self.most, &self.opened], band);
        allocate_band(&[&self.between, &self.blurred, &self.edges, &self.filtered], band);
        allocate_band(
            &[&self.squares, &self.turned_squares, &self.distances, &self.roots, &self.ranks, &self.labels],
            band,
        );
        allocate_band(&[&self.spectrum, &self.turned_spectrum], band);
        let rows = self.source.band_rows(band);
        let pixels = &picture.pixels[rows.start * picture.width..rows.end * picture.width];
        self.source.write_band(band).copy_from_slice(pixels);
    }

    /// Returns the least bright grey value; 256 if none is bright.
    pub fn darkest_bright(&self) -> u16 {
        u16::from(self.threshold.load(Ordering::Relaxed)) + 1
    }

    /// Stores the counts of a thread.
    pub fn set_histogram(&self, band: usize, histogram: GreyHistogram) {
        *self.histograms[band].lock().unwrap_or_else(PoisonError::into_inner) = histogram;
    }

    /// Returns the sum of all threads' counts.
    pub fn sum_histogram(&self) -> GreyHistogram {
        let mut sums = [0; 256];
        for histogram in &self.histograms {
            let histogram = histogram.lock().unwrap_or_else(PoisonError::into_inner);
            sums.iter_mut().zip(histogram.iter()).for_each(|(sum, count)| *sum += count);
        }
        sums
    }
}
