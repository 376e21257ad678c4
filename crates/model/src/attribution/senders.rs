//! Senders of inter-processor interrupts: the handlers themselves reveal neither the cost nor the sender.

use std::collections::BTreeMap;

use corewise_machine::event::{Event, Source, What};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stall::{Surroundings, Visit};

/// Longest delivery of a sent interrupt, in nanoseconds. Only a cpu that a hypervisor did not run takes longer.
pub(crate) const ON_THE_WAY_AT_MOST_NS: u64 = 10_000_000;
/// Maximum disorder of two cpus' records of one clock, in nanoseconds.
const SKEW_NS: u64 = 200;

/// A sender of interrupts from another cpu.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Sender {
    /// Kind of interrupt.
    pub source: Source,
    /// The cpu that it came from; `None` if no sender was seen.
    pub cpu: Option<u32>,
    /// Thread id of the task that was current there, in the system's namespace; 0 if that cpu was idle.
    pub task: Option<u32>,
    /// That task's name; empty if unknown.
    pub name: String,
    /// The function to call; empty if unknown.
    pub function: String,
    /// Number of interrupts.
    pub count: u64,
}

/// Cpu, task and function.
type SentBy = (u32, u32, String);

/// Finds, for each interrupt that another cpu sent, the last earlier sender that addressed this cpu. Counts by sender
/// and function.
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
            // The called function is more specific than the kernel's generic callback.
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

/// Returns the function called between the entry of a handler and its end; empty if none is recorded.
pub fn called_after<'e>(events: &[&'e Event], index: usize) -> &'e str {
    let until_exit = events[index + 1..].iter().take_while(|event| !matches!(event.what, What::Exit { .. }));
    let mut called = until_exit.filter_map(|event| match &event.what {
        What::Called { function } => Some(function.as_str()),
        _ => None,
    });
    called.next().unwrap_or_default()
}

/// Returns the last sender before an interrupt that may have sent it.
fn sender_of(sent: &[&Event], at_ns: u64, fits: impl Fn(&Event) -> bool) -> Option<SentBy> {
    let before = sent.partition_point(|event| event.at_ns <= at_ns + SKEW_NS);
    let mut recent = sent[..before].iter().rev().take_while(|event| event.at_ns + ON_THE_WAY_AT_MOST_NS >= at_ns);
    let last = recent.find(|event| fits(event))?;
    Some((last.cpu, last.task, callback(last).to_owned()))
}

/// Returns true if an interrupt may have been sent with this callback. Linux names one for function calls, and none if
/// a cpu is only to reschedule (kernel/smp.c, `trace_ipi_send_cpu`).
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
