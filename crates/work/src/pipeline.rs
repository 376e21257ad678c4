//! Benchmark of channels: threads parse log events, change them, write them again, and send them to each other.

mod batch;
mod generate;
mod input;
mod port;
mod roles;
mod stage;
pub mod straight;
#[cfg(test)]
mod tests;
mod worker;

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use corewise_machine::ring::RingSlots;
use corewise_model::metric_line::MetricLine;
use corewise_sys::ring;

use crate::settings::WorkloadHost;
use crate::{WorkError, WorkloadLimit, WorkloadReport, WorkloadSettings, WorkloadSize, crew};
pub use generate::EVENTS;
pub use input::PipelineInput;
use port::{LanePorts, PipelineHalt};
pub use roles::LANE_THREADS;
pub use stage::{ServiceTallies, ServiceTally};
use worker::{PipelineJob, WorkerResult};

/// Bytes of the usual size: some seconds on one cpu of today.
const USUAL_BYTES: f64 = 800e6;
/// Maximum lines in one link, so that memory is bounded.
const MOST_LINES: usize = 1 << 14;

/// The workload's own options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineOptions {
    /// Link between the threads of a lane.
    pub via: MessageTransport,
    /// Lines in one message; at least 1.
    pub batch: usize,
    /// Messages that fit into a link before its sender waits; at least 1. A ring rounds it up to a power of two. Times the batch it is at
    /// most 16384 lines.
    pub capacity: usize,
    /// Maximum threads over which the five stages of one lane are spread: from 1, which needs no messages, to 5, one for each stage.
    pub lane_threads: usize,
    /// A file of JSON lines, each an object; `None` for generated events.
    pub input: Option<PathBuf>,
}

impl Default for PipelineOptions {
    /// Returns the defaults: one line in a message, and three threads in a lane.
    fn default() -> Self {
        Self { via: MessageTransport::Channel, batch: 1, capacity: ring::CAPACITY, lane_threads: 3, input: None }
    }
}

/// Kind of link between threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageTransport {
    /// A bounded channel of crossbeam-channel; its ends sleep during long waits. A message is fresh memory that one thread allocates and
    /// another frees.
    Channel,
    /// A ring of our own; its ends spin. Messages are places of a slab, which are reused.
    Ring(RingSlots),
}

/// Passes JSON lines through five stages. The source copies a line of the input, and parse makes an object of it. Transform removes,
/// renames and adds fields and tallies bytes per service. Serialise makes a line of it again, and the sink counts lines and sums their
/// hashes.
///
/// A lane is a chain of threads that do these stages, each next to the one it sends to. With 1 thread it does all of it. With 2 it has
/// "parse" (from the source on) and "serialise" (transform to sink). With 3 it has "parse", "transform" and "serialise" (with the sink),
/// with 4 "source" too, with 5 "sink" too. The threads of the settings make the fewest lanes that [`PipelineOptions::lane_threads`] allows, of
/// nearly equal length. Threads (and the cpus of the settings) are counted lane by lane, in the order of the stages. Lanes take the lines
/// in blocks from a common count. Each name ends in the lane's number: "parse 1" is of the second lane. A lane's only thread is "pipeline
/// 0".
///
/// The limit is communication. A line is written by one cpu and read by the next, and so are the channel's positions and slots. The last
/// thread frees memory that parse allocated. That is cheap on cpus that share a cache; across caches it can cost more than parsing. A lane
/// of several threads may well be slower than one thread that does all and sends nothing. Lanes of one thread ([`PipelineOptions::lane_threads`] 1)
/// show by how much.
///
/// The usual size is 800 MB of lines: the input again and again, up to a last line. Generated events are 16384 lines of 200 to 1000 bytes.
/// The number of lines, the sum of the hashes and the tallies are compared with the same transformation written a second time without
/// stages, on one thread. For generated events the tallies are also compared with closed forms. Its speed was compared with [`straight`],
/// the same loop over plain threads: they were equally fast.
///
/// # Errors
/// As every workload; a file is a wrong input if it is too large (256 MiB), or has a line that is longer than 64 KiB or not a JSON object.
pub fn run(
    settings: &WorkloadSettings,
    options: &PipelineOptions,
    company: &mut WorkloadHost<'_>,
) -> Result<WorkloadReport, WorkError> {
    options.check_options()?;
    (company.progress)(if options.input.is_some() { "reading events" } else { "generating events" });
    let input = match &options.input {
        Some(path) => PipelineInput::read_file(path, company.stop)?,
        None => PipelineInput::from_seed(settings.seed),
    };
    (company.progress)("passing events on");
    let found = pass_lines(settings, options, &input, PipelineHalt::new(company.stop))?;
    (company.progress)("repeating it sequentially");
    let checked = check_result(&found, &input, company)?;
    let seconds = found.total_seconds();
    let metrics = vec![
        MetricLine::new("megabytes_per_second", found.bytes as f64 / 1e6 / seconds),
        MetricLine::new("lines_per_second", found.lines as f64 / seconds),
    ];
    let checksum = matches!(settings.size, WorkloadSize::Share(_)).then_some(found.checksum);
    Ok(WorkloadReport { metrics, limit: WorkloadLimit::Communication, checked, checksum })
}

impl PipelineOptions {
    fn check_options(&self) -> Result<(), WorkError> {
        let wrong = |what: &str, why: String| Err(WorkError::Input { what: what.into(), why });
        if !(1..=LANE_THREADS).contains(&self.lane_threads) {
            return wrong("threads of a lane", format!("between 1 and {LANE_THREADS}, not {}", self.lane_threads));
        }
        let fits = self.batch.checked_mul(self.capacity).is_some_and(|lines| (1..=MOST_LINES).contains(&lines));
        if !fits {
            let why = format!("at least 1 each, and at most {MOST_LINES} lines in all");
            return wrong("lines in a message and messages in a link", why);
        }
        Ok(())
    }
}

/// Returns the number of lines of a size, and the time for which lines are taken.
///
/// # Errors
/// If the size is invalid.
pub fn count_lines(size: WorkloadSize, input: &PipelineInput) -> Result<(u64, Option<Duration>), WorkError> {
    match size {
        WorkloadSize::Time(time) => Ok((u64::MAX, Some(time))),
        WorkloadSize::Share(share) if share.is_finite() && share > 0.0 && share <= 1e6 => {
            let mean_bytes = (input.total_bytes() as f64 / input.line_count() as f64).max(1.0);
            Ok(((share * USUAL_BYTES / mean_bytes).ceil() as u64, None))
        }
        WorkloadSize::Share(share) => Err(WorkError::Input {
            what: "size".into(),
            why: format!("more than 0 and at most a million, not {share}"),
        }),
    }
}

/// Runs the timed part.
fn pass_lines(
    settings: &WorkloadSettings,
    options: &PipelineOptions,
    input: &PipelineInput,
    halt: PipelineHalt<'_>,
) -> Result<WorkerResult, WorkError> {
    let roles = roles::assign_roles(settings.threads, options.lane_threads);
    let ports: Vec<_> =
        LanePorts::from_roles(&roles, options, &halt)?.into_iter().map(|port| Mutex::new(Some(port))).collect();
    let (lines, time) = count_lines(settings.size, input)?;
    // A time beyond the clock's range never ends.
    let until = time.and_then(|time| Instant::now().checked_add(time));
    let job = PipelineJob::new(input, lines, until, options.batch, &halt);
    // Unused ends of channels would keep the other ends waiting.
    let take = |thread: usize| ports[thread].lock().ok().and_then(|mut port| port.take());
    let fails = || {
        halt.note_failure();
        (0..ports.len()).for_each(|thread| drop(take(thread)));
    };
    let work = |thread: usize| take(thread).ok_or(WorkError::Stopped)?.serve_role(&job, &roles[thread]);
    let found = crew::run_together(settings, |thread| roles[thread].role_name(), fails, work)?;
    Ok(found.into_iter().reduce(WorkerResult::merge_with).unwrap_or_default())
}

/// Checks the result; returns a description of the check.
fn check_result(found: &WorkerResult, input: &PipelineInput, company: &WorkloadHost<'_>) -> Result<String, WorkError> {
    let expected = straight::run_alone(input, found.taken, company.stop)?;
    let same = |what: &str, found: u64, expected: u64| match found == expected {
        true => Ok(()),
        false => Err(WorkError::Wrong(format!("{what}: {found}, but {expected} sequentially"))),
    };
    same("lines", found.lines, found.taken)?;
    same("bytes", found.bytes, expected.bytes)?;
    same("checksum of the output", found.checksum, expected.checksum)?;
    if found.tallies != expected.tallies {
        return Err(WorkError::Wrong("the counts differ from those of the sequential run".into()));
    }
    if input.is_generated() && found.tallies != generate::expected_tallies(found.taken) {
        return Err(WorkError::Wrong("the counts differ from those of the generated events".into()));
    }
    let closed = if input.is_generated() { ", and the counts by their closed form" } else { "" };
    Ok(format!("all {} lines exactly, against an independent sequential implementation{closed}", found.lines))
}
