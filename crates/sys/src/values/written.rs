//! What a command writes: handed on line by line, and its first and last part kept.

use std::collections::VecDeque;

/// So much is kept from the beginning, and so much from the end.
const KEPT_BYTES: usize = 16 << 10;
/// A line is handed on when it has this length, ended or not.
const LONGEST_LINE_BYTES: usize = 64 << 10;

/// What was written so far.
#[derive(Debug, Default)]
pub struct Written {
    /// How much, in bytes.
    pub bytes: u64,
    first: Vec<u8>,
    last: VecDeque<u8>,
    line: Vec<u8>,
}

impl Written {
    /// Adds what comes next, and hands on the lines that it ends.
    pub fn add(&mut self, bytes: &[u8], line: &mut dyn FnMut(&[u8])) {
        self.bytes += bytes.len() as u64;
        let (first, last) = bytes.split_at(bytes.len().min(KEPT_BYTES - self.first.len()));
        self.first.extend(first);
        self.last.extend(last);
        self.last.drain(..self.last.len().saturating_sub(KEPT_BYTES));
        for byte in bytes {
            // Programs that rewrite a line of progress end it with a carriage return; two ends in a row are one.
            if matches!(byte, b'\n' | b'\r') {
                if !self.line.is_empty() {
                    line(&std::mem::take(&mut self.line));
                }
            } else {
                self.line.push(*byte);
                if self.line.len() >= LONGEST_LINE_BYTES {
                    line(&std::mem::take(&mut self.line));
                }
            }
        }
    }

    /// Hands on the last line where it has no end.
    pub fn end(&mut self, line: &mut dyn FnMut(&[u8])) {
        if !self.line.is_empty() {
            line(&std::mem::take(&mut self.line));
        }
    }

    /// The first and the last part; what is missing between them is told.
    pub fn kept(self) -> Vec<u8> {
        let missing = self.bytes - (self.first.len() + self.last.len()) as u64;
        let mut kept = self.first;
        if missing > 0 {
            kept.extend(format!("\n[{missing} bytes left out]\n").into_bytes());
        }
        kept.extend(self.last);
        kept
    }
}
