//! Watches a running program for interruptions, by the kernel's events or accounts, without running on the program's cpus.

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

use crate::cpu_streams::{CpuStreams, EventBatch};
use crate::kernel_events::{MORE_FILES, read_surroundings};

/// Events recorded on the program's cpus.
const OF_ITS_CPUS: [EventInterest; 7] = [
    EventInterest::Interrupts,
    EventInterest::Switches,
    EventInterest::PageFaults,
    EventInterest::Functions,
    EventInterest::Senders,
    EventInterest::Migrations,
    EventInterest::Tasks,
];
/// Events recorded on all other cpus: their effects on the program's cpus.
const OF_OTHERS: [EventInterest; 3] = [EventInterest::Senders, EventInterest::Migrations, EventInterest::Tasks];

/// Interval at which events are taken out of their buffers.
pub const INTERVAL: Duration = Duration::from_millis(100);

/// Opens a recorder of the kernel's events, by perf if possible.
///
/// # Errors
/// A gap with the reason if events are not available.
pub fn open_recorder() -> Result<EventRecorder, Gap> {
    let recorder = EventRecorder::open(EventSource::Perf, &[&OF_ITS_CPUS])?;
    // perf identifies the events of the thread that starts the program; ftrace has only numbers.
    if recorder.event_source() == EventSource::Ftrace && !sees_all_numbers() {
        return Err(Gap::new(
            "causes of stalls",
            "perf's tracepoints are refused, and ftrace has different process numbers",
        )
        .cured_by("run with CAP_PERFMON, or outside the container"));
    }
    Ok(recorder)
}

/// Watches a program by the kernel's events.
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
    /// Enables the tracepoints and begins to watch some cpus, for a program that the calling thread starts afterwards.
    /// The cpus are at rest again some 100 ms later.
    ///
    /// # Errors
    /// The kernel's error if the tracepoints cannot be enabled or the first cpu cannot be watched.
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

    /// Notes a cpu that cannot be watched. Only the first one adds a gap, since the following cpus cannot be watched either.
    fn refuse_cpu(&mut self, cpu: u32, error: &io::Error) {
        if self.refused.is_empty() {
            let what = format!("what it did on cpu {cpu} and others");
            self.gaps.push(Gap::new(what, error.to_string()).cured_by(MORE_FILES));
        }
        self.refused.insert(cpu);
    }

    /// Begins to follow the program, which the calling thread has started. `child` is its first process's number, as that thread sees it.
    pub fn begin_program(&mut self, child: u32) {
        let batch = self.streams.drain_all();
        let starter = if batch.own_task == 0 { own_number() } else { batch.own_task };
        self.follow.expect_child_of(starter);
        self.take_batch(&batch);
        if !self.follow.has_threads() {
            // The event of its creation was lost. If this process does not see the whole system, that number may be another task's.
            self.follow.adopt_task(child, &task::thread_name(child, child).unwrap_or_default());
        }
    }

    /// Begins to follow a process that runs already, with its descendants. Its threads are known by their numbers, so this process must see
    /// the whole system's.
    pub fn follow_process(&mut self, process: u32) {
        let batch = self.streams.drain_all();
        self.take_batch(&batch);
        let processes =
            std::iter::once(process).chain(task::descendant_processes(process).into_iter().map(|one| one.number));
        for process in processes.collect::<Vec<_>>() {
            for thread in task::thread_numbers(process) {
                self.follow.adopt_task(thread, &task::thread_name(process, thread).unwrap_or_default());
            }
        }
    }

    /// Takes the events out of their buffers. Returns the time to wait before the next call.
    pub fn drain_events(&mut self) -> Duration {
        let begun = Instant::now();
        let batch = self.streams.drain_settled();
        self.take_batch(&batch);
        for cpu in self.follow.take_unwatched().difference(&self.refused).iter() {
            if let Err(error) = self.watch_cpu(cpu) {
                self.refuse_cpu(cpu, &error);
            }
        }
        // If emptying the buffers takes longer than the interval, there is no pause.
        INTERVAL.saturating_sub(begun.elapsed())
    }

    fn take_batch(&mut self, batch: &EventBatch) {
        batch.lost.iter().for_each(|(cpu, events)| self.follow.note_lost(*cpu, *events));
        batch.events.iter().for_each(|event| self.follow.take_event(event));
        // Task numbers in events are the system's. They are valid here only if this process sees the whole system.
        if batch.own_task == 0 || batch.own_task == own_number() {
            for number in self.follow.unnamed_senders() {
                self.follow.name_task(number, task::thread_name(number, number).unwrap_or_default());
            }
        }
    }

    /// Ends watching and returns the result.
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

/// Result of watching a program.
#[derive(Debug)]
pub struct WatchedCommand {
    /// Source of the observations.
    pub event_source: EventSource,
    /// The cpus that were watched.
    pub cpus: CpuSet,
    /// Interruptions of the program.
    pub seen: BesideOutcome,
    /// Facts that are not available.
    pub gaps: Vec<Gap>,
}
