//! Wakes from perf's ring: each is an event that is read and counted here. A dedicated thread reads the rings, which borrow the recorder.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use corewise_machine::Gap;
use corewise_machine::event::{EventKind, EventSource, KernelEvent};
use corewise_model::talk::{TalkSource, WakeMeans};
use corewise_sys::cpuset::online_cpus;
use corewise_sys::events::{EventInterest, EventRecorder};
use corewise_sys::process::{process_of, sees_all_numbers};
use corewise_sys::thread::own_number;
use corewise_sys::wakes::{WakeOrigin, WakeTask};

use super::assemble::{SeenTalk, SeenWakes};
use super::roster::ThreadRoster;
use crate::cpu_streams::CpuStreams;

const INTERESTS: [EventInterest; 2] = [EventInterest::Wakes, EventInterest::Tasks];
/// Interval at which events are taken out of their rings.
const INTERVAL: Duration = Duration::from_millis(50);
/// Most pairs of threads that are counted.
const MOST_PAIRS: usize = 1 << 16;
const WHAT: &str = "wakes from perf's ring";

/// Counts wakes on a thread of its own.
#[derive(Debug)]
pub struct RingTalk {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<WakeTally>>,
}

impl RingTalk {
    /// Begins to count the wakes of the roster's threads.
    ///
    /// # Errors
    /// The gap that says why the kernel refuses.
    pub fn open(roster: &ThreadRoster) -> Result<Self, Gap> {
        if !sees_all_numbers() {
            return Err(Gap::new(WHAT, "processes have numbers of their own in this container"));
        }
        let mut tally = WakeTally::default();
        tally.watched.extend(roster.threads.iter().map(|(number, thread)| (*number, thread.process)));
        tally.parent = roster.follows_children().then(own_number);
        let is_over = Arc::new(AtomicBool::new(false));
        let (opened, answer) = sync_channel(1);
        let over = Arc::clone(&is_over);
        let thread = std::thread::Builder::new()
            .name("corewise-wakes".to_owned())
            .spawn(move || tally.count_until(&over, &opened))
            .map_err(|error| Gap::new(WHAT, format!("no thread can be started: {error}")))?;
        let mut ring = Self { is_over, thread: Some(thread) };
        match answer.recv() {
            Ok(Ok(())) => Ok(ring),
            Ok(Err(gap)) => Err(gap),
            Err(_) => Err(ring.thread.take().map_or_else(
                || Gap::new(WHAT, "its thread ended"),
                |thread| {
                    let why = if thread.join().is_err() { "its thread failed" } else { "its thread ended" };
                    Gap::new(WHAT, why)
                },
            )),
        }
    }

    /// Does nothing: its thread counts.
    pub fn step(&self) {}

    /// Ends counting.
    pub fn finish(mut self, roster: &mut ThreadRoster) -> SeenTalk {
        self.is_over.store(true, Ordering::Relaxed);
        let tally = self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        roster.processes.extend(tally.watched.values());
        let name = |number| corewise_sys::task::thread_name(number, number).unwrap_or_default();
        let task =
            |(thread, process): (&u32, &u32)| WakeTask { thread: *thread, process: *process, name: name(*thread) };
        roster.add_tasks(tally.watched.iter().map(task));
        let wakers = tally
            .wakes
            .keys()
            .filter_map(|(origin, _)| if let WakeOrigin::Task(number) = origin { Some(*number) } else { None });
        let others: BTreeSet<u32> = wakers.chain(tally.wakes.keys().map(|(_, wakee)| *wakee)).collect();
        let unknown: Vec<u32> = others.iter().copied().filter(|number| !roster.threads.contains_key(number)).collect();
        roster.add_tasks(unknown.into_iter().filter_map(|thread| {
            let process = process_of(thread).ok().flatten()?;
            Some(WakeTask { thread, process, name: name(thread) })
        }));
        roster.add_programs(others.into_iter());
        let seen = |((origin, wakee), wakes): ((WakeOrigin, u32), f64)| {
            let means = if matches!(origin, WakeOrigin::Task(_)) { WakeMeans::Unknown } else { WakeMeans::Timer };
            SeenWakes { origin, wakee, means, wakes }
        };
        let mut gaps = vec![Gap::new(
            "by what threads wake each other, and for how long they wait",
            "perf's ring has only the wakes",
        )];
        gaps.extend(tally.gaps);
        SeenTalk {
            source: TalkSource::PerfRing,
            wakes: tally.wakes.into_iter().map(seen).collect(),
            waits: BTreeMap::new(),
            placed: None,
            lost: tally.lost,
            gaps,
        }
    }
}

impl Drop for RingTalk {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The tracepoints are disabled once the thread has ended. A panic has been reported already.
            let _ = thread.join();
        }
    }
}

/// Counted wakes.
#[derive(Debug, Default)]
struct WakeTally {
    /// Watched threads with their processes.
    watched: BTreeMap<u32, u32>,
    /// The parent of the watched threads.
    parent: Option<u32>,
    wakes: BTreeMap<(WakeOrigin, u32), f64>,
    /// Names of tasks when they were counted first: they may have ended later.
    names: BTreeMap<u32, String>,
    lost: u64,
    gaps: Vec<Gap>,
}

impl WakeTally {
    fn count_until(mut self, is_over: &AtomicBool, opened: &SyncSender<Result<(), Gap>>) -> Self {
        if let Err(gap) = self.count_events(is_over, opened) {
            // Nobody hears it if the events were opened before.
            let _ = opened.try_send(Err(gap.clone()));
            self.gaps.push(gap);
        }
        self
    }

    fn count_events(&mut self, is_over: &AtomicBool, opened: &SyncSender<Result<(), Gap>>) -> Result<(), Gap> {
        let recorder = EventRecorder::open(EventSource::Perf, &[&INTERESTS])
            .map_err(|gap| Gap { what: WHAT.to_owned(), ..gap })?;
        let refused = |error: std::io::Error| Gap::new(WHAT, format!("the kernel's events are refused: {error}"));
        let online = online_cpus();
        let mut streams = CpuStreams::new(recorder.enable_events(&INTERESTS).map_err(refused)?, online.len());
        online.iter().try_for_each(|cpu| streams.open(cpu, &INTERESTS)).map_err(refused)?;
        let _ = opened.try_send(Ok(()));
        while !is_over.load(Ordering::Relaxed) {
            std::thread::sleep(INTERVAL);
            let batch = streams.drain_settled();
            self.lost += batch.lost.iter().map(|(_, events)| events).sum::<u64>();
            batch.events.iter().for_each(|event| self.take_event(event));
        }
        let batch = streams.drain_all();
        batch.events.iter().for_each(|event| self.take_event(event));
        Ok(())
    }

    fn take_event(&mut self, event: &KernelEvent) {
        match event.what {
            EventKind::Forked { parent, child, .. } => {
                if let Some(process) = self.watched.get(&parent).copied() {
                    let own = process_of(child).ok().flatten();
                    self.watched.insert(child, own.unwrap_or(process));
                } else if self.parent == Some(parent) {
                    self.watched.insert(child, child);
                }
            }
            EventKind::Woken { task, in_interrupt } => {
                let is_watched =
                    self.watched.contains_key(&task) || !in_interrupt && self.watched.contains_key(&event.task);
                let origin = match in_interrupt || event.task == 0 {
                    true => WakeOrigin::Interrupt(None),
                    false => WakeOrigin::Task(event.task),
                };
                if is_watched {
                    self.count_wake(origin, task);
                }
            }
            _ => {}
        }
    }

    fn count_wake(&mut self, origin: WakeOrigin, wakee: u32) {
        if let Some(wakes) = self.wakes.get_mut(&(origin, wakee)) {
            *wakes += 1.0;
        } else if self.wakes.len() < MOST_PAIRS {
            self.wakes.insert((origin, wakee), 1.0);
            self.name_task(wakee);
            if let WakeOrigin::Task(waker) = origin {
                self.name_task(waker);
            }
        } else {
            self.lost += 1;
        }
    }

    fn name_task(&mut self, number: u32) {
        let read = || corewise_sys::task::thread_name(number, number).unwrap_or_default();
        self.names.entry(number).or_insert_with(read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(task: u32, what: EventKind) -> KernelEvent {
        KernelEvent { at_ns: 0, cpu: 0, task, what }
    }

    #[test]
    fn wakes_of_watched_threads_and_their_children_are_counted() {
        let mut tally = WakeTally { watched: BTreeMap::from([(10, 10)]), ..WakeTally::default() };
        let woken = |task, in_interrupt| EventKind::Woken { task, in_interrupt };
        tally.take_event(&event(10, EventKind::Forked { parent: 10, child: u32::MAX - 1, name: String::new() }));
        tally.take_event(&event(10, woken(u32::MAX - 1, false)));
        tally.take_event(&event(7, woken(8, false)));
        tally.take_event(&event(7, woken(10, false)));
        tally.take_event(&event(10, woken(8, true)));
        tally.take_event(&event(7, woken(10, true)));
        let counted: Vec<(WakeOrigin, u32)> = tally.wakes.into_keys().collect();
        let expected =
            [(WakeOrigin::Task(7), 10), (WakeOrigin::Task(10), u32::MAX - 1), (WakeOrigin::Interrupt(None), 10)];
        assert_eq!(counted, expected);
    }

    #[test]
    fn memory_is_bounded_and_what_has_no_room_is_lost() {
        let mut tally = WakeTally::default();
        (0..MOST_PAIRS as u32 + 5).for_each(|wakee| tally.count_wake(WakeOrigin::Task(1), wakee));
        tally.count_wake(WakeOrigin::Task(1), 0);
        assert_eq!((tally.wakes.len(), tally.lost), (MOST_PAIRS, 5));
    }
}
