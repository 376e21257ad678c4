//! Jobs of a fleet: a command for one node, and what came of it.

use std::fmt;
use std::time::Duration;

use corewise_model::fleet::NodeProblem;

/// A node that an engine knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownNode {
    /// Its name: letters, digits, `.`, `_` and `-` only, as in file names.
    pub name: String,
    /// Its rack, if known.
    pub rack: Option<String>,
    /// Why nothing can run there now; `None` if something can.
    pub problem: Option<NodeProblem>,
}

/// Name of a job: the node, and which of its visits it is, from 1. Written as "n0.1".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobName {
    /// The node's name.
    pub node: String,
    /// Number of the visit.
    pub visit: u32,
}

impl JobName {
    /// Reads a name as it is written.
    pub fn parse(text: &str) -> Option<Self> {
        let (node, visit) = text.rsplit_once('.')?;
        let visit = visit.parse().ok().filter(|visit| *visit > 0)?;
        is_node_name(node).then(|| Self { node: node.to_owned(), visit })
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.node, self.visit)
    }
}

/// Returns true if a name can be that of a node: it becomes part of file names and command lines.
pub fn is_node_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=200).contains(&name.len()) && !name.starts_with(['.', '-']) && name.bytes().all(is_plain)
}

/// One command for one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetJob {
    /// Its name.
    pub name: JobName,
    /// Arguments for corewise, which writes its result to standard output. The engine knows where corewise is on the node.
    pub arguments: Vec<String>,
    /// Longest duration of the command. It is ended then.
    pub limit: Duration,
    /// Largest result in bytes, at most [`MOST_RESULT_BYTES`].
    pub most_bytes: u64,
}

/// Largest result of a job in bytes.
pub const MOST_RESULT_BYTES: u64 = 16 << 20;

/// The bytes that a job wrote, or why there are none.
pub type NodeOutcome = Result<Vec<u8>, NodeProblem>;

/// Result of starting a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobStart {
    /// It was started, or waits for its node.
    Started,
    /// No further job is accepted now; holds the reason.
    Later(NodeProblem),
    /// It cannot be started.
    Failed(NodeProblem),
}
