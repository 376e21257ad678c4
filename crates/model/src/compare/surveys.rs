//! Comparison of two surveys: the machine first, then each cpu, then the links.

use super::{Comparison, cpus, links, machine};
use crate::Survey;

/// Compares an earlier survey with a later one. They may have different cpus, or be of different machines.
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
