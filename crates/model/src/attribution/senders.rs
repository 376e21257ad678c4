//! Senders of inter-processor interrupts, which the record of a handler does not show.

use std::collections::BTreeMap;

use corewise_machine::event::{EventKind, InterruptSource, KernelEvent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stall::{CauseSurroundings, StallVisit};

/// Longest delivery of a sent interrupt, in nanoseconds. Only a cpu that a hypervisor did not run takes longer.
pub(crate) const ON_THE_WAY_AT_MOST_NS: u64 = 10_000_000;
/// Maximum disagreement of two cpus' timestamps, in nanoseconds: a send may appear this much after its receipt.
const SKEW_NS: u64 = 200;

/// A sender of interrupts from another cpu.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct InterruptSender {
    /// Kind of interrupt.
    pub source: InterruptSource,
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
type SenderIdentity = (u32, u32, String);

/// Finds, for each interrupt that another cpu sent, the last earlier sender that addressed this cpu. Counts by sender
/// and function.
pub fn find_senders(visit: &StallVisit, surroundings: &CauseSurroundings) -> Vec<InterruptSender> {
    let means_us = |event: &&KernelEvent| match &event.what {
        EventKind::Sent { to, .. } => event.cpu != visit.cpu && to.contains(visit.cpu),
        _ => false,
    };
    let sent: Vec<&KernelEvent> = visit.events.iter().filter(means_us).collect();
    let mut counts: BTreeMap<(InterruptSource, Option<SenderIdentity>), u64> = BTreeMap::new();
    let are_told = sent.iter().any(|event| !callback_of(event).is_empty());
    let own: Vec<&KernelEvent> = visit.events.iter().filter(|event| event.cpu == visit.cpu).collect();
    for (index, event) in own.iter().enumerate() {
        let EventKind::Enter { source } = event.what else { continue };
        if source.is_sent() {
            let fits = |event: &KernelEvent| !are_told || fits_callback(source, callback_of(event));
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
    let sender = |((source, sent_by), count): ((InterruptSource, Option<SenderIdentity>), u64)| {
        let (cpu, task, function) = match sent_by {
            Some((cpu, task, function)) => (Some(cpu), Some(task), function),
            None => (None, None, String::new()),
        };
        let name = task.and_then(|task| surroundings.tasks.get(&task).cloned()).unwrap_or_default();
        InterruptSender { source, cpu, task, name, function, count }
    };
    counts.into_iter().map(sender).collect()
}

/// Returns the function called between the entry of a handler and its end; empty if none is recorded.
pub fn called_after<'e>(events: &[&'e KernelEvent], index: usize) -> &'e str {
    let until_exit = events[index + 1..].iter().take_while(|event| !matches!(event.what, EventKind::Exit { .. }));
    let mut called = until_exit.filter_map(|event| match &event.what {
        EventKind::Called { function } => Some(function.as_str()),
        _ => None,
    });
    called.next().unwrap_or_default()
}

/// Returns the last sender before an interrupt that may have sent it.
fn sender_of(sent: &[&KernelEvent], at_ns: u64, fits: impl Fn(&KernelEvent) -> bool) -> Option<SenderIdentity> {
    let before = sent.partition_point(|event| event.at_ns <= at_ns + SKEW_NS);
    let mut recent = sent[..before].iter().rev().take_while(|event| event.at_ns + ON_THE_WAY_AT_MOST_NS >= at_ns);
    let last = recent.find(|event| fits(event))?;
    Some((last.cpu, last.task, callback_of(last).to_owned()))
}

/// Returns true if an interrupt may have been sent with this callback. Linux names one for function calls, and none if
/// a cpu is only to reschedule (kernel/smp.c, `trace_ipi_send_cpu`).
pub(crate) const fn fits_callback(source: InterruptSource, callback: &str) -> bool {
    match source {
        InterruptSource::Reschedule => callback.is_empty(),
        InterruptSource::FunctionCall => !callback.is_empty(),
        _ => true,
    }
}

fn callback_of(event: &KernelEvent) -> &str {
    match &event.what {
        EventKind::Sent { function, .. } => function,
        _ => "",
    }
}
