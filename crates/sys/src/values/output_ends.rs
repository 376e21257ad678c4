//! The first and the last part of a command's output.

/// Bytes that are kept from the beginning, and again from the end.
const KEPT_BYTES: usize = 16 << 10;

/// Both ends of an output of any length.
#[derive(Debug, Default)]
pub struct OutputEnds {
    /// Length of the whole output in bytes.
    pub bytes: u64,
    first: Vec<u8>,
    /// Up to twice the kept length, so that its beginning is rarely cut off.
    last: Vec<u8>,
}

impl OutputEnds {
    /// Adds the next bytes.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(KEPT_BYTES - self.first.len()));
        self.first.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(KEPT_BYTES)..];
        if self.last.len() + rest.len() > 2 * KEPT_BYTES {
            self.last.drain(..self.last.len() + rest.len() - KEPT_BYTES);
        }
        self.last.extend_from_slice(rest);
    }

    /// Returns the first and the last part, with the number of bytes that are missing between them.
    pub fn into_kept(self) -> Vec<u8> {
        let last = &self.last[self.last.len().saturating_sub(KEPT_BYTES)..];
        let missing = self.bytes - (self.first.len() + last.len()) as u64;
        let mut kept = self.first;
        if missing > 0 {
            kept.extend(format!("\n[{missing} bytes left out]\n").into_bytes());
        }
        kept.extend_from_slice(last);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_in_pieces(text: &[u8], piece: usize) -> Vec<u8> {
        let mut written = OutputEnds::default();
        text.chunks(piece).for_each(|bytes| written.add_bytes(bytes));
        assert_eq!(written.bytes, text.len() as u64);
        written.into_kept()
    }

    #[test]
    fn both_ends_are_kept_in_whatever_pieces_they_come() {
        let text: Vec<u8> = (0..=u8::MAX).cycle().take(5 * KEPT_BYTES + 7).collect();
        let missing = format!("\n[{} bytes left out]\n", text.len() - 2 * KEPT_BYTES).into_bytes();
        let expected = [&text[..KEPT_BYTES], &missing, &text[text.len() - KEPT_BYTES..]].concat();
        for piece in [1, 7, 1_000, KEPT_BYTES, KEPT_BYTES + 1, 3 * KEPT_BYTES, text.len()] {
            assert!(kept_in_pieces(&text, piece) == expected, "in pieces of {piece}");
        }
        for length in [0, 1, KEPT_BYTES, 2 * KEPT_BYTES - 1, 2 * KEPT_BYTES] {
            assert!(kept_in_pieces(&text[..length], 999) == text[..length], "{length} bytes");
        }
    }
}
