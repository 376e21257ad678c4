//! The analysed image: drawn, or read from a file.

use std::io::Cursor;
use std::path::Path;

use corewise_machine::random::RandomGenerator;
use corewise_sys::input::{InputFile, InputKind};
use png::{ColorType, Decoder, Transformations};

use crate::WorkError;

/// Maximum pixels: results and intermediate planes take about 60 bytes for each.
const MOST_PIXELS: usize = 1 << 24;
/// Maximum side: a longer one would make squared distances too large for 32 bits.
const LONGEST_SIDE: usize = 1 << 14;
/// Density of the discs: one per this many pixels.
const PIXELS_PER_DISC: usize = 4000;

/// Grey values, row by row; neither side is zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GreyPicture {
    /// Pixels in a row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Grey values, from 0 (black) to 255.
    pub pixels: Vec<u8>,
}

impl GreyPicture {
    /// Draws bright discs on a ground that brightens from left to right and from top to bottom, with noise. Each row has its own random
    /// numbers.
    ///
    /// # Errors
    /// If there are no pixels, more than 2 to the power of 24, or more than 16384 in a row or a column.
    pub fn draw_discs(width: usize, height: usize, seed: u64) -> Result<Self, WorkError> {
        check_size("size of the image", width, height)?;
        let mut random = RandomGenerator::new(seed);
        let disc = |_| PictureDisc {
            x: random.next_below(width),
            y: random.next_below(height),
            radius: 5 + random.next_below(30),
        };
        let discs: Vec<PictureDisc> = (0..(width * height).div_ceil(PIXELS_PER_DISC)).map(disc).collect();
        let row_seed = random.next_bits();
        let mut pixels = vec![0; width * height];
        for (y, row) in pixels.chunks_exact_mut(width).enumerate() {
            row.fill(40 + (30 * y / height) as u8);
            discs.iter().for_each(|disc| disc.draw_row(y, row));
            let mut random = RandomGenerator::new(row_seed.wrapping_add(y as u64));
            for (x, pixel) in row.iter_mut().enumerate() {
                // Sum of 32 coins of three grey values each: nearly normal, with a standard deviation of 8.5.
                let noise = 3 * ((random.next_bits() >> 32).count_ones() as i32 - 16);
                *pixel = (i32::from(*pixel) + (20 * x / width) as i32 + noise).clamp(0, 255) as u8;
            }
        }
        Ok(Self { width, height, pixels })
    }

    /// Reads a PNG. Colours become grey by their luma (ITU-R BT.601), and transparency is ignored.
    ///
    /// # Errors
    /// If it cannot be read, is no PNG, or is too large.
    pub fn read_png(path: &Path) -> Result<Self, WorkError> {
        let what = path.display().to_string();
        let wrong = |why: String| WorkError::Input { what: what.clone(), why };
        let packed = InputFile::open(path, InputKind::WorkloadPicture).and_then(InputFile::read_bytes);
        let packed = packed.map_err(|error| wrong(error.to_string()))?;
        let mut decoder = Decoder::new(Cursor::new(packed));
        decoder.set_transformations(Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().map_err(|error| wrong(error.to_string()))?;
        let (width, height) = (reader.info().width as usize, reader.info().height as usize);
        check_size(&what, width, height)?;
        let bytes = reader.output_buffer_size().ok_or_else(|| wrong("it is too large".into()))?;
        let mut samples = vec![0; bytes];
        let frame = reader.next_frame(&mut samples).map_err(|error| wrong(error.to_string()))?;
        let samples = &samples[..frame.buffer_size()];
        let pixels: Vec<u8> = match frame.color_type {
            ColorType::Grayscale => samples.to_vec(),
            ColorType::GrayscaleAlpha => samples.chunks_exact(2).map(|pixel| pixel[0]).collect(),
            ColorType::Rgb => samples.chunks_exact(3).map(pixel_luma).collect(),
            ColorType::Rgba => samples.chunks_exact(4).map(pixel_luma).collect(),
            ColorType::Indexed => return Err(wrong("its palette was not expanded".into())),
        };
        if pixels.len() != width * height {
            return Err(wrong(format!("{} pixels instead of {width} times {height}", pixels.len())));
        }
        Ok(Self { width, height, pixels })
    }

    /// Returns the pixel of a column and a row; outside the image, the nearest one.
    #[inline]
    pub fn clamped_pixel(&self, x: isize, y: isize) -> u8 {
        let clamp = |value: isize, length: usize| value.clamp(0, length as isize - 1) as usize;
        self.pixels[clamp(y, self.height) * self.width + clamp(x, self.width)]
    }
}

fn check_size(what: &str, width: usize, height: usize) -> Result<(), WorkError> {
    let fits = width.max(height) <= LONGEST_SIDE && (1..=MOST_PIXELS).contains(&(width * height));
    let why = || {
        format!(
            "{width} times {height} pixels; supported are sides of 1 to {LONGEST_SIDE}, and at most {MOST_PIXELS} in \
                all"
        )
    };
    if fits { Ok(()) } else { Err(WorkError::Input { what: what.into(), why: why() }) }
}

fn pixel_luma(pixel: &[u8]) -> u8 {
    let [red, green, blue] = [pixel[0], pixel[1], pixel[2]].map(u32::from);
    ((299 * red + 587 * green + 114 * blue + 500) / 1000) as u8
}

struct PictureDisc {
    x: usize,
    y: usize,
    radius: usize,
}

impl PictureDisc {
    /// Draws its part in a row.
    fn draw_row(&self, y: usize, row: &mut [u8]) {
        let away = self.y.abs_diff(y);
        if away <= self.radius {
            let half = (self.radius * self.radius - away * away).isqrt();
            let end = (self.x + half + 1).min(row.len());
            row[self.x.saturating_sub(half)..end].fill(150);
        }
    }
}
