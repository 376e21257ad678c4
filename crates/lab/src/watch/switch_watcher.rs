//! Switch events of all cpus. A dedicated thread takes them out of the kernel's buffers and reduces them at once.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use corewise_machine::event::EventSource;
use corewise_model::watch::{SwitchReducer, TaskSwitches};
use corewise_sys::cpuset;
use corewise_sys::events::{EventInterest, EventRecorder};
use corewise_sys::process::sees_all_numbers;
use corewise_sys::thread::ThreadGlance;

use crate::cpu_streams::CpuStreams;

/// Events recorded on every cpu.
const OF_ALL: [EventInterest; 1] = [EventInterest::Switches];
/// Interval at which events are taken out of their buffers.
const INTERVAL: Duration = Duration::from_millis(200);
/// Longest delay until the end of watching is noticed.
const STEP: Duration = Duration::from_millis(50);
/// Largest share of a cpu that reading may take, over [`OVER`]; above it, reading ends.
const LARGEST_SHARE: f64 = 0.005;
/// Time over which the share is measured.
const OVER: Duration = Duration::from_secs(5);

/// State shared by the thread and its owner.
#[derive(Debug)]
struct SharedSwitches {
    state: Mutex<SwitchesState>,
    is_over: AtomicBool,
}

#[derive(Debug)]
enum SwitchesState {
    /// Events are being opened, which takes some 100 ms.
    Opening,
    /// Events arrive from this source.
    Live(&'static str, SwitchReducer),
    /// Events are not available, with the reason.
    Refused(String),
}

/// Watches the switches of all cpus until it is dropped.
#[derive(Debug)]
pub struct SwitchWatcher {
    shared: Arc<SharedSwitches>,
    thread: Option<JoinHandle<()>>,
}

impl SwitchWatcher {
    /// Begins to open the events, without waiting.
    pub fn open() -> Self {
        let shared =
            Arc::new(SharedSwitches { state: Mutex::new(SwitchesState::Opening), is_over: AtomicBool::new(false) });
        let own = Arc::clone(&shared);
        let name = "corewise-events".to_owned();
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || own.set_state(SwitchesState::Refused(watch_switches(&own))));
        if let Err(error) = &thread {
            shared.set_state(SwitchesState::Refused(format!("no thread can be started: {error}")));
        }
        Self { shared, thread: thread.ok() }
    }

    /// Waits until events arrive or are refused, for at most `patience`.
    pub fn wait_until_settled(&self, patience: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < patience && matches!(*self.shared.lock_state(), SwitchesState::Opening) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the switches since the previous call.
    ///
    /// # Errors
    /// The reason if there are no events, or not yet.
    pub fn take_switches(&self) -> Result<TaskSwitches, String> {
        match &mut *self.shared.lock_state() {
            SwitchesState::Opening => Err("the kernel's events are being opened".to_owned()),
            SwitchesState::Live(source, switches) => {
                Ok(TaskSwitches { source: (*source).to_owned(), ..switches.take_tasks() })
            }
            SwitchesState::Refused(why) => Err(why.clone()),
        }
    }
}

impl Drop for SwitchWatcher {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The tracepoints are disabled once the thread has ended. A panic has been reported already.
            let _ = thread.join();
        }
    }
}

impl SharedSwitches {
    fn lock_state(&self) -> std::sync::MutexGuard<'_, SwitchesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_state(&self, state: SwitchesState) {
        *self.lock_state() = state;
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// Watches until the owner is gone or an error occurs. Returns the reason, which is empty if the owner is gone.
fn watch_switches(shared: &SharedSwitches) -> String {
    // Task numbers in events are the system's. They are valid here only if this process sees the whole system.
    if !sees_all_numbers() {
        return "in this namespace of processes events have other numbers of threads".to_owned();
    }
    let recorder = match EventRecorder::open(EventSource::Perf, &[&OF_ALL]) {
        Ok(recorder) => recorder,
        Err(gap) => return gap.cure.map_or(gap.why.clone(), |cure| format!("{}; {cure}", gap.why)),
    };
    match reduce_events(&recorder, shared) {
        Ok(why) => why,
        Err(error) => format!("the kernel's events are refused: {error}"),
    }
}

fn reduce_events(recorder: &EventRecorder, shared: &SharedSwitches) -> io::Result<String> {
    let source = match recorder.event_source() {
        EventSource::Ftrace => "ftrace",
        _ => "perf",
    };
    let online = cpuset::online_cpus();
    let mut streams = CpuStreams::new(recorder.enable_events(&OF_ALL)?, online.len());
    online.iter().try_for_each(|cpu| streams.open(cpu, &OF_ALL))?;
    shared.set_state(SwitchesState::Live(source, SwitchReducer::default()));
    let mut cost = ReadingCost::begin_cost();
    while !shared.is_over() {
        let batch = streams.drain_settled();
        if let SwitchesState::Live(_, switches) = &mut *shared.lock_state() {
            batch.lost.iter().for_each(|(_, events)| switches.note_lost(*events));
            batch.events.iter().for_each(|event| switches.take_event(event));
        }
        if let Some(why) = cost.explain_too_much(batch.events.len()) {
            return Ok(why);
        }
        let until = Instant::now() + INTERVAL;
        while Instant::now() < until && !shared.is_over() {
            std::thread::sleep(STEP);
        }
    }
    Ok(String::new())
}

/// Recent cost of reading events.
struct ReadingCost {
    begun: Instant,
    cpu_time_ns: u64,
    events: usize,
}

impl ReadingCost {
    fn begin_cost() -> Self {
        Self { begun: Instant::now(), cpu_time_ns: ThreadGlance::read_now().cpu_time_ns, events: 0 }
    }

    /// Returns the reason to end reading if it costs more than [`LARGEST_SHARE`]; otherwise `None`.
    fn explain_too_much(&mut self, events: usize) -> Option<String> {
        self.events += events;
        let elapsed = self.begun.elapsed();
        if elapsed < OVER {
            return None;
        }
        let used_s = ThreadGlance::read_now().cpu_time_ns.saturating_sub(self.cpu_time_ns) as f64 * 1e-9;
        let (share, per_second) = (used_s / elapsed.as_secs_f64(), self.events as f64 / elapsed.as_secs_f64());
        *self = Self::begin_cost();
        (share > LARGEST_SHARE).then(|| {
            format!(
                "{per_second:.0} switches a second took {:.1} % of a cpu, so they are no longer followed",
                100.0 * share
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_or_it_is_said_why_not() {
        let eye = SwitchWatcher::open();
        eye.wait_until_settled(Duration::from_secs(60));
        let refused = match eye.take_switches() {
            Err(why) => why,
            Ok(_) => {
                // Each of these sleeps is a switch.
                let own = corewise_sys::thread::own_number();
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_secs(60) {
                    std::thread::sleep(Duration::from_millis(20));
                    if eye.take_switches().is_ok_and(|tasks| tasks.switches > 0 && tasks.tasks.contains_key(&own)) {
                        return;
                    }
                }
                panic!("no switch of this thread was seen");
            }
        };
        assert!(!refused.is_empty());
        println!("skipped: {refused}");
    }
}
