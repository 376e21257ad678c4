//! The output of a command, read in bulk as it comes.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};

use crate::values::output_ends::OutputEnds;

/// Bytes per read; a pipe usually holds as many.
const READ_BYTES: usize = 64 << 10;
/// Maximum reads in a row before the command is checked again, which may write faster than this reads.
const MOST_READS: u32 = 16;

/// The output of a command that runs.
pub struct CapturedOutput {
    reader: File,
    buffer: Vec<u8>,
    /// First and last bytes of the output read.
    pub written: OutputEnds,
    /// True if all writers have closed it.
    pub has_ended: bool,
}

impl CapturedOutput {
    /// Reads from a pipe or a terminal's other end without ever waiting for it.
    pub fn new(reader: OwnedFd) -> io::Result<Self> {
        let reader = File::from(reader);
        // SAFETY: a call without memory on an open file.
        match unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } {
            0 => Ok(Self { reader, buffer: vec![0; READ_BYTES], written: OutputEnds::default(), has_ended: false }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the pipe's descriptor, for poll(2).
    pub fn pipe_descriptor(&self) -> i32 {
        self.reader.as_raw_fd()
    }

    /// Reads the available bytes, up to a limit, and passes them on.
    pub fn take_output(&mut self, receive: &mut dyn FnMut(&[u8])) {
        for _ in 0..MOST_READS {
            match self.reader.read(&mut self.buffer) {
                Ok(0) => {
                    self.has_ended = true;
                    return;
                }
                Ok(size) => {
                    let bytes = &self.buffer[..size];
                    self.written.add_bytes(bytes);
                    receive(bytes);
                    // The pipe was emptied: another read would most likely find nothing.
                    if size < READ_BYTES {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The end of a terminal that no process has open.
                Err(error) if error.raw_os_error() == Some(libc::EIO) => {
                    self.has_ended = true;
                    return;
                }
                Err(_) => return,
            }
        }
    }

    /// Takes all bytes that are left in the pipe after the command has ended.
    pub fn take_rest(&mut self, receive: &mut dyn FnMut(&[u8])) {
        let mut before = u64::MAX;
        while !self.has_ended && self.written.bytes != before {
            before = self.written.bytes;
            self.take_output(receive);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_arrive_in_their_order() {
        let (read, write) = io::pipe().unwrap();
        let mut output = CapturedOutput::new(read.into()).unwrap();
        let mut received = Vec::new();
        for piece in [&b"fps=0\rfps=1\r\n"[..], b"\n", b"end"] {
            io::Write::write_all(&mut &write, piece).unwrap();
            output.take_output(&mut |bytes| received.extend_from_slice(bytes));
        }
        assert!(!output.has_ended);
        drop(write);
        output.take_rest(&mut |bytes| received.extend_from_slice(bytes));
        assert!(output.has_ended);
        assert_eq!((received, output.written.bytes), (b"fps=0\rfps=1\r\n\nend".to_vec(), 17));
    }
}
