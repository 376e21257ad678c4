//! A talk graph as a stored result.

use super::conclude::TalkConclusions;
use super::{TalkGraph, VertexKind};
use crate::Artifact;
use crate::artifact::{ArtifactCircumstances, ArtifactOrigin, ArtifactSummary, check_numbers, format_count};
use crate::credentials::join_words;
use crate::trend::TrendValue;

/// Maximum number of vertices and of edges of a graph that comes from a file.
const MOST_PARTS: usize = 100_000;
/// Maximum number of threads of all pools together.
const MOST_THREADS: u64 = 1_000_000;

impl Artifact for TalkGraph {
    const KIND: &'static str = "talk";
    const SCHEMA: &'static str = "corewise/talk/1";
    type Conclusions = TalkConclusions;

    fn check_loaded(&self) -> Result<(), String> {
        self.machine.iter().try_for_each(|machine| machine.check_consistency())?;
        check_numbers(self)?;
        if self.vertices.len() > MOST_PARTS || self.edges.len() > MOST_PARTS {
            return Err(format!("it has more than {MOST_PARTS} threads or edges"));
        }
        let threads: u64 = self.vertices.iter().map(|vertex| u64::from(vertex.kind.count_threads())).sum();
        if threads > MOST_THREADS || self.vertices.iter().any(|vertex| vertex.kind == VertexKind::Pool { threads: 0 }) {
            return Err("one of its pools has no threads, or too many".to_owned());
        }
        if self.seconds.is_nan() || self.seconds <= 0.0 {
            return Err("it was watched for no time".to_owned());
        }
        let is_place = |vertex: usize| vertex < self.vertices.len();
        if self.edges.iter().any(|edge| !is_place(edge.waker) || !is_place(edge.wakee)) {
            return Err("an edge is between threads that it does not have".to_owned());
        }
        let waits = self.placed_waits.iter();
        if waits.clone().any(|waits| !is_place(waits.wakee) || waits.slots.len() > MOST_PARTS) {
            return Err("it has waits of a thread that it does not have, or too many".to_owned());
        }
        let of_waits = waits.flat_map(|waits| &waits.slots).flat_map(|slot| [slot.inside, slot.across]);
        let of_waits = of_waits.flat_map(|sum| [sum.waits, sum.waiting_ns]);
        let is_wrong = |value: f64| !(0.0..=1e15).contains(&value);
        let of_edges = self.edges.iter().flat_map(|edge| [Some(edge.wakes), edge.waiting_ns]).flatten();
        let of_vertices = self.vertices.iter().map(|vertex| vertex.busy_share);
        match of_edges.chain(of_waits).chain(of_vertices).find(|value| is_wrong(*value)) {
            Some(value) => Err(format!("{value} is no number of wakes, no time and no share")),
            None => Ok(()),
        }
    }

    fn circumstances(&self) -> ArtifactCircumstances<'_> {
        ArtifactCircumstances {
            machine: self.machine.as_ref(),
            started_unix_ms: self.provenance.started_unix_ms,
            corewise: &self.provenance.corewise,
            seed: self.provenance.seed,
            partial: self.provenance.partial,
        }
    }

    fn origin(&self) -> &ArtifactOrigin {
        &self.provenance.origin
    }

    fn origin_mut(&mut self) -> &mut ArtifactOrigin {
        &mut self.provenance.origin
    }

    fn describe_contents(&self) -> String {
        let threads: u32 = self.vertices.iter().map(|vertex| vertex.kind.count_threads()).sum();
        format!("{}{} in {:.0} s", self.contents_prefix(), format_count(threads as usize, "thread"), self.seconds)
    }

    fn draw_conclusions(&self) -> TalkConclusions {
        TalkConclusions::new(self, self.machine.as_ref(), None)
    }

    fn trend_values(&self) -> Vec<TrendValue> {
        let rate = self.draw_conclusions().wakes_per_s;
        vec![TrendValue::new("wakes in a second", "all threads", rate, None)]
    }

    /// Returns true for graphs of the same command.
    fn is_followed_with(&self, other: &ArtifactSummary) -> bool {
        other.what.starts_with(&self.contents_prefix())
    }
}

impl TalkGraph {
    /// Returns what every graph of the same command begins with in lists.
    fn contents_prefix(&self) -> String {
        if self.command.is_empty() { String::new() } else { format!("{}: ", join_words(&self.command)) }
    }
}
