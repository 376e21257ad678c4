//! Who sends a cpu the interrupts that come from other cpus: their handlers tell little of what they cost, and nothing of whose they are.

use std::collections::BTreeMap;

use corewise_machine::event::{Event, Source, What};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stall::{Surroundings, Visit};

/// An interrupt that was sent is taken longer than this, in nanoseconds, only by a cpu that a hypervisor did not run.
pub(crate) const ON_THE_WAY_AT_MOST_NS: u64 = 10_000_000;
/// How far two cpus' records of one clock may be out of order, in nanoseconds.
const SKEW_NS: u64 = 200;

/// Who sent interrupts from another cpu.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Sender {
    /// What arrived.
    pub source: Source,
    /// The cpu that it came from; absent if no sender was seen.
    pub cpu: Option<u32>,
    /// The task that was current there: its number in the system as a whole, 0 while that cpu was idle.
    pub task: Option<u32>,
    /// That task's name; empty where it is not known.
    pub name: String,
    /// What was to be done; empty where it is not known.
    pub function: String,
    /// How often.
    pub count: u64,
}

/// Cpu, task and function.
type SentBy = (u32, u32, String);

/// For each interrupt that another cpu sent: the last sender before it that meant this cpu, counted by sender and function.
pub fn senders(visit: &Visit, surroundings: &Surroundings) -> Vec<Sender> {
    let means_us = |event: &&Event| match &event.what {
        What::Sent { to, .. } => event.cpu != visit.cpu && to.contains(visit.cpu),
        _ => false,
    };
    let sent: Vec<&Event> = visit.events.iter().filter(means_us).collect();
    let mut counts: BTreeMap<(Source, Option<SentBy>), u64> = BTreeMap::new();
    let are_told = sent.iter().any(|event| !callback(event).is_empty());
    let own: Vec<&Event> = visit.events.iter().filter(|event| event.cpu == visit.cpu).collect();
    for (index, event) in own.iter().enumerate() {
        let What::Enter { source } = event.what else { continue };
        if source.is_sent() {
            let fits = |event: &Event| !are_told || fits(source, callback(event));
            let mut sent_by = sender_of(&sent, event.at_ns, fits);
            // What was called says more than the kernel's general way of calling.
            let called = called_after(&own, index);
            sent_by
                .iter_mut()
                .filter(|_| !called.is_empty())
                .for_each(|(_, _, function)| *function = called.to_owned());
            *counts.entry((source, sent_by)).or_default() += 1;
        }
    }
    let sender = |((source, sent_by), count): ((Source, Option<SentBy>), u64)| {
        let (cpu, task, function) = match sent_by {
            Some((cpu, task, function)) => (Some(cpu), Some(task), function),
            None => (None, None, String::new()),
        };
        let name = task.and_then(|task| surroundings.tasks.get(&task).cloned()).unwrap_or_default();
        Sender { source, cpu, task, name, function, count }
    };
    counts.into_iter().map(sender).collect()
}

/// The function that is called between the entry of a handler and its end; empty where none is told.
pub fn called_after<'e>(events: &[&'e Event], index: usize) -> &'e str {
    let until_exit = events[index + 1..].iter().take_while(|event| !matches!(event.what, What::Exit { .. }));
    let mut called = until_exit.filter_map(|event| match &event.what {
        What::Called { function } => Some(function.as_str()),
        _ => None,
    });
    called.next().unwrap_or_default()
}

/// The last sender before an interrupt that may have sent it.
fn sender_of(sent: &[&Event], at_ns: u64, fits: impl Fn(&Event) -> bool) -> Option<SentBy> {
    let before = sent.partition_point(|event| event.at_ns <= at_ns + SKEW_NS);
    let mut recent = sent[..before].iter().rev().take_while(|event| event.at_ns + ON_THE_WAY_AT_MOST_NS >= at_ns);
    let last = recent.find(|event| fits(event))?;
    Some((last.cpu, last.task, callback(last).to_owned()))
}

/// Whether an interrupt may be one that was sent with a callback: Linux names one for calls of functions, and none where a cpu is
/// only to look whom to run (kernel/smp.c, `trace_ipi_send_cpu`).
pub(crate) const fn fits(source: Source, callback: &str) -> bool {
    match source {
        Source::Reschedule => callback.is_empty(),
        Source::FunctionCall => !callback.is_empty(),
        _ => true,
    }
}

fn callback(event: &Event) -> &str {
    match &event.what {
        What::Sent { function, .. } => function,
        _ => "",
    }
}
