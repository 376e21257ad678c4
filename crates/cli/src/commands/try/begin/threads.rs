//! The arms of an experiment with numbers of threads: each left to the operating system, or pinned to as many cpus.

use corewise_machine::placement::plan::spread_out;
use corewise_machine::{CpuSet, Machine};
use corewise_model::experiment::{Cell, arrange};
use corewise_model::trial::Arm;

use crate::app::failure::Failure;
use crate::app::placing::reachable_here;
use crate::commands::r#try::arguments::Pinned;
use crate::commands::r#try::task::ThreadTable;
use crate::draw::number::count;

/// The arms, in the order in which experiments have them.
pub fn arms(table: &ThreadTable, machine: &Machine) -> Result<Vec<Arm>, Failure> {
    arms_on(table, machine, &reachable_here(machine))
}

fn arms_on(table: &ThreadTable, machine: &Machine, reachable: &CpuSet) -> Result<Vec<Arm>, Failure> {
    let placement = |threads: u32| spread_out(machine, reachable, threads);
    let mut cells = Vec::new();
    for &threads in &table.counts {
        if table.pinned != Pinned::Yes {
            cells.push(Cell { threads, pinned: false });
        }
        // A mask of all cpus is what the operating system's choice has: it would be tried twice, unless the program pins its threads within it.
        let differs = || !table.pins.is_empty() || placement(threads).1 != machine.allowed;
        if table.pinned == Pinned::Yes || (table.pinned == Pinned::Both && differs()) {
            cells.push(Cell { threads, pinned: true });
        }
    }
    if cells.len() < 2 {
        return Err(nothing(table, machine));
    }
    arrange(&mut cells, u32::try_from(machine.allowed.len()).unwrap_or(u32::MAX));
    Ok(cells.into_iter().map(|cell| arm(cell, cell.pinned.then(|| placement(cell.threads)))).collect())
}

fn arm(cell: Cell, placement: Option<(String, CpuSet)>) -> Arm {
    let name = count(cell.threads as usize, "thread");
    let threads = Some(cell.threads);
    match placement {
        None => Arm { threads, ..Arm::new(name, None, "OS default") },
        Some((text, cpus)) => {
            let reason = "pinned to as many cpus as threads, far apart";
            Arm { threads, ..Arm::new(format!("{name} on {text}"), Some(cpus), reason) }
        }
    }
}

fn nothing(table: &ThreadTable, machine: &Machine) -> Failure {
    let threads = table.counts.first().map_or_else(String::new, |threads| count(*threads as usize, "thread"));
    let cpus = count(machine.allowed.len(), "cpu");
    let what = match table.pinned {
        Pinned::Both => {
            format!("there is nothing to compare: {threads} pinned to {cpus} have the same cpus as with the OS default")
        }
        Pinned::Yes | Pinned::No => format!("there is nothing to compare with {threads}"),
    };
    Failure::unavailable(what).next("--threads takes several numbers, such as 1,2,4.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::fixtures::fabricated::ryzen_9950x3d;

    fn names(counts: &[u32], pinned: Pinned) -> Vec<String> {
        names_with(counts, pinned, &[])
    }

    fn names_with(counts: &[u32], pinned: Pinned, pins: &[&str]) -> Vec<String> {
        let pins = pins.iter().map(|name| (*name).to_owned()).collect();
        let table = ThreadTable { counts: counts.to_vec(), pinned, variables: Vec::new(), pins };
        let machine = ryzen_9950x3d();
        let arms = arms_on(&table, &machine, &machine.allowed);
        arms.map_or_else(|failure| vec![failure.what], |arms| arms.into_iter().map(|arm| arm.name).collect())
    }

    #[test]
    fn the_reference_is_first_and_all_cpus_are_no_placement() {
        assert_eq!(
            names(&[1, 4, 32, 40], Pinned::Both),
            [
                "32 threads",
                "1 thread",
                "4 threads",
                "40 threads",
                "1 thread on spread(1, llc)",
                "4 threads on spread(4, llc)"
            ]
        );
        assert_eq!(names(&[1, 40], Pinned::No), ["1 thread", "40 threads"]);
        assert_eq!(
            names_with(&[32, 40], Pinned::Both, &["CPUS"]),
            ["32 threads", "40 threads", "32 threads on all", "40 threads on all"],
            "threads that are each on a cpu are not where they are anyway"
        );
        assert_eq!(names(&[1, 40], Pinned::Yes), ["1 thread on spread(1, llc)", "40 threads on all"]);
    }

    #[test]
    fn one_cell_is_nothing_to_compare() {
        assert_eq!(names(&[2], Pinned::Both), ["2 threads", "2 threads on spread(2, llc)"]);
        for (counts, pinned) in [([32], Pinned::Both), ([4], Pinned::No), ([4], Pinned::Yes)] {
            assert!(names(&counts, pinned)[0].starts_with("there is nothing to compare"));
        }
    }
}
