//! Little-endian numbers in a buffer from Windows, and the hexadecimal text that a recording keeps of it.

/// A buffer, or one record of it. Reading beyond its end gives `None`.
#[derive(Clone, Copy, Debug)]
pub struct RecordBytes<'a>(pub &'a [u8]);

impl<'a> RecordBytes<'a> {
    pub fn u8_at(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    pub fn u16_at(self, at: usize) -> Option<u16> {
        self.array_at(at).map(u16::from_le_bytes)
    }

    pub fn u32_at(self, at: usize) -> Option<u32> {
        self.array_at(at).map(u32::from_le_bytes)
    }

    pub fn u64_at(self, at: usize) -> Option<u64> {
        self.array_at(at).map(u64::from_le_bytes)
    }

    fn array_at<const LENGTH: usize>(self, at: usize) -> Option<[u8; LENGTH]> {
        self.0.get(at..at.checked_add(LENGTH)?)?.try_into().ok()
    }

    /// Splits a buffer into records that each state their own size at `size_at`. Also returns the offset of the first invalid record:
    /// shorter than `least` bytes, or beyond the end.
    pub fn split_records(self, size_at: usize, least: usize) -> (Vec<RecordBytes<'a>>, Option<usize>) {
        let (mut records, mut at) = (Vec::new(), 0);
        while at < self.0.len() {
            let rest = &self.0[at..];
            let size = RecordBytes(rest).u32_at(size_at).map(|size| size as usize);
            let Some(record) = size.filter(|size| *size >= least).and_then(|size| rest.get(..size)) else {
                return (records, Some(at));
            };
            records.push(RecordBytes(record));
            at += record.len();
        }
        (records, None)
    }
}

/// Parses hexadecimal digits, which may be separated by white space.
pub fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let mut digits = Vec::with_capacity(text.len());
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        digits.push(char::from(byte).to_digit(16)? as u8);
    }
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_are_bytes() {
        assert_eq!(from_hexadecimal("00 fF\n10\n"), Some(vec![0, 255, 16]));
        assert_eq!(from_hexadecimal(""), Some(vec![]));
        assert_eq!(from_hexadecimal("0"), None);
        assert_eq!(from_hexadecimal("0x"), None);
    }

    #[test]
    fn records_end_where_a_size_cannot_be() {
        let sizes = |bytes: &[u8]| {
            let (records, wrong_at) = RecordBytes(bytes).split_records(0, 4);
            (records.iter().map(|record| record.0.len()).collect::<Vec<_>>(), wrong_at)
        };
        assert_eq!(sizes(&[4, 0, 0, 0, 5, 0, 0, 0, 9]), (vec![4, 5], None));
        assert_eq!(sizes(&[4, 0, 0, 0, 0, 0, 0, 0]), (vec![4], Some(4)), "it would never end");
        assert_eq!(sizes(&[5, 0, 0, 0]), (vec![], Some(0)));
        assert_eq!(sizes(&[4, 0, 0, 0, 4]), (vec![4], Some(4)));
        assert_eq!(sizes(&[255; 8]), (vec![], Some(0)));
    }

    #[test]
    fn numbers_beyond_the_end_are_absent() {
        let bytes = RecordBytes(&[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((bytes.u8_at(7), bytes.u8_at(8)), (Some(8), None));
        assert_eq!((bytes.u16_at(6), bytes.u16_at(7)), (Some(0x0807), None));
        assert_eq!(
            (bytes.u32_at(4), bytes.u64_at(0), bytes.u64_at(usize::MAX)),
            (Some(0x0807_0605), Some(0x0807_0605_0403_0201), None)
        );
    }
}
