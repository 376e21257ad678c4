//! Messages between the pipeline's threads.

use super::stage::JsonEvent;

/// A message: lines of text first, then events, then text again.
#[derive(Debug, Default)]
pub struct LineBatch {
    /// Position of the first line.
    pub first: u64,
    /// The lines, one after the other.
    pub text: Vec<u8>,
    /// End of each line in the text.
    pub ends: Vec<usize>,
    /// The parsed lines.
    pub events: Vec<JsonEvent>,
}

impl LineBatch {
    /// Empties the message and keeps its memory.
    pub fn clear_batch(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.events.clear();
    }

    /// Iterates over the lines.
    pub fn text_lines(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.text[begin..end])
    }
}
