//! Watches a program that runs, without running on its cpus: who interrupts it, from the kernel's events or its accounts.

mod accounts;

use std::io;
use std::time::{Duration, Instant};

use corewise_machine::event::EventSource;
use corewise_machine::{CpuSet, Gap};
use corewise_model::beside::{BesideOutcome, ProgramFollower};
use corewise_sys::cpuset;
use corewise_sys::events::{EventInterest, EventRecorder};
use corewise_sys::process::sees_all_numbers;
use corewise_sys::task;
use corewise_sys::thread::{monotonic_raw_ns, own_number};

pub use accounts::AccountsReader;

use crate::kernel_events::{MORE_FILES, read_surroundings};
use crate::streams::{CpuStreams, EventBatch};

/// What is wanted of the cpus that the program runs on.
const OF_ITS_CPUS: [EventInterest; 7] = [
    EventInterest::Interrupts,
    EventInterest::Switches,
    EventInterest::PageFaults,
    EventInterest::Functions,
    EventInterest::Senders,
    EventInterest::Migrations,
    EventInterest::Tasks,
];
/// What is wanted of all others: what they do to the program's.
const OF_OTHERS: [EventInterest; 3] = [EventInterest::Senders, EventInterest::Migrations, EventInterest::Tasks];

/// How often events are taken out of their buffers.
pub const INTERVAL: Duration = Duration::from_millis(100);

/// Opens the way to the kernel's events.
///
/// # Errors
/// The gap that says why there is none.
pub fn open_recorder() -> Result<EventRecorder, Gap> {
    let recorder = EventRecorder::open(EventSource::Perf, &[&OF_ITS_CPUS])?;
    // perf tells which events are of the thread that starts the program; ftrace has numbers alone.
    if recorder.event_source() == EventSource::Ftrace && !sees_all_numbers() {
        return Err(Gap::new(
            "causes of stalls",
            "perf's tracepoints are refused, and ftrace has different process numbers",
        )
        .cured_by("run with CAP_PERFMON, or outside the container"));
    }
    Ok(recorder)
}

/// A program that is watched by the kernel's events.
#[derive(Debug)]
pub struct EventWatcher<'a> {
    recorder: &'a EventRecorder,
    streams: CpuStreams<'a>,
    follow: ProgramFollower,
    watched: CpuSet,
    refused: CpuSet,
    gaps: Vec<Gap>,
}

impl<'a> EventWatcher<'a> {
    /// Makes the tracepoints live and begins to watch some cpus, for a program that the calling thread starts afterwards.
    /// The cpus are at rest again some 100 ms later.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new(recorder: &'a EventRecorder, cpus: &CpuSet) -> io::Result<Self> {
        let online = cpuset::online_cpus();
        let others = online.difference(cpus);
        let enabled = recorder.enable_events(&OF_ITS_CPUS)?;
        let mut watcher = Self {
            recorder,
            streams: CpuStreams::new(enabled, online.len()),
            follow: ProgramFollower::new(read_surroundings(None)),
            watched: CpuSet::default(),
            refused: CpuSet::default(),
            gaps: recorder.gaps.clone(),
        };
        for cpu in cpus.iter() {
            match watcher.watch_cpu(cpu) {
                Err(error) if watcher.watched.is_empty() => return Err(error),
                Err(error) => {
                    watcher.refuse_cpu(cpu, &error);
                    break;
                }
                Ok(()) => {}
            }
        }
        for cpu in others.iter() {
            if let Err(error) = watcher.streams.open(cpu, &OF_OTHERS) {
                let what = format!("what cpu {cpu} and the following cpus send to the command's");
                watcher.gaps.push(Gap::new(what, error.to_string()).cured_by(MORE_FILES));
                break;
            }
        }
        Ok(watcher)
    }

    fn watch_cpu(&mut self, cpu: u32) -> io::Result<()> {
        self.streams.open(cpu, &OF_ITS_CPUS)?;
        self.follow.watch_cpu(cpu);
        self.watched.insert(cpu);
        Ok(())
    }

    /// A cpu cannot be watched; said once, since those after it cannot either.
    fn refuse_cpu(&mut self, cpu: u32, error: &io::Error) {
        if self.refused.is_empty() {
            let what = format!("what it did on cpu {cpu} and others");
            self.gaps.push(Gap::new(what, error.to_string()).cured_by(MORE_FILES));
        }
        self.refused.insert(cpu);
    }

    /// The program was started; its first process has this number for the calling thread, which started it.
    pub fn begin_program(&mut self, child: u32) {
        let batch = self.streams.drain_all();
        let starter = if batch.own_task == 0 { own_number() } else { batch.own_task };
        self.follow.expect_child_of(starter);
        self.take_batch(&batch);
        if !self.follow.has_threads() {
            // Its making was lost. Where this process does not see the whole system, the number is another's there.
            self.follow.adopt_task(child, &task::thread_name(child, child).unwrap_or_default());
        }
    }

    /// Takes the events out of their buffers; how long to wait for the next time.
    pub fn drain_events(&mut self) -> Duration {
        let begun = Instant::now();
        let batch = self.streams.drain_settled();
        self.take_batch(&batch);
        for cpu in self.follow.take_unwatched().difference(&self.refused).iter() {
            if let Err(error) = self.watch_cpu(cpu) {
                self.refuse_cpu(cpu, &error);
            }
        }
        // Where there is more to do than time, the buffers are emptied without a pause.
        INTERVAL.saturating_sub(begun.elapsed())
    }

    fn take_batch(&mut self, batch: &EventBatch) {
        batch.lost.iter().for_each(|(cpu, events)| self.follow.note_lost(*cpu, *events));
        batch.events.iter().for_each(|event| self.follow.take_event(event));
        // Numbers of tasks are the system's; they mean the same here only where this process sees the whole system.
        if batch.own_task == 0 || batch.own_task == own_number() {
            for number in self.follow.unnamed_senders() {
                self.follow.name_task(number, task::thread_name(number, number).unwrap_or_default());
            }
        }
    }

    /// Ends watching.
    pub fn finish_watching(mut self) -> WatchedCommand {
        let until_ns = monotonic_raw_ns();
        let batch = self.streams.drain_all();
        self.take_batch(&batch);
        let event_source = self.recorder.event_source();
        let report = self.follow.into_report(until_ns, event_source);
        WatchedCommand {
            event_source,
            cpus: self.watched,
            seen: BesideOutcome::Events(Box::new(report)),
            gaps: self.gaps,
        }
    }
}

/// What was seen of a program.
#[derive(Debug)]
pub struct WatchedCommand {
    /// How much could be seen.
    pub event_source: EventSource,
    /// The cpus that were watched.
    pub cpus: CpuSet,
    /// What interrupted it.
    pub seen: BesideOutcome,
    /// What could not be seen.
    pub gaps: Vec<Gap>,
}
