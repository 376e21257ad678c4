//! What two ends say numbers to each other over: a word that one sleeps on, a pair of pipes, or a pair of sockets.
//!
//! Each kind can be ended by a third party, and is ended when either end goes; then no end waits any more. Nobody needs to look at a clock
//! for that: the word is set to what it never counts to, the same is written into the pipes, and the sockets are shut.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use corewise_sys::ipc::Socket;
use corewise_sys::{atomic_wait, ipc};

use super::By;

/// The number that ends a line; no count gets there.
pub const OVER: u32 = u32::MAX;
/// Numbers begin again at zero after this.
const LAST: u32 = u32::MAX >> 1;
/// How long one sleep on a word lasts at most.
const SLEEP: Duration = Duration::from_secs(1);

/// A word with a cache line, or a pair of them, for itself.
#[repr(align(128))]
#[derive(Default)]
pub struct Word(AtomicU32);

/// One end of a line.
pub enum End {
    /// Both ends have the same word.
    Futex(Arc<Word>),
    /// What the other end writes, and what it reads.
    Pipe(PipeReader, PipeWriter),
    /// One of a connected pair.
    Socket(Socket),
}

/// Who can end a line.
pub enum Ender {
    /// The word.
    Futex(Arc<Word>),
    /// A second handle of what each end reads from.
    Pipe([PipeWriter; 2]),
    /// A second handle of either socket.
    Socket(Socket),
    /// Whatever else ends it: that of the process at the other end, which takes its end with it.
    Other(Box<dyn FnMut() + Send>),
}

/// The number after another; zero after [`LAST`].
pub const fn after(number: u32) -> u32 {
    number.wrapping_add(1) & LAST
}

/// A new line's two ends and who can end it.
///
/// # Errors
/// When the operating system gives no pipe or socket.
pub fn line(by: By) -> io::Result<([End; 2], Ender)> {
    Ok(match by {
        By::Futex => {
            let word = Arc::new(Word::default());
            ([End::Futex(word.clone()), End::Futex(word.clone())], Ender::Futex(word))
        }
        By::Pipe => {
            let ((a_reads, b_writes), (b_reads, a_writes)) = (io::pipe()?, io::pipe()?);
            let ender = Ender::Pipe([a_writes.try_clone()?, b_writes.try_clone()?]);
            ([End::Pipe(a_reads, a_writes), End::Pipe(b_reads, b_writes)], ender)
        }
        By::Socket => {
            let (a, b) = ipc::sockets()?;
            let ender = Ender::Socket(a.try_clone()?);
            ([End::Socket(a), End::Socket(b)], ender)
        }
    })
}

impl End {
    /// Says the number after the last one that was heard, or after zero; false where the line was ended.
    ///
    /// # Errors
    /// When the operating system does not take it.
    #[inline]
    pub fn say_after(&mut self, heard: u32) -> io::Result<bool> {
        let number = after(heard);
        let said = match self {
            Self::Futex(word) => {
                // A word that was ended stays so.
                let said = word.0.compare_exchange(heard, number, Ordering::AcqRel, Ordering::Acquire).is_ok();
                atomic_wait::wake(&word.0);
                return Ok(said);
            }
            Self::Pipe(_, writer) => writer.write_all(&number.to_ne_bytes()),
            Self::Socket(stream) => stream.write_all(&number.to_ne_bytes()),
        };
        said.map_or_else(|error| gone(error).map(|_| false), |()| Ok(true))
    }

    /// Sleeps until the other end says another number than the last one that was said; [`OVER`] where the line was ended.
    ///
    /// # Errors
    /// When the operating system fails.
    #[inline]
    pub fn hear_after(&mut self, said: u32) -> io::Result<u32> {
        let mut number = [0; size_of::<u32>()];
        let heard = match self {
            Self::Futex(word) => return sleep_on(&word.0, said),
            Self::Pipe(reader, _) => reader.read_exact(&mut number),
            Self::Socket(stream) => stream.read_exact(&mut number),
        };
        heard.map_or_else(gone, |()| Ok(u32::from_ne_bytes(number)))
    }
}

/// An end that goes, for whatever reason, ends the line.
impl Drop for End {
    fn drop(&mut self) {
        match self {
            Self::Futex(word) => end_word(word),
            Self::Pipe(_, writer) => end_pipe(writer),
            Self::Socket(stream) => end_socket(stream),
        }
    }
}

/// That the other end has gone ends the line, and is no error.
fn gone(error: io::Error) -> io::Result<u32> {
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
        atomic_wait::wait(word, said, SLEEP)?;
    }
}

impl Ender {
    /// Ends the line: neither end waits after that.
    pub fn end(&mut self) {
        match self {
            Self::Futex(word) => end_word(word),
            Self::Pipe(writers) => writers.iter_mut().for_each(end_pipe),
            Self::Socket(stream) => end_socket(stream),
            Self::Other(end) => end(),
        }
    }
}

fn end_word(word: &Word) {
    word.0.store(OVER, Ordering::Release);
    // Both may sleep on it for a moment: one of them has said its number and not yet been heard.
    atomic_wait::wake(&word.0);
    atomic_wait::wake(&word.0);
}

/// A reader that has gone needs no telling. A pipe never fills up: there are two numbers in it at most.
fn end_pipe(writer: &mut PipeWriter) {
    drop(writer.write_all(&OVER.to_ne_bytes()));
}

/// Fails where the other has done it already.
fn end_socket(stream: &Socket) {
    drop(stream.shutdown(Shutdown::Both));
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [By; 3] = [By::Futex, By::Pipe, By::Socket];

    #[test]
    fn numbers_go_back_and_forth_and_begin_again_after_the_last() {
        for by in KINDS {
            let ([mut a, mut b], _ender) = line(by).unwrap();
            assert!(a.say_after(0).unwrap());
            assert_eq!(b.hear_after(0).unwrap(), 1, "{by:?}");
            assert!(b.say_after(1).unwrap());
            assert_eq!(a.hear_after(1).unwrap(), 2, "{by:?}");
        }
        assert_eq!([after(LAST - 1), after(LAST), after(0)], [LAST, 0, 1]);
    }

    #[test]
    fn whoever_waits_hears_that_the_other_has_gone_or_that_the_line_was_ended() {
        for by in KINDS {
            let ([a, mut b], _ender) = line(by).unwrap();
            std::thread::scope(|scope| {
                let waits = scope.spawn(move || b.hear_after(0).unwrap());
                drop(a);
                assert_eq!(waits.join().unwrap(), OVER, "{by:?}");
            });
            let ([mut a, mut b], mut ender) = line(by).unwrap();
            std::thread::scope(|scope| {
                let wait =
                    [scope.spawn(move || a.hear_after(0).unwrap()), scope.spawn(move || b.hear_after(0).unwrap())];
                std::thread::sleep(Duration::from_millis(5));
                ender.end();
                assert_eq!(wait.map(|wait| wait.join().unwrap()), [OVER; 2], "{by:?}");
            });
        }
    }

    #[test]
    fn what_is_said_on_a_line_that_was_ended_is_not_heard() {
        let ([mut a, mut b], mut ender) = line(By::Futex).unwrap();
        ender.end();
        assert!(!a.say_after(0).unwrap());
        assert_eq!(b.hear_after(0).unwrap(), OVER);
    }
}
