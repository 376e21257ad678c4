//! Numbers of threads to try, each with the OS default or pinned to as many cpus.

use corewise_machine::placement::plan::spread_out;
use corewise_machine::{CpuSet, Machine};
use corewise_model::trial::{PlacementArm, RolePlace};
use corewise_statistics::experiment::{ThreadsCell, arrange_cells};

use super::CandidatePlanner;
use super::roles::join_places;
use crate::experiment::error::ExperimentError;

/// Which numbers of threads are pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadPinning {
    /// None: the operating system places the threads.
    No,
    /// All, to a placement of as many cpus.
    Yes,
    /// Each number is tried both ways.
    Both,
}

/// Numbers of threads to try, and how the program learns of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadCounts {
    /// The numbers, in ascending order.
    pub counts: Vec<u32>,
    /// Which of them are pinned.
    pub pinned: ThreadPinning,
    /// Environment variables for the number.
    pub variables: Vec<String>,
    /// Environment variables for the cpus of a pinned program.
    pub pins: Vec<String>,
    /// The pinned parts of a workload with services: all that have the number.
    pub pinned_roles: Vec<String>,
}

impl CandidatePlanner<'_> {
    /// Returns the arms in the order that [`arrange_cells`] gives. `roles` belong to a workload with services.
    ///
    /// # Errors
    /// [`ExperimentError::OneArm`].
    pub fn arms_of_threads(&self, asked: &ThreadCounts, roles: &[&str]) -> Result<Vec<PlacementArm>, ExperimentError> {
        let machine = self.machine;
        let placement = |threads: u32| spread_out(machine, &self.reachable, threads);
        let mut cells = Vec::new();
        for &threads in &asked.counts {
            if asked.pinned != ThreadPinning::Yes {
                cells.push(ThreadsCell { threads, pinned: false });
            }
            // A mask of all cpus is the OS default's, and would be tried twice, unless the program pins its threads within it.
            let differs = || !asked.pins.is_empty() || placement(threads).1 != machine.allowed;
            if asked.pinned == ThreadPinning::Yes || (asked.pinned == ThreadPinning::Both && differs()) {
                cells.push(ThreadsCell { threads, pinned: true });
            }
        }
        if cells.len() < 2 {
            return Err(ExperimentError::OneArm(describe_one_arm(asked, machine.allowed.len())));
        }
        arrange_cells(&mut cells, u32::try_from(machine.allowed.len()).unwrap_or(u32::MAX));
        let pin_parts = |arm: PlacementArm| pin_roles(arm, &asked.pinned_roles, roles, machine);
        let arms = cells.into_iter().map(|cell| arm_of_cell(cell, cell.pinned.then(|| placement(cell.threads))));
        Ok(arms.map(pin_parts).collect())
    }
}

/// Returns a pinned arm on which only these parts are pinned, together; without any, the arm as it is.
fn pin_roles(arm: PlacementArm, pinned: &[String], roles: &[&str], machine: &Machine) -> PlacementArm {
    let (Some(cpus), false) = (&arm.cpus, pinned.is_empty()) else { return arm };
    let (_, expression) = arm.name.split_once(" on ").unwrap_or_default();
    let place = |role: &String| RolePlace {
        role: role.clone(),
        expression: expression.to_owned(),
        cpus: cpus.clone(),
        memory: None,
    };
    let places = pinned.iter().map(place).collect();
    PlacementArm { threads: arm.threads, ..join_places(arm.name, places, roles, arm.reason, machine) }
}

fn arm_of_cell(cell: ThreadsCell, placement: Option<(String, CpuSet)>) -> PlacementArm {
    let (name, threads) = (count_words(cell.threads as usize, "thread"), Some(cell.threads));
    match placement {
        None => PlacementArm { threads, ..PlacementArm::new(name, None, "OS default") },
        Some((text, cpus)) => {
            let reason = "pinned to as many cpus as threads, far apart";
            PlacementArm { threads, ..PlacementArm::new(format!("{name} on {text}"), Some(cpus), reason) }
        }
    }
}

fn describe_one_arm(asked: &ThreadCounts, cpus: usize) -> String {
    let threads = asked.counts.first().map_or_else(String::new, |threads| count_words(*threads as usize, "thread"));
    match asked.pinned {
        ThreadPinning::Both => {
            format!(": {threads} pinned to {} have the same cpus as with the OS default", count_words(cpus, "cpu"))
        }
        ThreadPinning::Yes | ThreadPinning::No => format!(" with {threads}"),
    }
}

/// Returns "1 thread" or "1,024 threads".
fn count_words(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    match (count / 1_000, count % 1_000) {
        (0, count) => format!("{count} {noun}{plural}"),
        (thousands, rest) => format!("{thousands},{rest:03} {noun}{plural}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::NoKnowledge;

    /// Two last-level caches of eight cores with two threads each.
    fn two_caches() -> Machine {
        let text = "name = \"x\"\ncpus = \"0-31\"\ndies = \"0-7,16-23 x2\"\ncores = \"0,16 x16\"\n\
                    caches = [{ cache = \"L3\", size = \"32 MiB\", per = \"die\" }]\n";
        corewise_machine::machine_file::parse(text).unwrap().machine
    }

    fn names(counts: &[u32], pinned: ThreadPinning, pins: &[&str]) -> Vec<String> {
        let pins = pins.iter().map(|name| (*name).to_owned()).collect();
        let asked =
            ThreadCounts { counts: counts.to_vec(), pinned, variables: Vec::new(), pins, pinned_roles: Vec::new() };
        let machine = two_caches();
        let mut planner = CandidatePlanner::new(&machine, &NoKnowledge);
        planner.reachable = machine.allowed.clone();
        let arms = planner.arms_of_threads(&asked, &[]);
        arms.map_or_else(|error| vec![error.to_string()], |arms| arms.into_iter().map(|arm| arm.name).collect())
    }

    #[test]
    fn the_reference_is_first_and_all_cpus_are_no_placement() {
        assert_eq!(
            names(&[1, 4, 32, 40], ThreadPinning::Both, &[]),
            [
                "32 threads",
                "1 thread",
                "4 threads",
                "40 threads",
                "1 thread on spread(1, llc)",
                "4 threads on spread(4, llc)"
            ]
        );
        assert_eq!(names(&[1, 40], ThreadPinning::No, &[]), ["1 thread", "40 threads"]);
        assert_eq!(
            names(&[32, 40], ThreadPinning::Both, &["CPUS"]),
            ["32 threads", "40 threads", "32 threads on all", "40 threads on all"],
            "threads that are each on a cpu are not where they are anyway"
        );
        assert_eq!(names(&[1, 40], ThreadPinning::Yes, &[]), ["1 thread on spread(1, llc)", "40 threads on all"]);
    }

    #[test]
    fn only_the_parts_that_have_the_number_are_pinned() {
        let (counts, pinned_roles) = (vec![1, 4], vec!["server".to_owned()]);
        let (variables, pins) = (Vec::new(), Vec::new());
        let asked = ThreadCounts { counts, pinned: ThreadPinning::Both, variables, pins, pinned_roles };
        let machine = two_caches();
        let mut planner = CandidatePlanner::new(&machine, &NoKnowledge);
        planner.reachable = machine.allowed.clone();
        let arms = planner.arms_of_threads(&asked, &["server", "load"]).unwrap();
        let cpus = |role: &str| arms.iter().map(|arm| arm.cpus_of(role).map(CpuSet::len)).collect::<Vec<_>>();
        assert_eq!(cpus("server"), [None, None, Some(1), Some(4)]);
        assert_eq!(cpus("load"), [None; 4]);
        assert_eq!(arms.iter().map(|arm| arm.threads).collect::<Vec<_>>(), [Some(4), Some(1), Some(1), Some(4)]);
        assert_eq!(arms[3].place_of("server").unwrap().typed_text(), "server=spread(4, llc)");
    }

    #[test]
    fn one_cell_is_nothing_to_compare() {
        assert_eq!(names(&[2], ThreadPinning::Both, &[]), ["2 threads", "2 threads on spread(2, llc)"]);
        for (counts, pinned) in [([32], ThreadPinning::Both), ([4], ThreadPinning::No), ([4], ThreadPinning::Yes)] {
            assert!(names(&counts, pinned, &[])[0].starts_with("there is nothing to compare"));
        }
    }
}
