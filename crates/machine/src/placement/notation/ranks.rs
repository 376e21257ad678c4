//! Lists for the ranks of a program, as launchers and their programs take them.

use super::rankfile::HostCores;
use super::{Notation, list, print_notation};
use crate::vocabulary::vocabulary;
use crate::{CpuSet, Machine, suggested_command};

vocabulary! {
    /// A form in which the cpus of all ranks are given to a program or its launcher.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RankForm {
        Vllm "vllm": "vLLM on cpus: one variable with the list of each rank";
        OpenMp "omp": "OpenMP: the variables of each rank, a line for each";
        Numactl "numactl": "numactl: the prefix of each rank, a line for each; memory comes from the node of its cpus";
        Rankfile "rankfile": "Open MPI: a file with the cores of each rank";
        Torchrun "torchrun": "torchrun: a command in which each worker takes its own part";
    }
}

/// Prints the cpus of each rank, in the order in which threads take them, as lines.
///
/// # Errors
/// If the form cannot express them, with the reason.
///
/// # Examples
/// ```
/// use corewise_machine::{CpuSet, generate::one_package_machine};
/// use corewise_machine::placement::notation::{RankForm, print_ranks};
///
/// let machine = one_package_machine(8, false, &[(CpuSet::first_cpus(8), 16)]);
/// let ranks = [vec![0, 1, 2, 3], vec![4, 5, 6, 7]];
/// let lines = print_ranks(RankForm::Vllm, &ranks, &machine)?;
/// assert_eq!(lines, ["VLLM_CPU_OMP_THREADS_BIND=\"0-3|4-7\""]);
/// let lines = print_ranks(RankForm::Rankfile, &ranks, &machine)?;
/// assert_eq!(lines, ["rank 0=localhost slot=0-3", "rank 1=localhost slot=4-7"]);
/// # Ok::<(), String>(())
/// ```
pub fn print_ranks(form: RankForm, ranks: &[Vec<u32>], machine: &Machine) -> Result<Vec<String>, String> {
    let sets: Vec<CpuSet> = ranks.iter().map(|order| order.iter().copied().collect()).collect();
    match form {
        RankForm::Vllm => {
            let lists: Vec<String> = sets.iter().map(CpuSet::to_string).collect();
            Ok(vec![format!("VLLM_CPU_OMP_THREADS_BIND=\"{}\"", lists.join("|"))])
        }
        RankForm::OpenMp => {
            let line = |(order, cpus): (&Vec<u32>, &CpuSet)| first_text(Notation::OpenMp, cpus, order, machine);
            ranks.iter().zip(&sets).map(line).collect()
        }
        RankForm::Numactl => {
            let line = |(order, cpus): (&Vec<u32>, &CpuSet)| {
                Ok(first_text(Notation::Numactl, cpus, order, machine)? + " --localalloc")
            };
            ranks.iter().zip(&sets).map(line).collect()
        }
        RankForm::Rankfile => {
            let host = HostCores::new(machine);
            let line = |(rank, cpus): (usize, &CpuSet)| {
                let whole = || {
                    format!(
                        "rank {rank}: Open MPI binds ranks to whole cores, and {} are not.",
                        list::format_counted(cpus)
                    )
                };
                let cores = host.numbers_of(cpus).ok_or_else(whole)?;
                Ok(format!("rank {rank}=localhost slot={cores}"))
            };
            sets.iter().enumerate().map(line).collect()
        }
        RankForm::Torchrun => Ok(vec![suggested_command::torchrun_ranks(ranks.len()).shell_line()]),
    }
}

fn first_text(notation: Notation, cpus: &CpuSet, order: &[u32], machine: &Machine) -> Result<String, String> {
    let first = print_notation(notation, cpus, order, machine).into_iter().next();
    let why = || format!("{}: nothing to print", notation.word());
    let line = first.ok_or_else(why)?;
    line.text.ok_or_else(|| line.remarks.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::super::sample::stacked;
    use super::super::read_notation;
    use super::*;
    use crate::placement::split_cpus;

    #[test]
    fn each_form_gives_each_rank_its_cpus() {
        let machine = stacked();
        let ranks = split_cpus(&machine, &machine.allowed, 2).unwrap();
        let printed = |form| print_ranks(form, &ranks, &machine).unwrap();
        assert_eq!(printed(RankForm::Vllm), ["VLLM_CPU_OMP_THREADS_BIND=\"0-7,16-23|8-15,24-31\""]);
        assert_eq!(printed(RankForm::Rankfile), ["rank 0=localhost slot=0-7", "rank 1=localhost slot=8-15"]);
        assert_eq!(printed(RankForm::Numactl)[1], "numactl --physcpubind=8-15,24-31 --localalloc");
        assert!(printed(RankForm::OpenMp)[0].starts_with("OMP_PROC_BIND=close OMP_PLACES={0}:8"));
        assert_eq!(printed(RankForm::Torchrun).len(), 1);
        for (form, notation) in [
            (RankForm::OpenMp, Notation::OpenMp),
            (RankForm::Numactl, Notation::Numactl),
            (RankForm::Rankfile, Notation::Rankfile),
        ] {
            for (line, order) in printed(form).iter().zip(&ranks) {
                let read = read_notation(notation, line, &machine).unwrap();
                assert_eq!(read.cpus, order.iter().copied().collect(), "{line}");
            }
        }
        assert!(print_ranks(RankForm::Rankfile, &[vec![0], vec![16]], &machine).unwrap_err().contains("whole cores"));
    }
}
