//! Little-endian numbers in a buffer from Windows, and the hexadecimal text that a recording keeps of it.

/// A buffer, or one record of it. Reading beyond its end gives `None`.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn u8(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    pub fn u16(self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub fn u32(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    pub fn u64(self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    fn array<const LENGTH: usize>(self, at: usize) -> Option<[u8; LENGTH]> {
        self.0.get(at..at.checked_add(LENGTH)?)?.try_into().ok()
    }

    /// Splits a buffer into records that each state their own size at `size_at`. Also returns the offset of the first invalid record:
    /// shorter than `least` bytes, or beyond the end.
    pub fn records(self, size_at: usize, least: usize) -> (Vec<Bytes<'a>>, Option<usize>) {
        let (mut records, mut at) = (Vec::new(), 0);
        while at < self.0.len() {
            let rest = &self.0[at..];
            let size = Bytes(rest).u32(size_at).map(|size| size as usize);
            let Some(record) = size.filter(|size| *size >= least).and_then(|size| rest.get(..size)) else {
                return (records, Some(at));
            };
            records.push(Bytes(record));
            at += record.len();
        }
        (records, None)
    }
}

/// Parses hexadecimal digits, which may be separated by white space.
pub fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).map(digit).collect::<Option<_>>()?;
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
            let (records, wrong_at) = Bytes(bytes).records(0, 4);
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
        let bytes = Bytes(&[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((bytes.u8(7), bytes.u8(8)), (Some(8), None));
        assert_eq!((bytes.u16(6), bytes.u16(7)), (Some(0x0807), None));
        assert_eq!(
            (bytes.u32(4), bytes.u64(0), bytes.u64(usize::MAX)),
            (Some(0x0807_0605), Some(0x0807_0605_0403_0201), None)
        );
    }
}
