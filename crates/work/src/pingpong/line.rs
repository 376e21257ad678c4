//! Line over which two ends send each other numbers: a word with a futex, a pair of pipes, or a pair of sockets.
//!
//! A third party can end each kind, and it also ends when either end is dropped; then no end waits any more. No clock is needed for that:
//! the word is set to an impossible number, the same number is written into the pipes, and the sockets are shut down.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use corewise_sys::ipc::Socket;
use corewise_sys::{atomic_wait, ipc};

use super::WakeupMeans;

/// Number that ends a line; no count reaches it.
pub const OVER: u32 = u32::MAX;
/// Largest number; counting wraps to zero after it.
const LAST: u32 = u32::MAX >> 1;
/// Maximum time of one sleep on a word.
const SLEEP: Duration = Duration::from_secs(1);

/// A word in a cache line, or a pair of lines, of its own.
#[repr(align(128))]
#[derive(Default)]
pub struct FutexWord(AtomicU32);

/// One end of a line.
pub enum LineEnd {
    /// The word; both ends have the same.
    Futex(Arc<FutexWord>),
    /// Reader of the other end's pipe, and writer to the other end.
    Pipe(PipeReader, PipeWriter),
    /// One of a connected pair.
    Socket(Socket),
}

/// Handle that ends a line.
pub enum LineEnder {
    /// The word.
    Futex(Arc<FutexWord>),
    /// Second handles of the pipes that the ends read.
    Pipe([PipeWriter; 2]),
    /// A second handle of either socket.
    Socket(Socket),
    /// Any other way, such as killing the process at the other end, which takes its end with it.
    Other(Box<dyn FnMut() + Send>),
}

/// Returns the next number; zero after [`LAST`].
pub const fn number_after(number: u32) -> u32 {
    number.wrapping_add(1) & LAST
}

/// Creates a line: its two ends, and the handle that ends it.
///
/// # Errors
/// If the operating system provides no pipe or socket.
pub fn open_line(by: WakeupMeans) -> io::Result<([LineEnd; 2], LineEnder)> {
    Ok(match by {
        WakeupMeans::Futex => {
            let word = Arc::new(FutexWord::default());
            ([LineEnd::Futex(word.clone()), LineEnd::Futex(word.clone())], LineEnder::Futex(word))
        }
        WakeupMeans::Pipe => {
            let ((a_reads, b_writes), (b_reads, a_writes)) = (io::pipe()?, io::pipe()?);
            let ender = LineEnder::Pipe([a_writes.try_clone()?, b_writes.try_clone()?]);
            ([LineEnd::Pipe(a_reads, a_writes), LineEnd::Pipe(b_reads, b_writes)], ender)
        }
        WakeupMeans::Socket => {
            let (a, b) = ipc::socket_pair()?;
            let ender = LineEnder::Socket(a.try_clone()?);
            ([LineEnd::Socket(a), LineEnd::Socket(b)], ender)
        }
    })
}

impl LineEnd {
    /// Sends the number after the last one heard (initially zero); false if the line was ended.
    ///
    /// # Errors
    /// If the operating system fails.
    #[inline]
    pub fn say_after(&mut self, heard: u32) -> io::Result<bool> {
        let number = number_after(heard);
        let said = match self {
            Self::Futex(word) => {
                // An ended word stays ended.
                let said = word.0.compare_exchange(heard, number, Ordering::AcqRel, Ordering::Acquire).is_ok();
                atomic_wait::wake_one(&word.0);
                return Ok(said);
            }
            Self::Pipe(_, writer) => writer.write_all(&number.to_ne_bytes()),
            Self::Socket(stream) => stream.write_all(&number.to_ne_bytes()),
        };
        said.map_or_else(|error| accept_end(error).map(|_| false), |()| Ok(true))
    }

    /// Sleeps until the other end sends another number than the last one sent; returns [`OVER`] if the line was ended.
    ///
    /// # Errors
    /// If the operating system fails.
    #[inline]
    pub fn hear_after(&mut self, said: u32) -> io::Result<u32> {
        let mut number = [0; size_of::<u32>()];
        let heard = match self {
            Self::Futex(word) => return sleep_on(&word.0, said),
            Self::Pipe(reader, _) => reader.read_exact(&mut number),
            Self::Socket(stream) => stream.read_exact(&mut number),
        };
        heard.map_or_else(accept_end, |()| Ok(u32::from_ne_bytes(number)))
    }
}

/// Dropping an end, for whatever reason, ends the line.
impl Drop for LineEnd {
    fn drop(&mut self) {
        match self {
            Self::Futex(word) => end_word(word),
            Self::Pipe(_, writer) => end_pipe(writer),
            Self::Socket(stream) => end_socket(stream),
        }
    }
}

/// Converts the loss of the other end to [`OVER`]: it ends the line, and is no error.
fn accept_end(error: io::Error) -> io::Result<u32> {
    match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof => Ok(OVER),
        _ => Err(error),
    }
}

fn sleep_on(word: &AtomicU32, said: u32) -> io::Result<u32> {
    loop {
        let number = word.load(Ordering::Acquire);
        if number != said {
            return Ok(number);
        }
        atomic_wait::wait_on_word(word, said, SLEEP)?;
    }
}

impl LineEnder {
    /// Ends the line: neither end waits after that.
    pub fn end_line(&mut self) {
        match self {
            Self::Futex(word) => end_word(word),
            Self::Pipe(writers) => writers.iter_mut().for_each(end_pipe),
            Self::Socket(stream) => end_socket(stream),
            Self::Other(end) => end(),
        }
    }
}

fn end_word(word: &FutexWord) {
    word.0.store(OVER, Ordering::Release);
    // Both may sleep on it for a moment: one has sent its number and the other has not yet read it.
    atomic_wait::wake_one(&word.0);
    atomic_wait::wake_one(&word.0);
}

/// Ends a pipe. A missing reader is no error. The pipe never fills up: it holds two numbers at most.
fn end_pipe(writer: &mut PipeWriter) {
    drop(writer.write_all(&OVER.to_ne_bytes()));
}

/// Shuts the socket down. Fails if the other end has done so already.
fn end_socket(stream: &Socket) {
    drop(stream.shutdown(Shutdown::Both));
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [WakeupMeans; 3] = [WakeupMeans::Futex, WakeupMeans::Pipe, WakeupMeans::Socket];

    #[test]
    fn numbers_go_back_and_forth_and_begin_again_after_the_last() {
        for by in KINDS {
            let ([mut a, mut b], _ender) = open_line(by).unwrap();
            assert!(a.say_after(0).unwrap());
            assert_eq!(b.hear_after(0).unwrap(), 1, "{by:?}");
            assert!(b.say_after(1).unwrap());
            assert_eq!(a.hear_after(1).unwrap(), 2, "{by:?}");
        }
        assert_eq!([number_after(LAST - 1), number_after(LAST), number_after(0)], [LAST, 0, 1]);
    }

    #[test]
    fn whoever_waits_hears_that_the_other_has_gone_or_that_the_line_was_ended() {
        for by in KINDS {
            let ([a, mut b], _ender) = open_line(by).unwrap();
            std::thread::scope(|scope| {
                let waits = scope.spawn(move || b.hear_after(0).unwrap());
                drop(a);
                assert_eq!(waits.join().unwrap(), OVER, "{by:?}");
            });
            let ([mut a, mut b], mut ender) = open_line(by).unwrap();
            std::thread::scope(|scope| {
                let wait =
                    [scope.spawn(move || a.hear_after(0).unwrap()), scope.spawn(move || b.hear_after(0).unwrap())];
                std::thread::sleep(Duration::from_millis(5));
                ender.end_line();
                assert_eq!(wait.map(|wait| wait.join().unwrap()), [OVER; 2], "{by:?}");
            });
        }
    }

    #[test]
    fn what_is_said_on_a_line_that_was_ended_is_not_heard() {
        let ([mut a, mut b], mut ender) = open_line(WakeupMeans::Futex).unwrap();
        ender.end_line();
        assert!(!a.say_after(0).unwrap());
        assert_eq!(b.hear_after(0).unwrap(), OVER);
    }
}
