//! A cpu that is watched: who is on it, and in which handlers.

use corewise_machine::event::Source;

use crate::attribution::Cause;
use crate::attribution::senders::{ON_THE_WAY_AT_MOST_NS, fits};

/// What stands for the name of a task that no event told.
const UNNAMED: &str = "?";

/// How a task leaves a cpu.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// It could go on.
    Preempted,
    /// It waits for something, or ends.
    Waiting,
    /// Nobody told.
    Unknown,
}

/// An interrupt that another cpu sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// When.
    pub at_ns: u64,
    /// From which cpu.
    pub cpu: u32,
    /// The task that was current there.
    pub task: u32,
    /// That task's name; empty where it is not known.
    pub name: String,
    /// Whether that is a thread of the program.
    pub is_own: bool,
    /// What is to be done; empty where it is not known.
    pub function: String,
}

/// A handler that has not ended yet.
#[derive(Debug)]
pub struct Handler {
    /// Whose.
    pub source: Source,
    /// When it began.
    pub at_ns: u64,
    /// How long other handlers ran in it.
    pub nested_ns: u64,
    /// The function that it carries out for another cpu; empty where none is told.
    pub function: String,
    /// Who sent the interrupt.
    pub sent: Option<Sent>,
}

/// A cpu.
#[derive(Debug, Default)]
pub struct Cpu {
    /// The task on it; absent before its first event.
    pub current: Option<u32>,
    /// That task's name; empty until a switch tells it.
    pub name: String,
    /// What it does, where it is a kernel worker.
    pub function: String,
    /// Since when it is on it.
    pub since_ns: u64,
    /// The time of the last event.
    pub last_ns: u64,
    /// The handlers that run, the innermost last; kept only while a thread of the program is on it.
    pub handlers: Vec<Handler>,
    /// The threads of the program that were preempted and wait for it.
    pub waiting: Vec<u32>,
    /// What other cpus sent it last: to have a function called, and without one.
    sent: [Option<Sent>; 2],
}

impl Cpu {
    /// The task on it, as a cause.
    pub fn cause(&self) -> Cause {
        match self.current {
            None => Cause::OtherTask,
            Some(0) => Cause::Task { name: "idle".into(), number: 0, function: String::new() },
            Some(number) => {
                let name = if self.name.is_empty() { UNNAMED } else { &self.name };
                Cause::Task { name: name.to_owned(), number, function: self.function.clone() }
            }
        }
    }

    /// Another cpu sends it an interrupt.
    pub fn expect(&mut self, sent: Sent) {
        let place = usize::from(sent.function.is_empty());
        self.sent[place] = Some(sent);
    }

    /// Who sent the interrupt that arrives at a time. Kernels that name no function to call send all kinds alike.
    fn sender(&self, source: Source, at_ns: u64) -> Option<Sent> {
        let are_told = self.sent[0].is_some();
        let may_be =
            |sent: &&Sent| sent.at_ns + ON_THE_WAY_AT_MOST_NS >= at_ns && (!are_told || fits(source, &sent.function));
        self.sent.iter().flatten().filter(may_be).max_by_key(|sent| sent.at_ns).cloned()
    }

    /// A handler begins. One of the same source that is still open ended without our knowing, and so did what is in it.
    pub fn enter(&mut self, source: Source, at_ns: u64) {
        if let Some(place) = self.handlers.iter().position(|handler| handler.source == source) {
            self.handlers.truncate(place);
        }
        let sent = if source.is_sent() { self.sender(source, at_ns) } else { None };
        self.handlers.push(Handler { source, at_ns, nested_ns: 0, function: String::new(), sent });
    }

    /// A handler ends: it, and how long it took without what ran in it. Nothing where its beginning is not known.
    pub fn exit(&mut self, source: Source, at_ns: u64) -> Option<(Handler, u64)> {
        let place = self.handlers.iter().rposition(|handler| handler.source == source)?;
        self.handlers.truncate(place + 1);
        let handler = self.handlers.pop()?;
        let length_ns = at_ns.saturating_sub(handler.at_ns);
        self.ran_in_handler(length_ns);
        let own_ns = length_ns.saturating_sub(handler.nested_ns);
        Some((handler, own_ns))
    }

    /// Something ran for so long in the innermost handler, if there is one.
    pub fn ran_in_handler(&mut self, length_ns: u64) {
        if let Some(outer) = self.handlers.last_mut() {
            outer.nested_ns += length_ns;
        }
    }
}
