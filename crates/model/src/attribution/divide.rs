//! One visit: each stall is compared with the kernel's events of its cpu.

use corewise_machine::event::{EventKind, InterruptSource, KernelEvent};

use super::{CausePhase, DividedStall, DividedVisit, StallCause, StallPart, senders};
use crate::stall::{CauseSurroundings, Stall, StallVisit};

/// Tolerance in nanoseconds for an event outside of a stall to belong to it: two compared clocks differ by some 30 ns,
/// and reading the clock takes time.
const SLACK_NS: u64 = 100;

/// Minimum time off the cpu, in nanoseconds: a thread's cpu time and the clock agree better than this.
pub(super) const OFF_CPU_AT_LEAST_NS: u64 = 2_000;

/// Divides the stalls of a visit.
///
/// Without the kernel's events, only two facts are known: whether the thread was off the cpu, and whether another task
/// ran.
pub fn divide_stalls(visit: &StallVisit, surroundings: &CauseSurroundings) -> DividedVisit {
    let own: Vec<&KernelEvent> = visit.events.iter().filter(|event| event.cpu == visit.cpu).collect();
    let mut first = 0;
    let divided = visit.stalls.iter().map(|stall| {
        first += own[first..].partition_point(|event| event.at_ns + SLACK_NS < stall.begin_ns);
        let count = own[first..].partition_point(|event| event.at_ns <= stall.end_ns + SLACK_NS);
        let events = &own[first..first + count];
        // An event at the end of one stall does not also belong to the beginning of the next.
        first += count;
        let (parts, has_events) = if visit.armed {
            StallWalk::new(stall, events, visit.own_task, surroundings).into_parts()
        } else {
            (by_thread(stall, surroundings), false)
        };
        DividedStall { stall: *stall, parts: with_work(parts, visit.piece_ns), has_events }
    });
    DividedVisit {
        stalls: divided.collect(),
        cpu: visit.cpu,
        round: visit.round,
        armed: visit.armed,
        begin_ns: visit.begin_ns,
        end_ns: visit.end_ns,
        not_kept: visit.not_kept,
        events_lost: visit.events_lost,
        tick_ns: tick_ns(&own),
        senders: senders::find_senders(visit, surroundings),
    }
}

/// Returns the median time between two interrupts of the cpu's own timer, in nanoseconds; 0 for fewer than three.
fn tick_ns(events: &[&KernelEvent]) -> u64 {
    let is_tick = |event: &&&KernelEvent| event.what == EventKind::Enter { source: InterruptSource::LocalTimer };
    let times: Vec<u64> = events.iter().filter(is_tick).map(|event| event.at_ns).collect();
    let mut steps: Vec<u64> = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    steps.sort_unstable();
    if steps.len() < 2 { 0 } else { steps[steps.len() / 2] }
}

/// Divides a stall by the thread's own accounting: time off the cpu and involuntary switches.
fn by_thread(stall: &Stall, surroundings: &CauseSurroundings) -> Vec<StallPart> {
    let length_ns = stall.length_ns();
    let off_ns = if stall.off_cpu_ns < OFF_CPU_AT_LEAST_NS { 0 } else { stall.off_cpu_ns.min(length_ns) };
    let away = match (stall.involuntary_switches, surroundings.has_hypervisor) {
        (1.., _) => StallCause::OtherTask,
        (0, true) => StallCause::Stolen,
        (0, false) => StallCause::Interrupted,
    };
    let on = StallPart { cause: StallCause::Interrupted, phase: CausePhase::Running, length_ns: length_ns - off_ns };
    let off = StallPart { cause: away, phase: CausePhase::Running, length_ns: off_ns };
    [on, off].into_iter().filter(|part| part.length_ns > 0).collect()
}

/// Takes the work that was done meanwhile out of the longest part that is not in a handler or another task.
fn with_work(mut parts: Vec<StallPart>, piece_ns: u64) -> Vec<StallPart> {
    let is_loose = |part: &StallPart| part.phase != CausePhase::Running || !part.cause.is_named();
    let longest = parts.iter_mut().filter(|part| is_loose(part)).max_by_key(|part| part.length_ns);
    let done_ns = longest.map_or(0, |part| {
        let done_ns = piece_ns.min(part.length_ns);
        part.length_ns -= done_ns;
        done_ns
    });
    parts.retain(|part| part.length_ns > 0);
    if done_ns > 0 {
        parts.push(StallPart { cause: StallCause::Work, phase: CausePhase::Running, length_ns: done_ns });
    }
    parts
}

/// The walk through the events of one stall. A stall begins and ends in the loop, so no handler is open at either end.
struct StallWalk<'a> {
    stall: &'a Stall,
    events: &'a [&'a KernelEvent],
    surroundings: &'a CauseSurroundings,
    own_task: u32,
    at_ns: u64,
    /// Handlers that have begun and not ended, the innermost last.
    open: Vec<(InterruptSource, StallCause)>,
    /// The task that runs instead of the loop.
    other: Option<StallCause>,
    /// A page fault of the loop itself; the kernel records no event for its end.
    fault: Option<StallCause>,
    /// Cause of the last event.
    last: Option<StallCause>,
    parts: Vec<StallPart>,
}

impl<'a> StallWalk<'a> {
    fn new(
        stall: &'a Stall,
        events: &'a [&'a KernelEvent],
        own_task: u32,
        surroundings: &'a CauseSurroundings,
    ) -> Self {
        // The loop was running when the stall began, so the first task switched away from is the loop.
        let first = events.iter().find_map(|event| match event.what {
            EventKind::Switch { from, .. } => Some(from),
            _ => None,
        });
        Self {
            stall,
            events,
            surroundings,
            own_task: if own_task == 0 { first.unwrap_or(0) } else { own_task },
            at_ns: stall.begin_ns,
            open: Vec::new(),
            other: None,
            fault: None,
            last: None,
            parts: Vec::new(),
        }
    }

    /// Returns the parts, and true if any event showed a cause.
    fn into_parts(mut self) -> (Vec<StallPart>, bool) {
        for index in 0..self.events.len() {
            self.walk_event(index);
        }
        let is_told = self.last.is_some();
        let end_ns = self.stall.end_ns;
        match self.last.take() {
            None => self.take_until(end_ns, StallCause::Unknown, CausePhase::Running),
            Some(last) => {
                let (cause, phase) = self.present_cause().unwrap_or((last, CausePhase::Return));
                self.take_until(end_ns, cause, phase);
            }
        }
        (self.parts, is_told)
    }

    /// Returns the cause that has the cpu between two events, or `None` on the way from one to another.
    fn present_cause(&self) -> Option<(StallCause, CausePhase)> {
        let handler = self.open.last().map(|(_, cause)| cause);
        handler.or(self.other.as_ref()).or(self.fault.as_ref()).map(|cause| (cause.clone(), CausePhase::Running))
    }

    fn walk_event(&mut self, index: usize) {
        let event = self.events[index];
        let Some(cause) = self.cause_of(index) else { return };
        match &event.what {
            // Recorded at its end, with its duration.
            EventKind::NonMaskable { duration_ns, .. } => {
                self.close_span(event.at_ns.saturating_sub(*duration_ns), &cause);
                self.take_until(event.at_ns, cause.clone(), CausePhase::Running);
            }
            // The begin that matches this end was not seen: it lies before the first event, or was lost.
            _ if self.ends_what_was_not_seen(&event.what) => {
                let (cause, phase) = self.present_cause().unwrap_or((cause.clone(), CausePhase::Running));
                self.take_until(event.at_ns, cause, phase);
            }
            _ => self.close_span(event.at_ns, &cause),
        }
        self.note_event(&event.what, &cause);
        self.last = Some(cause);
    }

    fn ends_what_was_not_seen(&self, what: &EventKind) -> bool {
        match what {
            EventKind::Exit { source } => !self.open.iter().any(|(open, _)| open == source),
            EventKind::Switch { to, .. } => *to == self.own_task && self.other.is_none(),
            _ => false,
        }
    }

    /// Updates the cause that has the cpu after an event.
    fn note_event(&mut self, what: &EventKind, cause: &StallCause) {
        match what {
            // The end of irq_work is not recorded.
            EventKind::Enter { source } if *source != InterruptSource::IrqWork => {
                self.open.push((*source, cause.clone()))
            }
            EventKind::Exit { source } => {
                if let Some(at) = self.open.iter().rposition(|(open, _)| open == source) {
                    self.open.truncate(at);
                }
            }
            EventKind::Switch { to, .. } => {
                // No handler is left by a switch: a handler that still seems open has ended, and its event was lost.
                self.open.clear();
                self.other = (*to != self.own_task).then(|| cause.clone());
            }
            EventKind::PageFault { .. } if self.open.is_empty() && self.other.is_none() => {
                self.fault = Some(cause.clone())
            }
            _ => {}
        }
    }

    /// Assigns the time up to an event: to the open handler, the running task, the way in before the first event, or
    /// the way from the event before.
    fn close_span(&mut self, at_ns: u64, next: &StallCause) {
        let (cause, phase) = match (self.present_cause(), &self.last) {
            (Some(present), _) => present,
            (None, None) => (next.clone(), CausePhase::Delivery),
            (None, Some(last)) => (last.clone(), CausePhase::Between),
        };
        self.take_until(at_ns, cause, phase);
    }

    fn take_until(&mut self, until_ns: u64, cause: StallCause, phase: CausePhase) {
        let until_ns = until_ns.min(self.stall.end_ns).max(self.at_ns);
        let length_ns = until_ns - self.at_ns;
        self.at_ns = until_ns;
        match self.parts.last_mut() {
            Some(part) if part.cause == cause && part.phase == phase => part.length_ns += length_ns,
            _ if length_ns > 0 => self.parts.push(StallPart { cause, phase, length_ns }),
            _ => {}
        }
    }

    /// Returns the cause that an event belongs to, or `None` if it does not show the use of the cpu.
    fn cause_of(&self, index: usize) -> Option<StallCause> {
        let event = self.events[index];
        Some(match &event.what {
            EventKind::Enter { source } => {
                StallCause::Interrupt { source: *source, detail: self.detail_of(*source, index) }
            }
            EventKind::Exit { source } => match self.open.iter().rev().find(|(open, _)| open == source) {
                Some((_, cause)) => cause.clone(),
                None => StallCause::Interrupt { source: *source, detail: self.detail_of(*source, index) },
            },
            EventKind::NonMaskable { handler, .. } => StallCause::NonMaskable { handler: handler.clone() },
            EventKind::PageFault { .. } => StallCause::PageFault,
            // The way back from a task belongs to that task; its name is unknown if its arrival was not recorded.
            EventKind::Switch { to, .. } if *to == self.own_task => self.other.clone().unwrap_or(StallCause::OtherTask),
            EventKind::Switch { to, to_name, .. } => {
                StallCause::Task { name: to_name.clone(), number: *to, function: self.function_of_worker(index) }
            }
            _ => return None,
        })
    }

    /// Returns a device's name, or the function that is called until the handler ends.
    fn detail_of(&self, source: InterruptSource, index: usize) -> String {
        match source {
            InterruptSource::Device(number) => self.surroundings.devices.get(&number).cloned().unwrap_or_default(),
            InterruptSource::FunctionCall | InterruptSource::Processor => {
                senders::called_after(self.events, index).to_owned()
            }
            _ => String::new(),
        }
    }

    fn function_of_worker(&self, index: usize) -> String {
        let until_switch =
            self.events[index + 1..].iter().take_while(|event| !matches!(event.what, EventKind::Switch { .. }));
        let functions = until_switch.filter_map(|event| match &event.what {
            EventKind::Work { function } => Some(function.clone()),
            _ => None,
        });
        functions.into_iter().next().unwrap_or_default()
    }
}
