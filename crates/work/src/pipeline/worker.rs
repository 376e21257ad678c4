//! Work of one thread on each message.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::batch::Batch;
use super::input::Input;
use super::plan::{PARSE, Role, SERIALISE, SINK, SOURCE, TRANSFORM};
use super::port::{Halt, Port, Ports};
use super::stage::{Tallies, hash, parse, serialise, transform};
use crate::Error;

/// Lines that a lane takes at a time; a message's lines if that is more.
const BLOCK_LINES: u64 = 64;

/// The lines to process, shared by all threads.
pub struct Job<'a> {
    input: &'a Input,
    /// Number of lines; positions behind the input's last line wrap around.
    lines: u64,
    /// Time after which no block is taken.
    until: Option<Instant>,
    batch: u64,
    /// Position of the next block.
    next: AtomicU64,
    halt: &'a Halt<'a>,
}

impl<'a> Job<'a> {
    /// Creates a job of `lines` lines of an input, in messages of `batch`.
    pub const fn new(input: &'a Input, lines: u64, until: Option<Instant>, batch: usize, halt: &'a Halt<'a>) -> Self {
        Self { input, lines, until, batch: batch as u64, next: AtomicU64::new(0), halt }
    }

    /// Returns the next block of lines; empty if there is none.
    fn block(&self) -> Range<u64> {
        if self.until.is_some_and(|until| self.next.load(Ordering::Relaxed) > 0 && Instant::now() >= until) {
            return 0..0;
        }
        let length = BLOCK_LINES.max(self.batch);
        let begin = self.next.fetch_add(length, Ordering::Relaxed).min(self.lines);
        begin..begin.saturating_add(length).min(self.lines)
    }
}

/// Results of one thread, or of all threads together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Lines that sources took.
    pub taken: u64,
    /// Bytes of these lines.
    pub bytes: u64,
    /// Tallies of the transformation.
    pub tallies: Tallies,
    /// Lines that sinks counted.
    pub lines: u64,
    /// Sum of their hashes.
    pub checksum: u64,
    /// Begin of the first thread and end of the last one.
    pub times: Option<(Instant, Instant)>,
}

impl Found {
    /// Combines two results.
    pub fn merge(mut self, other: Self) -> Self {
        self.taken += other.taken;
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.checksum = self.checksum.wrapping_add(other.checksum);
        for (service, tally) in other.tallies {
            self.tallies.entry(service).or_default().add(tally.lines, tally.bytes);
        }
        let both = self.times.zip(other.times);
        self.times = both.map(|((begin, end), other)| (begin.min(other.0), end.max(other.1)));
        self
    }

    /// Returns the total time in seconds.
    pub fn seconds(&self) -> f64 {
        self.times.map_or(f64::NAN, |(begin, end)| (end - begin).as_secs_f64())
    }
}

impl Ports<'_> {
    /// Does a role until the lines end.
    ///
    /// # Errors
    /// The error of a stage; [`Error::Stopped`].
    pub fn serve(self, job: &Job<'_>, role: &Role) -> Result<Found, Error> {
        match self {
            Self::Alone(port) => serve(job, role, port),
            Self::Channel(port) => serve(job, role, port),
            Self::Ring(port) => serve(job, role, *port),
        }
    }
}

/// Does the stages of a role with each message until no more come.
///
/// # Errors
/// The error of a stage; [`Error::Stopped`].
fn serve(job: &Job<'_>, role: &Role, mut port: impl Port) -> Result<Found, Error> {
    let begin = Instant::now();
    let mut worker = Worker { job, block: 0..0, found: Found::default() };
    while let Some(mut token) = port.next()? {
        if !port.work(&mut token, |batch| worker.stages(&role.stages, batch))? {
            break;
        }
        port.pass(token)?;
    }
    port.finish()?;
    Ok(Found { times: Some((begin, Instant::now())), ..worker.found })
}

struct Worker<'a> {
    job: &'a Job<'a>,
    /// Lines that are taken and not yet sent.
    block: Range<u64>,
    found: Found,
}

impl Worker<'_> {
    /// Does some stages; false if there are no more lines.
    fn stages(&mut self, stages: &Range<usize>, batch: &mut Batch) -> Result<bool, Error> {
        for stage in stages.clone() {
            self.job.halt.go_on()?;
            match stage {
                SOURCE if !self.source(batch) => return Ok(false),
                PARSE => self.parse(batch)?,
                TRANSFORM => self.transform(batch)?,
                SERIALISE => self.serialise(batch)?,
                SINK => self.sink(batch),
                _ => {}
            }
        }
        Ok(true)
    }

    fn source(&mut self, batch: &mut Batch) -> bool {
        if self.block.is_empty() {
            self.block = self.job.block();
        }
        batch.first = self.block.start;
        for position in self.block.by_ref().take(self.job.batch as usize) {
            batch.text.extend_from_slice(self.job.input.line(position));
            batch.ends.push(batch.text.len());
        }
        self.found.taken += batch.ends.len() as u64;
        self.found.bytes += batch.text.len() as u64;
        !batch.ends.is_empty()
    }

    fn parse(&self, batch: &mut Batch) -> Result<(), Error> {
        let mut events = std::mem::take(&mut batch.events);
        for (position, line) in (batch.first..).zip(batch.lines()) {
            self.job.halt.go_on()?;
            events.push(parse(line).map_err(|error| self.job.input.broken(position, &error))?);
        }
        batch.events = events;
        Ok(())
    }

    fn transform(&mut self, batch: &mut Batch) -> Result<(), Error> {
        for event in &mut batch.events {
            self.job.halt.go_on()?;
            transform(event, &mut self.found.tallies);
        }
        Ok(())
    }

    fn serialise(&self, batch: &mut Batch) -> Result<(), Error> {
        batch.text.clear();
        batch.ends.clear();
        for event in batch.events.drain(..) {
            self.job.halt.go_on()?;
            serialise(&event, &mut batch.text);
            batch.ends.push(batch.text.len());
        }
        Ok(())
    }

    fn sink(&mut self, batch: &Batch) {
        for line in batch.lines() {
            self.found.lines += 1;
            self.found.checksum = self.found.checksum.wrapping_add(hash(line));
        }
    }
}
