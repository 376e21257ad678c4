//! The comparison of two surveys: of the machine first, then of each cpu, then of the links.

use super::{Comparison, cpus, links, machine};
use crate::Survey;

/// Says what changed from the earlier survey to the later one. They may have different cpus, or be of different machines.
pub fn compare(before: &Survey, after: &Survey) -> Comparison {
    let (earlier, later) = (&before.machine.online, &after.machine.online);
    let mut comparison = Comparison {
        same_machine: before.machine.fingerprint() == after.machine.fingerprint(),
        appeared: later.difference(earlier),
        gone: earlier.difference(later),
        facts: machine::changes(before, after),
        ..Comparison::default()
    };
    cpus::compare(before, after, &mut comparison);
    links::compare(before, after, &mut comparison);
    comparison
}
