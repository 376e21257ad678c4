//! Slurm's words: states of nodes, reasons of waiting, states of ended jobs (slurm.conf(5), sinfo(1), squeue(1)).

use std::collections::BTreeMap;

use corewise_model::fleet::{NodeProblem, ProblemKind};

use super::super::job::{KnownNode, is_node_name};
use super::super::node_problem;

/// Beginnings of the states in which a node takes no job until someone changes that.
const UNUSABLE: [&str; 5] = ["down", "drain", "fail", "error", "inval"];
/// Marks after a state of a node; `*` if it does not answer.
const MARKS: [char; 9] = ['*', '~', '#', '!', '%', '$', '@', '^', '-'];

/// Beginnings of the reasons for which a job waits until someone changes something.
const HOPELESS: [&str; 22] = [
    "PartitionDown",
    "PartitionInactive",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "PartitionConfig",
    "ReqNodeNotAvail",
    "Nodes required for job are DOWN",
    "NodeDown",
    "BadConstraints",
    "JobHeld",
    "job requeued in held state",
    "launch failed requeued held",
    "InvalidAccount",
    "InvalidQOS",
    "AccountNotAllowed",
    "AccountingPolicy",
    "QOSNotAllowed",
    "QOSJobLimit",
    "AssocMaxCpuPerJobLimit",
    "AssocMaxNodePerJobLimit",
    "ReservationDeleted",
    "SystemFailure",
];

/// Words of sbatch(1) if no further job is accepted now.
const FULL: [&str; 4] = ["job submit limit", "temporarily unable to accept job", "MaxSubmitJob", "Slurm backlog"];

/// Returns true if a job that waits for this reason will not start by itself.
pub(super) fn is_hopeless(reason: &str) -> bool {
    HOPELESS.iter().any(|hopeless| reason.trim_start_matches('(').starts_with(hopeless))
}

/// Returns true if sbatch(1) refused a job only because there are too many.
pub(super) fn is_full(why: &str) -> bool {
    FULL.iter().any(|full| why.contains(full))
}

/// Reads lines of `NODE|PARTITION|STATE|REASON`: each node once, only of the default partition if none was named.
pub(super) fn read_nodes(text: &str, partition: Option<&str>) -> Vec<KnownNode> {
    let mut nodes = BTreeMap::new();
    let mut order = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(4, '|').map(str::trim);
        let [Some(name), Some(of), Some(state)] = [fields.next(), fields.next(), fields.next()] else { continue };
        let is_wanted = partition.is_some() || of.ends_with('*');
        if is_wanted && is_node_name(name) && !nodes.contains_key(name) {
            let problem = find_problem(state, fields.next().unwrap_or_default());
            nodes.insert(name.to_owned(), problem);
            order.push(name.to_owned());
        }
    }
    let known = |name: String| KnownNode { problem: nodes.remove(&name).flatten(), name, rack: None };
    order.into_iter().map(known).collect()
}

/// Returns why a node in this state takes no job; `None` if it does.
fn find_problem(state: &str, reason: &str) -> Option<NodeProblem> {
    let plain = state.trim_end_matches(MARKS);
    let is_silent = state.contains('*');
    if !is_silent && !UNUSABLE.iter().any(|unusable| plain.starts_with(unusable)) {
        return None;
    }
    let silent = if is_silent { ", does not answer" } else { "" };
    let why = if reason.is_empty() || reason == "none" { String::new() } else { format!(" ({reason})") };
    Some(node_problem(ProblemKind::NotStarted, format!("Slurm: the node is {plain}{silent}{why}")))
}

/// Describes the end of a job from the line of `scontrol -o show job`: "NODE_FAIL (NodeDown)", "FAILED with status 3".
pub(super) fn describe_end(line: &str) -> Option<String> {
    let field = |name: &str| {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
            .filter(|value| *value != "None")
    };
    let state = field("JobState")?;
    let reason = field("Reason").map(|reason| format!(" ({reason})")).unwrap_or_default();
    let status = field("ExitCode").and_then(|code| code.split(':').next()).filter(|code| *code != "0");
    let status = status.map(|status| format!(" with status {status}")).unwrap_or_default();
    Some(format!("{state}{status}{reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_takes_no_job_says_why() {
        let text = "n0|main*|idle|none\nn0|odd|idle|none\nn1|main*|down*|Not responding\nn2|main*|drained|disk|bay 3\n\
                    n3|main*|mixed-|none\nn4|odd|idle|none\n-x|main*|idle|none\n";
        let nodes = read_nodes(text, None);
        let problem = |index: usize| nodes[index].problem.as_ref().map(|problem| problem.reason.as_str());
        assert_eq!(nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["n0", "n1", "n2", "n3"]);
        assert_eq!((problem(0), problem(3)), (None, None));
        assert_eq!(problem(1), Some("Slurm: the node is down, does not answer (Not responding)"));
        assert_eq!(problem(2), Some("Slurm: the node is drained (disk|bay 3)"));
        assert_eq!(read_nodes(text, Some("odd")).len(), 5, "sinfo selected them already");
    }

    #[test]
    fn waiting_for_a_busy_node_is_not_hopeless() {
        for reason in ["Resources", "Priority", "None", "BeginTime", "QOSMaxJobsPerUserLimit", "Dependency", ""] {
            assert!(!is_hopeless(reason), "{reason}");
        }
        for reason in
            ["PartitionDown", "ReqNodeNotAvail, UnavailableNodes:n2", "(Nodes required for job are DOWN, DRAINED"]
        {
            assert!(is_hopeless(reason), "{reason}");
        }
    }

    #[test]
    fn the_end_of_a_job_has_its_reason_and_status() {
        let end = |state: &str| describe_end(&format!("JobId=7 JobName=x UserId=a(1) {state} NodeList=n2"));
        assert_eq!(end("JobState=NODE_FAIL Reason=NodeDown ExitCode=0:0").unwrap(), "NODE_FAIL (NodeDown)");
        assert_eq!(
            end("JobState=FAILED Reason=NonZeroExitCode ExitCode=3:0").unwrap(),
            "FAILED with status 3 (NonZeroExitCode)"
        );
        assert_eq!(end("JobState=COMPLETED Reason=None ExitCode=0:0").unwrap(), "COMPLETED");
        assert_eq!(end(""), None);
    }
}
