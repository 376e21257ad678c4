//! Comparison of two surveys: the machine first, then each cpu, then the links.

use corewise_machine::identity::is_same_machine;

use super::{SurveyComparison, cpus, links, machine};
use crate::Survey;

/// Compares an earlier survey with a later one. They may have different cpus, or be of different machines.
pub fn compare_surveys(before: &Survey, after: &Survey) -> SurveyComparison {
    let (earlier, later) = (&before.machine.online, &after.machine.online);
    let mut comparison = SurveyComparison {
        same_machine: is_same_machine(&before.machine.identity(), &after.machine.identity()),
        appeared: later.difference(earlier),
        gone: earlier.difference(later),
        facts: machine::list_changes(before, after),
        ..SurveyComparison::default()
    };
    cpus::compare_cpus(before, after, &mut comparison);
    links::compare_relations(before, after, &mut comparison);
    comparison
}
