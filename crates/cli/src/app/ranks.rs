//! Ranks: processes of one program that share a machine, as MPI, torchrun or vLLM start them.

use std::str::FromStr;

use corewise_machine::facts::DeviceKind;
use corewise_machine::placement::{CpuSetName, PlacementExpression, ResolvedExpression, split_cpus, split_near};
use corewise_machine::{CpuSet, Machine};

use super::failure::CommandFailure;
use super::placement::parse_expression;

/// Word of `--rank` that asks for the launcher's variables.
const AUTOMATIC: &str = "auto";
/// Variables in which launchers give a process its rank on this machine, and the number of ranks there: torchrun, Open MPI, MPICH with
/// Intel's MPI, MVAPICH2, Cray's PMI and PALS, and Slurm, within which the others may run.
const VARIABLES: [(&str, &str); 7] = [
    ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"),
    ("PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"),
    ("SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"),
];
/// Variable with a node's place in Slurm's lists.
const SLURM_NODE: &str = "SLURM_NODEID";

/// A rank of this machine, as it is typed: `2/8`, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypedRank {
    /// This one, counted from 0, and the number of all.
    Numbered(usize, usize),
    /// Named by the launcher's variables.
    Automatic,
}

impl FromStr for TypedRank {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == AUTOMATIC {
            return Ok(Self::Automatic);
        }
        let numbers = text.split_once('/').and_then(|(rank, ranks)| Some((rank.parse().ok()?, ranks.parse().ok()?)));
        match numbers {
            Some((rank, ranks)) if rank < ranks => Ok(Self::Numbered(rank, ranks)),
            Some((_, ranks)) => Err(format!("ranks are counted from 0 to {}", usize::saturating_sub(ranks, 1))),
            None => Err(format!("expected RANK/RANKS, such as 0/4, or {AUTOMATIC}")),
        }
    }
}

impl TypedRank {
    /// Returns the rank and the number of ranks.
    ///
    /// # Errors
    /// If no launcher has set its variables.
    pub fn read_numbers(self, variable: impl Fn(&str) -> Option<String>) -> Result<(usize, usize), CommandFailure> {
        if let Self::Numbered(rank, ranks) = self {
            return Ok((rank, ranks));
        }
        let number = |name| variable(name)?.trim().parse::<usize>().ok();
        let node = number(SLURM_NODE).unwrap_or(0);
        let found =
            VARIABLES.iter().find_map(|(rank, ranks)| Some((number(rank)?, read_node_count(&variable(ranks)?, node)?)));
        found.filter(|(rank, ranks)| rank < ranks).ok_or_else(|| {
            let names: Vec<String> = VARIABLES.iter().map(|(rank, ranks)| format!("{rank} and {ranks}")).collect();
            CommandFailure::usage_error("--rank auto: no launcher has said which rank this is")
                .with_hint(format!("Variables that are read: {}.", names.join("; ")))
        })
    }
}

/// Returns the number of a node in a list such as `4(x2),3`: 3 for the third node. A single number is that of any node.
fn read_node_count(text: &str, node: usize) -> Option<usize> {
    if let Ok(number) = text.trim().parse() {
        return Some(number);
    }
    let mut nodes_before = 0_usize;
    for part in text.trim().split(',') {
        let (count, nodes) = part.split_once("(x").unwrap_or((part, "1)"));
        nodes_before = nodes_before.checked_add(nodes.strip_suffix(')')?.parse().ok()?)?;
        if node < nodes_before {
            return count.parse().ok();
        }
    }
    None
}

/// Divides cpus among ranks. With `is_near_gpu` each rank gets some of those near the GPU of its number; ranks beyond the last GPU begin
/// again.
///
/// # Errors
/// If there are more ranks than cpus, or no GPU is known.
pub fn split_ranks(
    machine: &Machine,
    cpus: &CpuSet,
    (ranks, is_near_gpu): (usize, bool),
    resolve: impl Fn(&str) -> Result<ResolvedExpression, CommandFailure>,
) -> Result<Vec<Vec<u32>>, CommandFailure> {
    if !is_near_gpu {
        return split_cpus(machine, cpus, ranks).map_err(CommandFailure::unavailable_error);
    }
    let gpus = machine.devices.iter().filter(|device| device.kind == DeviceKind::Gpu).count().max(1);
    let near = |gpu: usize| Ok(resolve(&format!("near(gpu:{gpu})"))?.cpus);
    let homes = (0..gpus.min(ranks)).map(near).collect::<Result<Vec<CpuSet>, CommandFailure>>()?;
    let of_ranks: Vec<CpuSet> = homes.iter().cycle().take(ranks).cloned().collect();
    split_near(machine, cpus, &of_ranks).map_err(CommandFailure::unavailable_error)
}

/// Returns the cpus of an expression for ranks; all usable ones without one.
///
/// # Errors
/// If it cannot be read.
pub fn rank_expression(text: Option<&str>) -> Result<PlacementExpression, CommandFailure> {
    parse_expression(text.unwrap_or(CpuSetName::All.word()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_counted_from_zero_and_below_its_number() {
        assert_eq!("0/4".parse(), Ok(TypedRank::Numbered(0, 4)));
        assert_eq!("auto".parse(), Ok(TypedRank::Automatic));
        for text in ["4/4", "0/0", "1", "/", "a/b", "-1/2", "$LOCAL_RANK/4", ""] {
            assert!(text.parse::<TypedRank>().is_err(), "{text}");
        }
    }

    #[test]
    fn each_launcher_is_understood() {
        for (rank, ranks) in VARIABLES {
            let read = |name: &str| {
                [(rank, "2"), (ranks, "8")].iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(TypedRank::Automatic.read_numbers(read).unwrap(), (2, 8));
        }
        assert!(TypedRank::Automatic.read_numbers(|_| None).unwrap_err().what.contains("no launcher"));
        assert!(TypedRank::Automatic.read_numbers(|_| Some("8".to_owned())).is_err(), "rank 8 of 8");
    }

    /// SLURM_TASKS_PER_NODE in sbatch(1): a list of the nodes' numbers, with repetitions.
    #[test]
    fn slurm_names_each_nodes_number_in_a_list() {
        let on_node = |node: &str| {
            let read = |name: &str| match name {
                "SLURM_LOCALID" => Some("1".to_owned()),
                "SLURM_STEP_TASKS_PER_NODE" => Some("4(x2),3,2(x1)".to_owned()),
                SLURM_NODE => Some(node.to_owned()),
                _ => None,
            };
            TypedRank::Automatic.read_numbers(read).ok()
        };
        assert_eq!(["0", "1", "2", "3"].map(on_node), [(1, 4), (1, 4), (1, 3), (1, 2)].map(Some));
        assert_eq!(on_node("4"), None, "the list has four nodes");
    }
}
