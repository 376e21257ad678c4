//! Names that several machines share: their visits would count as visits of one node.

use std::collections::{BTreeMap, BTreeSet};

use corewise_model::fleet::visit_report::VisitReport;

/// Maximum number of listed names.
const MOST_NAMED: usize = 3;

/// The visits under each name: their beginnings and ends in milliseconds, and the kernel's identifier of the boot.
#[derive(Default)]
pub struct SharedNames {
    visits: BTreeMap<String, Vec<(i64, i64, String)>>,
}

impl SharedNames {
    /// Adds a visit under the name that it counts for.
    pub fn add_report(&mut self, report: VisitReport) {
        let Some(boot) = report.boot_id else { return };
        let end = report.started_unix_ms.saturating_add((1000.0 * report.survey.elapsed_s) as i64);
        self.visits.entry(report.node).or_default().push((report.started_unix_ms, end, boot));
    }

    /// Returns a warning if machines share a name. A machine that was started anew between its visits is none of them.
    pub fn describe_shared(mut self) -> Option<String> {
        self.visits.values_mut().for_each(|visits| visits.sort());
        let shared: Vec<(&str, usize)> =
            self.visits.iter().filter_map(|(name, visits)| Some((name.as_str(), count_machines(visits)?))).collect();
        let names: Vec<String> =
            shared.iter().take(MOST_NAMED).map(|(name, machines)| format!("{name} ({machines})")).collect();
        (!names.is_empty()).then(|| {
            format!(
                "warning: several machines have one name, so their visits count as those of one node: {}\n  \
                 put NAME: before each line, or name each machine with --node NAME of `fleet visit`",
                names.join(", ")
            )
        })
    }
}

/// Returns the number of machines behind visits in the order of time; `None` if it can be one. A boot that comes back after another, or two
/// that measure at the same time, are of different machines.
fn count_machines(visits: &[(i64, i64, String)]) -> Option<usize> {
    let (mut ended, mut last) = (BTreeSet::<&String>::new(), None::<&(i64, i64, String)>);
    let mut is_shared = false;
    for visit in visits {
        if let Some(before) = last.filter(|before| before.2 != visit.2) {
            is_shared |= visit.0 < before.1 || ended.contains(&visit.2);
            ended.insert(&before.2);
        }
        last = Some(visit);
    }
    let boots: BTreeSet<&String> = visits.iter().map(|visit| &visit.2).collect();
    is_shared.then_some(boots.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines(visits: &[(i64, i64, &str)]) -> Option<usize> {
        let visits: Vec<(i64, i64, String)> =
            visits.iter().map(|(from, to, boot)| (*from, *to, (*boot).to_owned())).collect();
        count_machines(&visits)
    }

    #[test]
    fn boots_that_take_turns_or_overlap_are_of_several_machines() {
        assert_eq!(machines(&[(0, 5, "a"), (10, 15, "a"), (20, 25, "b"), (30, 35, "b")]), None, "started anew");
        assert_eq!(machines(&[(0, 5, "a"), (10, 15, "b"), (20, 25, "a")]), Some(2));
        assert_eq!(machines(&[(0, 5, "a"), (3, 8, "b"), (6, 9, "c")]), Some(3));
    }
}
