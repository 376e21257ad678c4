//! A program of threads that wake each other as planted: four pairs by futex, a star by pipes, a ring by sockets.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use corewise_model::talk::WakeMeans;
use corewise_sys::atomic_wait::{wait_on_word, wake_one};
use corewise_sys::work::dependent_additions;

/// Pairs, leaves of the star, members of the ring.
const FOUR: usize = 4;

/// One end of a channel for tokens.
enum TokenEnd {
    Word(Arc<AtomicU32>),
    Stream(Box<dyn Stream>),
}

trait Stream: Send {
    fn put(&mut self);
    fn get(&mut self);
}

/// The end that is written, or the end that is read.
enum FileEnd<R, W> {
    Reader(R),
    Writer(W),
}

impl<R: Read + Send, W: Write + Send> Stream for FileEnd<R, W> {
    fn put(&mut self) {
        if let Self::Writer(writer) = self {
            let _ = writer.write_all(&[1]);
        }
    }

    fn get(&mut self) {
        if let Self::Reader(reader) = self {
            let _ = reader.read_exact(&mut [0]);
        }
    }
}

impl TokenEnd {
    fn put(&mut self) {
        match self {
            Self::Word(word) => {
                word.store(1, Ordering::Release);
                wake_one(word);
            }
            Self::Stream(stream) => stream.put(),
        }
    }

    fn get(&mut self) {
        match self {
            Self::Word(word) => {
                while word.swap(0, Ordering::AcqRel) == 0 {
                    let _ = wait_on_word(word, 0, Duration::from_secs(1));
                }
            }
            Self::Stream(stream) => stream.get(),
        }
    }
}

/// Returns the two ends of a channel: to write, to read.
fn channel(means: WakeMeans) -> [TokenEnd; 2] {
    match means {
        WakeMeans::Futex => {
            let word = Arc::new(AtomicU32::new(0));
            [TokenEnd::Word(Arc::clone(&word)), TokenEnd::Word(word)]
        }
        WakeMeans::Pipe => {
            let (reader, writer) = std::io::pipe().unwrap();
            type Ends = FileEnd<std::io::PipeReader, std::io::PipeWriter>;
            [TokenEnd::Stream(Box::new(Ends::Writer(writer))), TokenEnd::Stream(Box::new(Ends::Reader(reader)))]
        }
        _ => {
            let (reader, writer) = UnixStream::pair().unwrap();
            type Ends = FileEnd<UnixStream, UnixStream>;
            [TokenEnd::Stream(Box::new(Ends::Writer(writer))), TokenEnd::Stream(Box::new(Ends::Reader(reader)))]
        }
    }
}

/// A thread that takes tokens from some channels, one after the other, and puts one into the channel of each.
fn start_thread(name: String, mut channels: Vec<[TokenEnd; 2]>, begins: bool, additions: u32) {
    let run = move || {
        let mut turn = 0;
        let count = channels.len();
        if begins {
            channels[0][0].put();
        }
        loop {
            let [_, reader] = &mut channels[turn % count];
            reader.get();
            std::hint::black_box(dependent_additions(additions, 1));
            turn += 1;
            channels[turn % count][0].put();
        }
    };
    std::thread::Builder::new().name(name).spawn(run).unwrap();
}

/// Runs for some time; each thread computes some dependent additions between two tokens.
pub fn play_planted(additions: u32, time: Duration) {
    let begun = Instant::now();
    for pair in 0..FOUR {
        let ([a_out, b_in], [b_out, a_in]) = (channel(WakeMeans::Futex), channel(WakeMeans::Futex));
        start_thread(format!("p{pair}a"), vec![[a_out, a_in]], true, additions);
        start_thread(format!("p{pair}b"), vec![[b_out, b_in]], false, additions);
    }
    let mut of_hub = Vec::new();
    for leaf in 0..FOUR {
        let ([hub_out, leaf_in], [leaf_out, hub_in]) = (channel(WakeMeans::Pipe), channel(WakeMeans::Pipe));
        of_hub.push([hub_out, hub_in]);
        start_thread(format!("leaf{leaf}"), vec![[leaf_out, leaf_in]], false, additions);
    }
    start_thread("hub".into(), of_hub, true, additions);
    let (mut writers, mut readers): (Vec<_>, Vec<_>) =
        (0..FOUR).map(|_| channel(WakeMeans::Socket)).map(|[writer, reader]| (writer, reader)).unzip();
    readers.rotate_left(FOUR - 1);
    for member in 0..FOUR {
        // Its writer leads to the next one's reader.
        start_thread(format!("line{member}"), vec![[writers.remove(0), readers.remove(0)]], member == 0, additions);
    }
    std::thread::sleep(time.saturating_sub(begun.elapsed()));
}

/// Returns the planted edges: waker, wakee, means.
pub fn planted_edges() -> BTreeSet<(String, String, WakeMeans)> {
    let mut edges = BTreeSet::new();
    let mut plant = |waker: String, wakee: String, means| _ = edges.insert((waker, wakee, means));
    for number in 0..FOUR {
        plant(format!("p{number}a"), format!("p{number}b"), WakeMeans::Futex);
        plant(format!("p{number}b"), format!("p{number}a"), WakeMeans::Futex);
        plant("hub".into(), format!("leaf{number}"), WakeMeans::Pipe);
        plant(format!("leaf{number}"), "hub".into(), WakeMeans::Pipe);
        plant(format!("line{number}"), format!("line{}", (number + 1) % FOUR), WakeMeans::Socket);
    }
    edges
}
