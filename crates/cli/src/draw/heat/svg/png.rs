//! A small writer of PNG pictures with a palette (Portable Network Graphics, third edition, W3C 2025).

use std::io::Write as _;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// A picture of `width` columns whose pixels, row by row, are indices into a palette of at most 256 colours.
pub fn png(width: usize, pixels: &[u8], palette: &[[u8; 3]]) -> Vec<u8> {
    let height = pixels.len().checked_div(width).unwrap_or(0);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::new();
    header.extend((width as u32).to_be_bytes());
    header.extend((height as u32).to_be_bytes());
    // 8 bits, a palette, the one method of compression, the one of filtering, rows in order.
    header.extend([8, 3, 0, 0, 0]);
    chunk(&mut file, *b"IHDR", &header);
    chunk(&mut file, *b"PLTE", palette.as_flattened());
    chunk(&mut file, *b"IDAT", &compressed(width, pixels));
    chunk(&mut file, *b"IEND", &[]);
    file
}

/// The rows, each after a filter of its own: none, which is best for a palette.
fn compressed(width: usize, pixels: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    for row in pixels.chunks(width.max(1)) {
        let _ = encoder.write_all(&[0]).and_then(|()| encoder.write_all(row));
    }
    encoder.finish().unwrap_or_default()
}

fn chunk(file: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    file.extend((data.len() as u32).to_be_bytes());
    file.extend(kind);
    file.extend(data);
    let mut check = Crc::new();
    check.update(&kind);
    check.update(data);
    file.extend(check.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_picture_has_its_chunks_and_its_pixels_come_back() {
        let file = png(2, &[0, 1, 1, 0], &[[1, 2, 3], [4, 5, 6]]);
        // The header of a 2 x 2 picture with its check sum, as any other writer has it.
        assert_eq!(file[8..33], *b"\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x02\x08\x03\0\0\0\x45\x68\xfd\x16");
        assert_eq!(file[33..51], *b"\0\0\0\x06PLTE\x01\x02\x03\x04\x05\x06\x95\x53\x6f\x48");
        assert!(file.ends_with(b"\0\0\0\0IEND\xae\x42\x60\x82"));
        let data = file.windows(4).position(|part| part == b"IDAT").unwrap() + 4;
        let mut rows = Vec::new();
        flate2::read::ZlibDecoder::new(&file[data..]).read_to_end(&mut rows).unwrap();
        assert_eq!(rows, [0, 0, 1, 0, 1, 0]);
    }
}
