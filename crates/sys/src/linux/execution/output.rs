//! What a command writes, read as it comes.

use std::io::{self, PipeReader, Read as _};
use std::os::fd::AsRawFd as _;

use crate::values::written::Written;

/// The output of a command that runs.
pub struct Output {
    reader: PipeReader,
    /// What was read of it.
    pub written: Written,
    /// Whether all who could write have closed it.
    pub has_ended: bool,
}

impl Output {
    /// Reads from a pipe without ever waiting for it.
    pub fn new(reader: PipeReader) -> io::Result<Self> {
        // SAFETY: a call without memory on an open file.
        match unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } {
            0 => Ok(Self { reader, written: Written::default(), has_ended: false }),
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
                Ok(size) => self.written.add(&buffer[..size], line),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// Takes what is left when the command has ended, the last line too where it has no end.
    pub fn rest(&mut self, line: &mut dyn FnMut(&[u8])) {
        self.take(line);
        self.written.end(line);
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
