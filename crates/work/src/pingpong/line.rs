//! What two ends say numbers to each other over: a word that one sleeps on, a pair of pipes, or a pair of sockets.
//!
//! Each kind can be ended by a third party, and then no end waits any more. Nobody needs to look at a clock for that: the word is set to what
//! it never counts to, the same is written into the pipes, and the sockets are shut.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use corewise_sys::linux::futex;

use super::By;

/// The number that ends a line; no count gets there.
pub const OVER: u32 = u32::MAX;
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
    Socket(UnixStream),
}

/// Who can end a line.
pub enum Ender {
    /// The word.
    Futex(Arc<Word>),
    /// A second handle of what each end reads from.
    Pipe([PipeWriter; 2]),
    /// A second handle of either socket.
    Socket(UnixStream),
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
            let (a, b) = UnixStream::pair()?;
            let ender = Ender::Socket(a.try_clone()?);
            ([End::Socket(a), End::Socket(b)], ender)
        }
    })
}

impl End {
    /// Says the number after `heard`, the last one that was heard or zero; false where the line was ended.
    ///
    /// # Errors
    /// When the operating system does not take it, or the other end has gone.
    #[inline]
    pub fn say_after(&mut self, heard: u32) -> io::Result<bool> {
        match self {
            Self::Futex(word) => {
                // A word that was ended stays so.
                let said = word.0.compare_exchange(heard, heard + 1, Ordering::AcqRel, Ordering::Acquire).is_ok();
                futex::wake(&word.0);
                return Ok(said);
            }
            Self::Pipe(_, writer) => writer.write_all(&(heard + 1).to_ne_bytes())?,
            Self::Socket(stream) => stream.write_all(&(heard + 1).to_ne_bytes())?,
        }
        Ok(true)
    }

    /// Sleeps until the other end says a number after `said`, the last one that was said or zero; [`OVER`] where the line was ended.
    ///
    /// # Errors
    /// When the operating system fails, or the other end has gone.
    #[inline]
    pub fn hear_after(&mut self, said: u32) -> io::Result<u32> {
        let mut number = [0; size_of::<u32>()];
        match self {
            Self::Futex(word) => return sleep_on(&word.0, said),
            Self::Pipe(reader, _) => reader.read_exact(&mut number)?,
            Self::Socket(stream) => stream.read_exact(&mut number)?,
        }
        Ok(u32::from_ne_bytes(number))
    }
}

fn sleep_on(word: &AtomicU32, said: u32) -> io::Result<u32> {
    loop {
        let number = word.load(Ordering::Acquire);
        if number != said {
            return Ok(number);
        }
        futex::wait(word, said, SLEEP)?;
    }
}

impl Ender {
    /// Ends the line: neither end waits after that.
    pub fn end(&mut self) {
        match self {
            Self::Futex(word) => {
                word.0.store(OVER, Ordering::Release);
                // Both may sleep on it for a moment: one of them has said its number and not yet been heard.
                futex::wake(&word.0);
                futex::wake(&word.0);
            }
            // One whose end has gone needs no telling, and is no error.
            Self::Pipe(writers) => writers.iter_mut().for_each(|writer| drop(writer.write_all(&OVER.to_ne_bytes()))),
            Self::Socket(stream) => drop(stream.shutdown(Shutdown::Both)),
        }
    }
}
