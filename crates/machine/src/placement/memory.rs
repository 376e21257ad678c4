//! Memory policies of a program: `local`, `bind:0`, `preferred:0,1`, `interleave:all`, `weighted:0-3`.

use std::fmt;
use std::str::FromStr;

use crate::facts::MemoryKind;
use crate::{CpuSet, Machine};

/// Choice of the kernel among the nodes of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryMode {
    /// From the node of the requesting cpu.
    Local,
    /// From these nodes only.
    Bind,
    /// From these nodes as long as they have free memory.
    Preferred,
    /// From these nodes in turn, page by page.
    Interleave,
    /// From these nodes in turn, in proportion to the weights in /sys/kernel/mm/mempolicy/weighted_interleave.
    Weighted,
}

impl MemoryMode {
    const NAMED: [(&'static str, Self); 4] = [
        ("bind", Self::Bind),
        ("preferred", Self::Preferred),
        ("interleave", Self::Interleave),
        ("weighted", Self::Weighted),
    ];
}

impl fmt::Display for MemoryMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::NAMED.iter().find(|(_, mode)| mode == self);
        formatter.write_str(named.map_or("local", |(name, _)| name))
    }
}

/// The nodes of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyNodes {
    /// All nodes with memory that may be used.
    All,
    /// Indices in machine order, as `node:N` counts them; ascending, at least one. `Local` has none.
    Indices(Vec<u32>),
}

/// A memory policy as typed.
///
/// # Examples
/// ```
/// use corewise_machine::placement::memory::{MemoryError, MemoryPolicy};
/// use corewise_machine::{CpuSet, generate::one_package_machine};
///
/// let machine = one_package_machine(4, false, &[(CpuSet::first_cpus(4), 8)]);
/// let policy: MemoryPolicy = "interleave:all".parse()?;
/// assert_eq!(policy.node_numbers(&machine, None)?, [0]);
/// let error = "bind:1".parse::<MemoryPolicy>()?.node_numbers(&machine, None).unwrap_err();
/// assert_eq!(error, MemoryError::NoSuchNode { index: 1, count: 1 });
/// # Ok::<(), MemoryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPolicy {
    /// Way of choosing among the nodes.
    pub mode: MemoryMode,
    /// Nodes to choose from.
    pub nodes: PolicyNodes,
}

/// Reason why a memory policy cannot be read, or is not available on a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The text is no policy.
    #[error("expected local, bind:NODES, preferred:NODES, interleave:NODES or weighted:NODES, found \"{0}\"")]
    NoPolicy(String),
    /// The text after the colon is no list of nodes.
    #[error("expected nodes such as 0, 0,2, 0-3 or all, found \"{0}\"")]
    NoNodes(String),
    /// There is no such node.
    #[error("node:{index}: this machine has {}", format_span(*.count))]
    NoSuchNode {
        /// The typed index.
        index: u32,
        /// Number of nodes.
        count: usize,
    },
    /// `all` selects no node.
    #[error("this process may not use the memory of any node")]
    Nowhere,
    /// A node has cpus only.
    #[error("node:{index} has no memory")]
    WithoutMemory {
        /// The index of the node.
        index: u32,
    },
    /// The cpuset does not allow memory of a node.
    #[error("this process may not use the memory of node:{index} (Mems_allowed of its cpuset)")]
    NotAllowed {
        /// The index of the node.
        index: u32,
    },
}

fn format_span(count: usize) -> String {
    match count {
        0 => "no nodes".to_owned(),
        1 => "node:0 only".to_owned(),
        _ => format!("node:0-{}", count - 1),
    }
}

impl FromStr for MemoryPolicy {
    type Err = MemoryError;

    fn from_str(text: &str) -> Result<Self, MemoryError> {
        let lower = text.to_ascii_lowercase();
        if lower == "local" {
            return Ok(Self { mode: MemoryMode::Local, nodes: PolicyNodes::Indices(Vec::new()) });
        }
        let no_policy = || MemoryError::NoPolicy(text.to_owned());
        let (name, list) = lower.split_once(':').ok_or_else(no_policy)?;
        let (_, mode) = MemoryMode::NAMED.iter().find(|(known, _)| *known == name).ok_or_else(no_policy)?;
        let nodes = match list {
            "all" => PolicyNodes::All,
            _ => PolicyNodes::Indices(parse_indices(list).ok_or_else(|| MemoryError::NoNodes(list.to_owned()))?),
        };
        Ok(Self { mode: *mode, nodes })
    }
}

/// Parses a list of nodes, which has the syntax of a cpu list.
fn parse_indices(list: &str) -> Option<Vec<u32>> {
    CpuSet::parse_list(list).ok().filter(|set| !set.is_empty()).map(|set| set.iter().collect())
}

impl fmt::Display for MemoryPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.mode)?;
        match &self.nodes {
            PolicyNodes::All => write!(formatter, ":all"),
            PolicyNodes::Indices(indices) if indices.is_empty() => Ok(()),
            PolicyNodes::Indices(indices) => write!(formatter, ":{}", indices.iter().copied().collect::<CpuSet>()),
        }
    }
}

impl MemoryPolicy {
    /// Returns the nodes by the system's numbers, which may be sparse although indices are not; empty for `Local`. `allowed` are the
    /// numbers of the nodes from which the process may take memory now; if unknown, the machine's own.
    ///
    /// # Errors
    /// If a node does not exist, has no memory, or is not allowed.
    pub fn node_numbers(&self, machine: &Machine, allowed: Option<&[u32]>) -> Result<Vec<u32>, MemoryError> {
        match &self.nodes {
            PolicyNodes::Indices(indices) => {
                indices.iter().map(|index| node_number(machine, allowed, *index)).collect()
            }
            PolicyNodes::All => {
                let indices = 0..machine.nodes.len() as u32;
                let numbers: Vec<u32> = indices.filter_map(|index| node_number(machine, allowed, index).ok()).collect();
                if numbers.is_empty() { Err(MemoryError::Nowhere) } else { Ok(numbers) }
            }
        }
    }
}

/// A policy that is worth trying, and why, one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyToTry {
    /// The policy.
    pub policy: MemoryPolicy,
    /// The reason.
    pub reason: &'static str,
}

/// Returns the policies that differ from the default for a program on these cpus, at most one for each way to differ. There are none if one
/// node has all memory. `weights` are the kernel's for weighted interleaving of [`PolicyNodes::All`], if the kernel supports it.
///
/// `bind` differs from the default only if a node is full, so it is never proposed. `preferred` is proposed for memory that is not plain
/// DRAM and has no cpus, since the default never takes it first.
pub fn policies_to_try(machine: &Machine, weights: Option<&[u32]>) -> Vec<PolicyToTry> {
    let usable = || machine.nodes.iter().enumerate().filter(|(_, node)| machine.has_memory(node));
    if usable().count() < 2 {
        return Vec::new();
    }
    let all = |mode| MemoryPolicy { mode, nodes: PolicyNodes::All };
    let mut found = vec![PolicyToTry {
        policy: all(MemoryMode::Interleave),
        reason: "Pages in turn from all nodes: the bandwidth of all, at the mean of their latencies.",
    }];
    if weights.is_some_and(|weights| weights.windows(2).any(|pair| pair[0] != pair[1])) {
        let reason = "Pages in turn from all nodes, by the weights that the kernel has for their bandwidth.";
        found.push(PolicyToTry { policy: all(MemoryMode::Weighted), reason });
    }
    let fast = usable().filter(|(_, node)| node.cpus.is_empty() && node.memory_kind == Some(MemoryKind::HighBandwidth));
    let fast: Vec<u32> = fast.map(|(index, _)| index as u32).collect();
    if !fast.is_empty() {
        let policy = MemoryPolicy { mode: MemoryMode::Preferred, nodes: PolicyNodes::Indices(fast) };
        found.push(PolicyToTry { policy, reason: "High-bandwidth memory first, as long as there is some." });
    }
    found
}

/// Reduces a policy to its effect for a program on some cpus: of two policies with the same effect only one need be tried. `nodes` are the
/// policy's nodes by the system's numbers; no mode is the default.
///
/// The default takes memory from the node of each cpu; for cpus of one node that is the same as preferring it. Interleaving over one node
/// is the same too. Weighted interleaving with equal weights is plain interleaving.
pub fn comes_to(
    machine: &Machine,
    cpus: &CpuSet,
    mode: Option<MemoryMode>,
    nodes: &CpuSet,
    weights: Option<&[u32]>,
) -> (MemoryMode, CpuSet) {
    let own = || machine.nodes.iter().filter(|node| !node.cpus.is_disjoint(cpus)).collect::<Vec<_>>();
    let is_even = weights.is_none_or(|weights| weights.windows(2).all(|pair| pair[0] == pair[1]));
    match mode.unwrap_or(MemoryMode::Local) {
        MemoryMode::Local => match own()[..] {
            [only] if machine.has_memory(only) => (MemoryMode::Preferred, CpuSet::from_cpu(only.number)),
            _ => (MemoryMode::Local, CpuSet::new()),
        },
        MemoryMode::Interleave | MemoryMode::Weighted if nodes.len() == 1 => (MemoryMode::Preferred, nodes.clone()),
        MemoryMode::Weighted if is_even => (MemoryMode::Interleave, nodes.clone()),
        mode => (mode, nodes.clone()),
    }
}

fn node_number(machine: &Machine, allowed: Option<&[u32]>, index: u32) -> Result<u32, MemoryError> {
    let count = machine.nodes.len();
    let node = machine.nodes.get(index as usize).ok_or(MemoryError::NoSuchNode { index, count })?;
    if node.memory_bytes == Some(0) {
        return Err(MemoryError::WithoutMemory { index });
    }
    if allowed.map_or(!machine.has_memory(node), |allowed| !allowed.contains(&node.number)) {
        return Err(MemoryError::NotAllowed { index });
    }
    Ok(node.number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::assemble_machine;
    use crate::facts::{CpuFacts, MachineFacts, NodeFacts};

    /// Three nodes with the system's numbers 0, 2 and 8; the second has no memory.
    fn machine() -> Machine {
        let node = |number, memory_bytes| NodeFacts {
            number,
            cpus: CpuSet::from_cpu(number),
            memory_bytes: Some(memory_bytes),
            ..NodeFacts::default()
        };
        let cpus: CpuSet = [0, 2, 8].into_iter().collect();
        assemble_machine(MachineFacts {
            cpus: cpus.iter().map(|number| CpuFacts { number, ..CpuFacts::default() }).collect(),
            nodes: vec![node(0, 1 << 30), node(2, 0), node(8, 1 << 30)],
            ..MachineFacts::default()
        })
    }

    fn numbers(text: &str, allowed: Option<&[u32]>) -> Result<Vec<u32>, String> {
        let policy: MemoryPolicy = text.parse().map_err(|error: MemoryError| error.to_string())?;
        policy.node_numbers(&machine(), allowed).map_err(|error| error.to_string())
    }

    #[test]
    fn policies_are_tried_where_they_differ() {
        let machine = machine();
        let words = |weights| {
            policies_to_try(&machine, weights).iter().map(|found| found.policy.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(words(None), ["interleave:all"]);
        assert_eq!(words(Some(&[3, 3])), ["interleave:all"], "equal weights are plain turns");
        assert_eq!(words(Some(&[3, 1])), ["interleave:all", "weighted:all"]);
        let mut fast = machine.clone();
        fast.nodes[2].memory_kind = Some(MemoryKind::HighBandwidth);
        assert_eq!(policies_to_try(&fast, None).len(), 1, "node 8 has cpus: they take it first as it is");
        fast.nodes[2].cpus = CpuSet::new();
        assert_eq!(policies_to_try(&fast, None)[1].policy.to_string(), "preferred:2");
        let one = Machine { allowed_memory: Some(CpuSet::from_cpu(0)), ..machine };
        assert_eq!(policies_to_try(&one, Some(&[3, 1])), []);
    }

    #[test]
    fn policies_that_come_to_the_same_are_one() {
        let machine = machine();
        let both: CpuSet = [0, 8].into_iter().collect();
        let comes = |cpus: &CpuSet, mode, nodes: &CpuSet, weights| comes_to(&machine, cpus, mode, nodes, weights);
        let (at, none) = (CpuSet::from_cpu(0), CpuSet::new());
        assert_eq!(comes(&at, None, &none, None), comes(&at, Some(MemoryMode::Preferred), &at, None));
        assert_eq!(comes(&at, None, &none, None), comes(&at, Some(MemoryMode::Interleave), &at, None));
        assert_ne!(
            comes(&at, None, &none, None),
            comes(&at, Some(MemoryMode::Bind), &at, None),
            "only a full node differs"
        );
        assert_ne!(comes(&both, None, &none, None), comes(&both, Some(MemoryMode::Interleave), &both, None));
        let weighted = |weights| comes(&both, Some(MemoryMode::Weighted), &both, weights);
        assert_eq!(weighted(Some(&[2, 2])), comes(&both, Some(MemoryMode::Interleave), &both, None));
        assert_ne!(weighted(Some(&[2, 1])), weighted(Some(&[2, 2])));
        // Cpus without memory of their own: which node is nearest is the kernel's choice.
        assert_eq!(comes(&CpuSet::from_cpu(2), None, &none, None).0, MemoryMode::Local);
    }

    #[test]
    fn policies_print_as_they_are_typed() {
        for text in ["local", "bind:0", "preferred:0,2", "interleave:0-3", "weighted:all"] {
            assert_eq!(text.parse::<MemoryPolicy>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn upper_case_means_the_same() {
        assert_eq!("BIND:0".parse::<MemoryPolicy>().unwrap().to_string(), "bind:0");
        assert_eq!("Interleave:ALL".parse::<MemoryPolicy>().unwrap().to_string(), "interleave:all");
    }

    #[test]
    fn indices_become_the_numbers_of_the_system() {
        assert_eq!(numbers("bind:2", None), Ok(vec![8]));
        assert_eq!(numbers("interleave:0,2", Some(&[0, 8])), Ok(vec![0, 8]));
        assert_eq!(numbers("interleave:all", None), Ok(vec![0, 8]));
        assert_eq!(numbers("weighted:all", Some(&[8])), Ok(vec![8]));
        assert_eq!(numbers("local", None), Ok(Vec::new()));
    }

    #[test]
    fn the_machine_knows_what_is_allowed_where_the_process_does_not_say() {
        let machine = Machine { allowed_memory: Some(CpuSet::from_cpu(8)), ..machine() };
        let numbers = |text: &str, allowed| text.parse::<MemoryPolicy>().unwrap().node_numbers(&machine, allowed);
        assert_eq!(numbers("interleave:all", None), Ok(vec![8]));
        assert_eq!(numbers("bind:0", None), Err(MemoryError::NotAllowed { index: 0 }));
        assert_eq!(numbers("bind:0", Some(&[0])), Ok(vec![0]), "what the process may do now comes first");
    }

    #[test]
    fn what_cannot_be_says_why() {
        let error = |text, allowed| numbers(text, allowed).unwrap_err();
        assert_eq!(error("bind:3", None), "node:3: this machine has node:0-2");
        assert_eq!(error("bind:0-1", None), "node:1 has no memory");
        assert_eq!(error("interleave:all", Some(&[2])), "this process may not use the memory of any node");
        let denied = "this process may not use the memory of node:2 (Mems_allowed of its cpuset)";
        assert_eq!(error("bind:2", Some(&[0])), denied);
        assert_eq!(error("bind:", None), "expected nodes such as 0, 0,2, 0-3 or all, found \"\"");
        let policies = "expected local, bind:NODES, preferred:NODES, interleave:NODES or weighted:NODES";
        for text in ["bind", "near:0", "local:0", ""] {
            assert_eq!(error(text, None), format!("{policies}, found \"{text}\""));
        }
    }
}
