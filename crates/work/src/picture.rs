//! Picture files for other programs: grey and coloured PNG, and PFM files that keep every bit.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use corewise_sys::output;
use tempfile::TempDir;

use crate::WorkError;

/// Samples of a picture's points.
#[derive(Clone, Copy, Debug)]
pub enum PictureSamples<'a> {
    /// One byte for each point, 0 black.
    Grey(&'a [u8]),
    /// Three bytes for each point: red, green, blue.
    Colour(&'a [u8]),
}

/// Writes a PNG picture, rows from the top, and waits until it is on the disk. Missing points of the last row are black.
///
/// # Errors
/// [`WorkError::System`]: the folder does not exist or is not writable, or the disk is full.
pub fn write_png(path: &Path, width: usize, samples: PictureSamples<'_>) -> Result<(), WorkError> {
    let (bytes, color, channels) = match samples {
        PictureSamples::Grey(bytes) => (bytes, png::ColorType::Grayscale, 1),
        PictureSamples::Colour(bytes) => (bytes, png::ColorType::Rgb, 3),
    };
    let rows = bytes.len().div_ceil(width * channels);
    let mut whole = bytes.to_vec();
    whole.resize(rows * width * channels, 0);
    let encoded = encode_png(width as u32, rows as u32, color, &whole);
    // Nothing is written yet, so an error here is the encoder's, not the disk's.
    let encoded =
        encoded.map_err(|error| WorkError::from_system(format!("encoding {}", path.display()))(error.into()))?;
    write_file(path, |file| file.write_all(&encoded))
}

fn encode_png(width: u32, height: u32, color: png::ColorType, samples: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut encoded = Vec::new();
    let mut encoder = png::Encoder::new(&mut encoded, width, height);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(samples)?;
    writer.finish()?;
    Ok(encoded)
}

/// Writes a grey PFM file and waits until it is on the disk. (Portable float map: a line "Pf", a line with width and height, a line "-1.0",
/// then little-endian 32-bit floats, rows from the bottom.) Missing values of the last row are zero.
///
/// # Errors
/// As [`write_png`].
pub fn write_pfm(path: &Path, width: usize, values: &[f32]) -> Result<(), WorkError> {
    let rows = values.len().div_ceil(width);
    write_file(path, |file| {
        write!(file, "Pf\n{width} {rows}\n-1.0\n")?;
        for row in (0..rows).rev() {
            for column in 0..width {
                let value = values.get(row * width + column).copied().unwrap_or(0.0);
                file.write_all(&value.to_le_bytes())?;
            }
        }
        Ok(())
    })
}

fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), WorkError> {
    let written = || {
        let mut file = BufWriter::new(output::create_file(path)?);
        write(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    };
    written().map_err(WorkError::from_system(format!("writing {}", path.display())))
}

/// Returns a number that depends on all words and their order: the 64-bit FNV-1a hash of their bytes.
pub fn words_checksum(words: impl Iterator<Item = u64>) -> u64 {
    let bytes = words.flat_map(u64::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// A folder for output: a given one, or a temporary one, removed when this is dropped.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    _temporary: Option<TempDir>,
}

impl OutputFolder {
    /// Creates the folder if it does not exist.
    ///
    /// # Errors
    /// [`WorkError::System`] if it cannot be created.
    pub fn new(wanted: Option<&Path>) -> Result<Self, WorkError> {
        if let Some(path) = wanted {
            output::make_folder(path)
                .map_err(WorkError::from_system(format!("making the folder {}", path.display())))?;
            return Ok(Self { path: path.to_owned(), _temporary: None });
        }
        let temporary = tempfile::Builder::new().prefix("corewise-").tempdir();
        let temporary = temporary.map_err(WorkError::from_system("making a temporary folder"))?;
        Ok(Self { path: temporary.path().to_owned(), _temporary: Some(temporary) })
    }

    /// Returns the path of a file in it.
    pub fn file_path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_map_has_all_values_bottom_row_first() {
        let folder = OutputFolder::new(None).unwrap();
        let path = folder.file_path("table.pfm");
        write_pfm(&path, 2, &[1.0, 2.0, 3.5]).unwrap();
        let mut expected = b"Pf\n2 2\n-1.0\n".to_vec();
        expected.extend([3.5_f32, 0.0, 1.0, 2.0].iter().flat_map(|value| value.to_le_bytes()));
        assert_eq!(std::fs::read(&path).unwrap(), expected);
    }

    #[test]
    fn a_picture_is_read_back_as_it_was() {
        let folder = OutputFolder::new(None).unwrap();
        let read = |samples| {
            let path = folder.file_path("picture.png");
            write_png(&path, 2, samples).unwrap();
            let mut reader = png::Decoder::new(io::BufReader::new(File::open(path).unwrap())).read_info().unwrap();
            let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut bytes).unwrap();
            (info.width, info.height, bytes)
        };
        assert_eq!(read(PictureSamples::Grey(&[1, 2, 3])), (2, 2, vec![1, 2, 3, 0]));
        assert_eq!(read(PictureSamples::Colour(&[1, 2, 3, 4, 5, 6])), (2, 1, vec![1, 2, 3, 4, 5, 6]));
    }

    #[test]
    fn a_temporary_folder_goes_and_one_that_was_asked_for_stays() {
        let temporary = OutputFolder::new(None).unwrap();
        let path = temporary.file_path("a");
        std::fs::write(&path, "b").unwrap();
        let wanted = temporary.file_path("deep/down");
        drop(OutputFolder::new(Some(&wanted)).unwrap());
        assert!(wanted.is_dir());
        drop(temporary);
        assert!(!path.exists() && !wanted.exists());
    }

    #[test]
    fn a_full_disk_and_a_folder_that_cannot_be_are_told() {
        let folder = OutputFolder::new(None).unwrap();
        std::fs::write(folder.file_path("file"), "").unwrap();
        let error = OutputFolder::new(Some(&folder.file_path("file/folder"))).unwrap_err();
        assert!(matches!(error, WorkError::System { .. }), "{error}");
        // Every write to it finds no space.
        let full = Path::new("/dev/full");
        for error in [write_pfm(full, 1, &[1.0]), write_png(full, 1, PictureSamples::Grey(&[1]))] {
            let Err(WorkError::System { what, error }) = error else { panic!("{error:?}") };
            assert_eq!((what.as_str(), error.kind()), ("writing /dev/full", io::ErrorKind::StorageFull));
        }
    }
}
