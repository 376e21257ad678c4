//! What a command writes: read as it comes, handed on line by line, and its first and last part kept.

use std::collections::VecDeque;
use std::io::{self, PipeReader, Read as _};
use std::os::fd::AsRawFd as _;

/// So much is kept from the beginning, and so much from the end.
const KEPT_BYTES: usize = 16 << 10;
/// A line is handed on when it has this length, ended or not.
const LONGEST_LINE_BYTES: usize = 64 << 10;

/// The output of a command that runs.
pub struct Output {
    reader: PipeReader,
    /// How much was written, in bytes.
    pub bytes: u64,
    /// Whether all who could write have closed it.
    pub has_ended: bool,
    first: Vec<u8>,
    last: VecDeque<u8>,
    line: Vec<u8>,
}

impl Output {
    /// Reads from a pipe without ever waiting for it.
    pub fn new(reader: PipeReader) -> io::Result<Self> {
        // SAFETY: a call without memory on an open file.
        match unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } {
            0 => Ok(Self {
                reader,
                bytes: 0,
                has_ended: false,
                first: Vec::new(),
                last: VecDeque::new(),
                line: Vec::new(),
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The pipe, to be waited for.
    pub fn file(&self) -> i32 {
        self.reader.as_raw_fd()
    }

    /// Takes what is there, but not for ever from a command that writes faster than this reads.
    pub fn take(&mut self, line: &mut dyn FnMut(&[u8])) {
        const MOST_READS: u32 = 64;
        let mut buffer = [0; 16 << 10];
        for _ in 0..MOST_READS {
            match self.reader.read(&mut buffer) {
                Ok(0) => {
                    self.has_ended = true;
                    return;
                }
                Ok(size) => self.add(&buffer[..size], line),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// Takes what is left when the command has ended, the last line too where it has no end.
    pub fn rest(&mut self, line: &mut dyn FnMut(&[u8])) {
        self.take(line);
        if !self.line.is_empty() {
            line(&std::mem::take(&mut self.line));
        }
    }

    fn add(&mut self, bytes: &[u8], line: &mut dyn FnMut(&[u8])) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_programs_end_them() {
        let (read, write) = io::pipe().unwrap();
        let mut output = Output::new(read).unwrap();
        io::Write::write_all(&mut &write, b"fps=0\rfps=1\r\n\n\nfps=2\nend").unwrap();
        drop(write);
        let mut lines = Vec::new();
        output.rest(&mut |line| lines.push(String::from_utf8_lossy(line).into_owned()));
        assert_eq!(lines, ["fps=0", "fps=1", "fps=2", "end"]);
    }
}
