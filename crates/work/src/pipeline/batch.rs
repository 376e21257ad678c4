//! What threads pass on to each other.

use super::stage::Event;

/// A message: lines that are text first, then events, then text again.
#[derive(Debug, Default)]
pub struct Batch {
    /// The position of the first line.
    pub first: u64,
    /// The lines, one behind the other.
    pub text: Vec<u8>,
    /// Where each of them ends.
    pub ends: Vec<usize>,
    /// Those lines, taken apart.
    pub events: Vec<Event>,
}

impl Batch {
    /// Empties it; it keeps its memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.events.clear();
    }

    /// The lines.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.text[begin..end])
    }
}
