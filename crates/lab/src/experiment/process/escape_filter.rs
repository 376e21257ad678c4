//! Output for a terminal without its escape sequences, such as colours: ECMA-48, 5.4 and 5.6.

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// Leaves out escape sequences, which may be cut anywhere between two pieces of output.
#[derive(Debug, Default)]
pub struct EscapeFilter {
    state: FilterState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FilterState {
    #[default]
    Text,
    /// After ESC.
    Begun,
    /// After ESC [: until a final byte.
    Control,
    /// After ESC ] and the like: until BEL or ESC \\.
    String,
    /// After ESC in a string.
    StringEnd,
}

impl EscapeFilter {
    /// Returns the bytes of a piece that are no part of a sequence.
    pub fn filter_bytes(&mut self, bytes: &[u8]) -> Vec<u8> {
        bytes.iter().copied().filter(|byte| self.is_text(*byte)).collect()
    }

    fn is_text(&mut self, byte: u8) -> bool {
        let (next, is_text) = match (self.state, byte) {
            (FilterState::Text, ESCAPE) => (FilterState::Begun, false),
            (FilterState::Text, _) => (FilterState::Text, true),
            (FilterState::Begun, b'[') => (FilterState::Control, false),
            (FilterState::Begun, b']' | b'P' | b'X' | b'^' | b'_') => (FilterState::String, false),
            // Intermediate bytes, as in ESC ( B.
            (FilterState::Begun, 0x20..=0x2f) => (FilterState::Begun, false),
            (FilterState::Control, 0x20..=0x3f) => (FilterState::Control, false),
            (FilterState::String | FilterState::StringEnd, ESCAPE) => (FilterState::StringEnd, false),
            (FilterState::String, BELL) | (FilterState::StringEnd, _) => (FilterState::Text, false),
            (FilterState::String, _) => (FilterState::String, false),
            (FilterState::Begun | FilterState::Control, _) => (FilterState::Text, false),
        };
        self.state = next;
        is_text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_titles_and_moves_are_left_out_wherever_they_are_cut() {
        let text = b"\x1b[1;32mfps\x1b[0m: \x1b]0;a title\x07\x1b(B60\x1b]8;;x\x1b\\ ms\x1b[2K\r\n";
        assert_eq!(EscapeFilter::default().filter_bytes(text), b"fps: 60 ms\r\n");
        for at in 0..text.len() {
            let mut filter = EscapeFilter::default();
            let pieces = [&text[..at], &text[at..]].map(|piece| filter.filter_bytes(piece));
            assert_eq!(pieces.concat(), b"fps: 60 ms\r\n", "{at}");
        }
    }
}
