//! Pictures with a palette as PNG (Portable Network Graphics, third edition, W3C 2025).

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError};

/// Encodes a picture of `width` columns. Its pixels, row by row, are indices into a palette of at most 256 colours.
///
/// # Errors
/// If there is no pixel, or the last row is incomplete.
pub fn encode_png(width: usize, pixels: &[u8], palette: &[[u8; 3]]) -> Result<Vec<u8>, EncodingError> {
    let height = pixels.len().checked_div(width).unwrap_or(0);
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_palette(palette.as_flattened());
    encoder.set_compression(Compression::High);
    encoder.write_header()?.write_image_data(pixels)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_palette_and_all_pixels_come_back() {
        let file = encode_png(2, &[0, 1, 1, 0, 0, 1], &[[1, 2, 3], [4, 5, 6]]).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
        assert_eq!(reader.info().palette.as_deref(), Some(&[1, 2, 3, 4, 5, 6][..]));
        let mut pixels = [9; 6];
        let frame = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((frame.width, frame.height, frame.color_type), (2, 3, ColorType::Indexed));
        assert_eq!(pixels, [0, 1, 1, 0, 0, 1]);
    }

    #[test]
    fn an_incomplete_row_is_refused() {
        assert!(encode_png(2, &[0, 1, 1], &[[0; 3], [1; 3]]).is_err());
        assert!(encode_png(0, &[], &[]).is_err());
    }
}
