//! Work of one thread on each message.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::batch::LineBatch;
use super::input::PipelineInput;
use super::port::{LanePorts, PipelineHalt, StagePort};
use super::roles::{PARSE, SERIALISE, SINK, SOURCE, StageRole, TRANSFORM};
use super::stage::{ServiceTallies, hash_line, parse, serialise_event, transform_event};
use crate::WorkError;

/// Lines that a lane takes at a time; a message's lines if that is more.
const BLOCK_LINES: u64 = 64;

/// The lines to process, shared by all threads.
pub struct PipelineJob<'a> {
    input: &'a PipelineInput,
    /// Number of lines; positions behind the input's last line wrap around.
    lines: u64,
    /// Time after which no block is taken.
    until: Option<Instant>,
    batch: u64,
    /// Position of the next block.
    next: AtomicU64,
    halt: &'a PipelineHalt<'a>,
}

impl<'a> PipelineJob<'a> {
    /// Creates a job of `lines` lines of an input, in messages of `batch`.
    pub const fn new(
        input: &'a PipelineInput,
        lines: u64,
        until: Option<Instant>,
        batch: usize,
        halt: &'a PipelineHalt<'a>,
    ) -> Self {
        Self { input, lines, until, batch: batch as u64, next: AtomicU64::new(0), halt }
    }

    /// Returns the next block of lines; empty if there is none.
    fn next_block(&self) -> Range<u64> {
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
pub struct WorkerResult {
    /// Lines that sources took.
    pub taken: u64,
    /// Bytes of these lines.
    pub bytes: u64,
    /// Tallies of the transformation.
    pub tallies: ServiceTallies,
    /// Lines that sinks counted.
    pub lines: u64,
    /// Sum of their hashes.
    pub checksum: u64,
    /// Begin of the first thread and end of the last one.
    pub times: Option<(Instant, Instant)>,
}

impl WorkerResult {
    /// Combines two results.
    pub fn merge_with(mut self, other: Self) -> Self {
        self.taken += other.taken;
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.checksum = self.checksum.wrapping_add(other.checksum);
        for (service, tally) in other.tallies {
            self.tallies.entry(service).or_default().add_events(tally.lines, tally.bytes);
        }
        let both = self.times.zip(other.times);
        self.times = both.map(|((begin, end), other)| (begin.min(other.0), end.max(other.1)));
        self
    }

    /// Returns the total time in seconds.
    pub fn total_seconds(&self) -> f64 {
        self.times.map_or(f64::NAN, |(begin, end)| (end - begin).as_secs_f64())
    }
}

impl LanePorts<'_> {
    /// Does a role until the lines end.
    ///
    /// # Errors
    /// The error of a stage; [`WorkError::Stopped`].
    pub fn serve_role(self, job: &PipelineJob<'_>, role: &StageRole) -> Result<WorkerResult, WorkError> {
        match self {
            Self::Alone(port) => serve_port(job, role, port),
            Self::Channel(port) => serve_port(job, role, port),
            Self::Ring(port) => serve_port(job, role, *port),
        }
    }
}

/// Does the stages of a role with each message until no more come.
///
/// # Errors
/// The error of a stage; [`WorkError::Stopped`].
fn serve_port(job: &PipelineJob<'_>, role: &StageRole, mut port: impl StagePort) -> Result<WorkerResult, WorkError> {
    let begin = Instant::now();
    let mut worker = PipelineWorker { job, block: 0..0, found: WorkerResult::default() };
    while let Some(mut token) = port.next_message()? {
        if !port.work_on(&mut token, |batch| worker.run_stages(&role.stages, batch))? {
            break;
        }
        port.pass_message(token)?;
    }
    port.finish_messages()?;
    Ok(WorkerResult { times: Some((begin, Instant::now())), ..worker.found })
}

struct PipelineWorker<'a> {
    job: &'a PipelineJob<'a>,
    /// Lines that are taken and not yet sent.
    block: Range<u64>,
    found: WorkerResult,
}

impl PipelineWorker<'_> {
    /// Does some stages; false if there are no more lines.
    fn run_stages(&mut self, stages: &Range<usize>, batch: &mut LineBatch) -> Result<bool, WorkError> {
        for stage in stages.clone() {
            self.job.halt.check_halt()?;
            match stage {
                SOURCE if !self.fill_batch(batch) => return Ok(false),
                PARSE => self.parse(batch)?,
                TRANSFORM => self.transform_batch(batch)?,
                SERIALISE => self.serialise_batch(batch)?,
                SINK => self.take_batch(batch),
                _ => {}
            }
        }
        Ok(true)
    }

    fn fill_batch(&mut self, batch: &mut LineBatch) -> bool {
        if self.block.is_empty() {
            self.block = self.job.next_block();
        }
        batch.first = self.block.start;
        for position in self.block.by_ref().take(self.job.batch as usize) {
            batch.text.extend_from_slice(self.job.input.line_at(position));
            batch.ends.push(batch.text.len());
        }
        self.found.taken += batch.ends.len() as u64;
        self.found.bytes += batch.text.len() as u64;
        !batch.ends.is_empty()
    }

    fn parse(&self, batch: &mut LineBatch) -> Result<(), WorkError> {
        let mut events = std::mem::take(&mut batch.events);
        for (position, line) in (batch.first..).zip(batch.text_lines()) {
            self.job.halt.check_halt()?;
            events.push(parse(line).map_err(|error| self.job.input.broken_line(position, &error))?);
        }
        batch.events = events;
        Ok(())
    }

    fn transform_batch(&mut self, batch: &mut LineBatch) -> Result<(), WorkError> {
        for event in &mut batch.events {
            self.job.halt.check_halt()?;
            transform_event(event, &mut self.found.tallies);
        }
        Ok(())
    }

    fn serialise_batch(&self, batch: &mut LineBatch) -> Result<(), WorkError> {
        batch.text.clear();
        batch.ends.clear();
        for event in batch.events.drain(..) {
            self.job.halt.check_halt()?;
            serialise_event(&event, &mut batch.text);
            batch.ends.push(batch.text.len());
        }
        Ok(())
    }

    fn take_batch(&mut self, batch: &LineBatch) {
        for line in batch.text_lines() {
            self.found.lines += 1;
            self.found.checksum = self.found.checksum.wrapping_add(hash_line(line));
        }
    }
}
