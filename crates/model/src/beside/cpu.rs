//! A watched cpu: its current task and its open handlers.

use corewise_machine::event::InterruptSource;

use crate::attribution::StallCause;
use crate::attribution::senders::{ON_THE_WAY_AT_MOST_NS, fits_callback};

/// Placeholder for the name of a task that no event named.
const UNNAMED: &str = "?";

/// The way in which a task leaves a cpu.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LeaveReason {
    /// It could have continued.
    Preempted,
    /// It waits for something, or ends.
    Waiting,
    /// No event shows it.
    Unknown,
}

/// An interrupt that another cpu sent.
#[derive(Clone, Debug)]
pub struct SentInterrupt {
    /// Time of sending.
    pub at_ns: u64,
    /// The sending cpu.
    pub cpu: u32,
    /// The task that was current there.
    pub task: u32,
    /// That task's name; empty if unknown.
    pub name: String,
    /// True if that task is a thread of the program.
    pub is_own: bool,
    /// The function to call; empty if unknown.
    pub function: String,
}

/// A handler that has not ended yet.
#[derive(Debug)]
pub struct OpenHandler {
    /// Its source.
    pub source: InterruptSource,
    /// Time of its begin.
    pub at_ns: u64,
    /// Time of other handlers within it.
    pub nested_ns: u64,
    /// The function that it runs for another cpu; empty if unknown.
    pub function: String,
    /// Sender of the interrupt.
    pub sent: Option<SentInterrupt>,
}

/// State of a watched cpu.
#[derive(Debug, Default)]
pub struct BesideCpu {
    /// The task on it; `None` before its first event.
    pub current: Option<u32>,
    /// That task's name; empty until a switch names it.
    pub name: String,
    /// The work function of a kernel worker.
    pub function: String,
    /// Time since which the task is on it.
    pub since_ns: u64,
    /// The time of the last event.
    pub last_ns: u64,
    /// Open handlers, the innermost last; kept only while a thread of the program is on it.
    pub handlers: Vec<OpenHandler>,
    /// Threads of the program that were preempted and wait for it.
    pub waiting: Vec<u32>,
    /// The last interrupts from other cpus: with a function to call, and without one.
    sent: [Option<SentInterrupt>; 2],
}

impl BesideCpu {
    /// Returns the task on it as a cause.
    pub fn task_cause(&self) -> StallCause {
        match self.current {
            None => StallCause::OtherTask,
            Some(0) => StallCause::Task { name: "idle".into(), number: 0, function: String::new() },
            Some(number) => {
                let name = if self.name.is_empty() { UNNAMED } else { &self.name };
                StallCause::Task { name: name.to_owned(), number, function: self.function.clone() }
            }
        }
    }

    /// Records an interrupt that another cpu sends to it.
    pub fn expect_interrupt(&mut self, sent: SentInterrupt) {
        let place = usize::from(sent.function.is_empty());
        self.sent[place] = Some(sent);
    }

    /// Returns the sender of an interrupt that arrives at `at_ns`. Kernels that name no callback send all kinds alike.
    fn find_sender(&self, source: InterruptSource, at_ns: u64) -> Option<SentInterrupt> {
        let are_told = self.sent[0].is_some();
        let may_be = |sent: &&SentInterrupt| {
            sent.at_ns + ON_THE_WAY_AT_MOST_NS >= at_ns && (!are_told || fits_callback(source, &sent.function))
        };
        self.sent.iter().flatten().filter(may_be).max_by_key(|sent| sent.at_ns).cloned()
    }

    /// Opens a handler. If one of the same source is still open, its end was lost; it and all nested in it are dropped.
    pub fn enter_handler(&mut self, source: InterruptSource, at_ns: u64) {
        if let Some(place) = self.handlers.iter().position(|handler| handler.source == source) {
            self.handlers.truncate(place);
        }
        let sent = if source.is_sent() { self.find_sender(source, at_ns) } else { None };
        self.handlers.push(OpenHandler { source, at_ns, nested_ns: 0, function: String::new(), sent });
    }

    /// Closes a handler; returns it and its time without nested handlers, or `None` if its begin is unknown.
    pub fn exit_handler(&mut self, source: InterruptSource, at_ns: u64) -> Option<(OpenHandler, u64)> {
        let place = self.handlers.iter().rposition(|handler| handler.source == source)?;
        self.handlers.truncate(place + 1);
        let handler = self.handlers.pop()?;
        let length_ns = at_ns.saturating_sub(handler.at_ns);
        self.ran_in_handler(length_ns);
        let own_ns = length_ns.saturating_sub(handler.nested_ns);
        Some((handler, own_ns))
    }

    /// Adds nested time to the innermost handler, if any.
    pub fn ran_in_handler(&mut self, length_ns: u64) {
        if let Some(outer) = self.handlers.last_mut() {
            outer.nested_ns += length_ns;
        }
    }
}
