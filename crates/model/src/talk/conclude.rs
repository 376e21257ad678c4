//! Conclusions of a talk graph: its pools and groups, statements about them, and where its threads would go.

use corewise_machine::Machine;
use schemars::JsonSchema;
use serde::Serialize;

use super::costs::MessageCosts;
use super::fold::FoldedTalk;
use super::groups::{TalkGroups, find_talk_groups};
use super::plan::{TalkPlan, plan_talk};
use super::{TalkGraph, TalkSource};
use crate::artifact::format_count;
use crate::links::LinkMap;

/// Share of the time in which a thread computes from which it is said to compute all the time.
const ALL_THE_TIME: f64 = 0.9;
/// Maximum number of names in a statement.
const MOST_NAMES: usize = 4;

/// Conclusions of a talk graph.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TalkConclusions {
    /// The graph with its pools folded.
    pub folded: FoldedTalk,
    /// Wakes of threads of the program in a second.
    pub wakes_per_s: f64,
    /// Groups of threads that talk mostly among themselves.
    pub groups: TalkGroups,
    /// Statements, each with its test if it generalises.
    pub statements: Vec<TalkStatement>,
    /// Where the threads would go on its machine; absent without a machine, without two cpus, and without talk between threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<TalkPlan>,
}

/// A sentence about a graph.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TalkStatement {
    /// One sentence.
    pub statement: String,
    /// Share of random graphs in which it would be as true; absent if the sentence only counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
}

impl TalkConclusions {
    /// Draws conclusions; `machine` is the one to plan for, with a map of its links if there is one.
    pub fn new(graph: &TalkGraph, machine: Option<&Machine>, map: Option<&LinkMap>) -> Self {
        let folded = FoldedTalk::new(graph);
        let groups = find_talk_groups(&folded);
        let plan = machine.and_then(|machine| {
            let costs = MessageCosts::new(machine, &machine.allowed, map);
            plan_talk(graph, &folded, machine, &costs)
        });
        let is_woken = |wakee: usize| folded.vertices[wakee].kind.is_thread();
        let wakes: f64 = folded.edges.iter().filter(|edge| is_woken(edge.wakee)).map(|edge| edge.wakes).sum();
        let statements = compose_statements(graph, &folded, &groups);
        Self { wakes_per_s: wakes / graph.seconds, folded, groups, statements, plan }
    }
}

fn compose_statements(graph: &TalkGraph, folded: &FoldedTalk, groups: &TalkGroups) -> Vec<TalkStatement> {
    let counted = |statement: String| TalkStatement { statement, p_value: None };
    let mut statements = Vec::new();
    statements.extend(state_groups(folded, groups));
    statements.extend(state_busy_threads(folded).map(counted));
    statements.extend(state_longest_wait(folded).map(counted));
    statements.extend(state_distance(graph));
    if graph.source == TalkSource::OwnSwitches {
        statements.push(counted("The edges are guessed from which thread ran while another waited.".to_owned()));
    }
    statements
}

/// Returns the sentence about groups.
fn state_groups(folded: &FoldedTalk, groups: &TalkGroups) -> Option<TalkStatement> {
    let sizes: Vec<usize> = groups.groups.iter().map(|group| count_threads(folded, group)).collect();
    let talking = match sizes[..] {
        [] => return None,
        [threads] => format!("All wakes between threads are inside one group of {threads}."),
        _ if groups.is_proven => format!(
            "{:.0} % of all wakes between threads are inside {}.",
            100.0 * groups.inside_share,
            describe_sizes(&sizes)
        ),
        _ => format!(
            "No groups are proven: {} hold {:.0} % of the wakes, and random partners often give groups as clear.",
            describe_sizes(&sizes),
            100.0 * groups.inside_share
        ),
    };
    Some(TalkStatement { statement: talking, p_value: (sizes.len() > 1).then_some(groups.p_value) })
}

fn count_threads(folded: &FoldedTalk, group: &[usize]) -> usize {
    group.iter().map(|vertex| folded.vertices[*vertex].kind.count_threads() as usize).sum()
}

/// Describes groups by their sizes: "two groups of 4", "groups of 5, 4 and 4".
fn describe_sizes(sizes: &[usize]) -> String {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable_by_key(|size| std::cmp::Reverse(*size));
    match (&sorted[..], sorted.first() == sorted.last()) {
        ([size, ..], true) => format!("{} of {size}", format_count(sorted.len(), "group")),
        ([first @ .., last], false) if sorted.len() <= MOST_NAMES + 2 => {
            let first: Vec<String> = first.iter().map(usize::to_string).collect();
            format!("groups of {} and {last}", first.join(", "))
        }
        _ => format!("{} of up to {}", format_count(sorted.len(), "group"), sorted.first().unwrap_or(&0)),
    }
}

/// Returns the sentence about threads that compute all the time.
fn state_busy_threads(folded: &FoldedTalk) -> Option<String> {
    let is_busy = |vertex: &&super::TalkVertex| {
        vertex.kind.is_thread() && vertex.busy_share >= ALL_THE_TIME * f64::from(vertex.kind.count_threads())
    };
    let names: Vec<&str> = folded.vertices.iter().filter(is_busy).map(|vertex| vertex.name.as_str()).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    let shown = names.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    match (names.len(), more) {
        (0, _) => None,
        (1, _) => Some(format!("{shown} computes all the time: it gets a core of its own if there are enough.")),
        (_, 0) => Some(format!("{shown} compute all the time: each gets a core of its own if there are enough.")),
        _ => Some(format!(
            "{shown} and {more} more compute all the time: each gets a core of its own if there are enough."
        )),
    }
}

/// Returns the sentence about waits across last-level caches.
fn state_distance(graph: &TalkGraph) -> Option<TalkStatement> {
    let waits = graph.placed_waits.as_ref()?;
    let longer = waits.find_longer_waits()?;
    let statement = format!(
        "{} waits {} after a wake from another last-level cache, {:.1} times as long as from its own.",
        graph.vertices[waits.wakee].name,
        format_wait(longer.across_ns),
        longer.ratio
    );
    Some(TalkStatement { statement, p_value: Some(longer.p_value) })
}

/// Returns the sentence about the longest wait among the edges that carry at least a hundredth of the wakes.
fn state_longest_wait(folded: &FoldedTalk) -> Option<String> {
    let total: f64 = folded.edges.iter().map(|edge| edge.wakes).sum();
    let strong = folded.edges.iter().filter(|edge| edge.wakes >= 0.01 * total);
    let timed = strong.filter_map(|edge| Some((edge, edge.waiting_ns?)));
    let (edge, ns) = timed.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (waker, wakee) = (&folded.vertices[edge.waker].name, &folded.vertices[edge.wakee].name);
    Some(format!("{wakee} waits longest to run: {} after a wake by {waker}.", format_wait(ns)))
}

fn format_wait(ns: f64) -> String {
    if ns < 1e6 { format!("{:.1} µs", 1e-3 * ns) } else { format!("{:.1} ms", 1e-6 * ns) }
}
