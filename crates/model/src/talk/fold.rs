//! Folds threads that have the same part in a program: `worker-0` to `worker-31` become one vertex, `worker-*`.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::Serialize;

use super::{TalkEdge, TalkGraph, TalkVertex, VertexKind, WakeMeans};

/// Minimum number of threads that are folded.
const LEAST_THREADS: usize = 4;
/// Number of threads of one name from which they are folded in any case.
const ALWAYS_FOLDED: usize = 65;
/// Minimum likeness of the partners of folded threads, from 0 to 1.
const LEAST_LIKENESS: f64 = 0.8;
/// Stands for numbers in the name of a pool.
pub const NUMBER_SIGN: char = '*';

/// A graph with its pools folded, the busiest talkers first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FoldedTalk {
    /// The vertices.
    pub vertices: Vec<TalkVertex>,
    /// For each, the places of its vertices in the observed graph.
    pub members: Vec<Vec<usize>>,
    /// The edges, the strongest first. An edge from a vertex to itself is talk inside a pool.
    pub edges: Vec<TalkEdge>,
}

impl FoldedTalk {
    /// Folds a graph.
    pub fn new(graph: &TalkGraph) -> Self {
        let mut members = find_pools(graph);
        let weights = graph.vertex_weights();
        let weight = |of: &Vec<usize>| of.iter().map(|vertex| weights[*vertex]).sum::<f64>();
        members.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.cmp(b)));
        let mut place = vec![0; graph.vertices.len()];
        members.iter().enumerate().for_each(|(at, of)| of.iter().for_each(|vertex| place[*vertex] = at));
        let vertices = members.iter().map(|of| fold_vertices(graph, of)).collect();
        Self { vertices, edges: fold_edges(&graph.edges, &place), members }
    }

    /// Iterates over the places of vertices that are threads of programs.
    pub fn list_threads(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.vertices.len()).filter(|vertex| self.vertices[*vertex].kind.is_thread())
    }

    /// Returns the wakes of each pair of vertices, both ways and by all means together, without those inside a vertex.
    pub fn sum_pairs(&self) -> BTreeMap<(usize, usize), f64> {
        let mut pairs = BTreeMap::new();
        for edge in self.edges.iter().filter(|edge| edge.waker != edge.wakee) {
            *pairs.entry((edge.waker.min(edge.wakee), edge.waker.max(edge.wakee))).or_insert(0.0) += edge.wakes;
        }
        pairs
    }
}

/// Returns the vertices in sets, each folded to one.
fn find_pools(graph: &TalkGraph) -> Vec<Vec<usize>> {
    let mut classes: BTreeMap<(bool, &str, String), Vec<usize>> = BTreeMap::new();
    for (at, vertex) in graph.vertices.iter().enumerate() {
        let is_thread = vertex.kind.is_thread();
        let name = if is_thread { replace_numbers(&vertex.name) } else { at.to_string() };
        classes.entry((is_thread, &vertex.program, name)).or_default().push(at);
    }
    let partners = list_partners(graph);
    let split = |class: Vec<usize>| {
        let is_pool = class.len() >= ALWAYS_FOLDED || class.len() >= LEAST_THREADS && are_alike(&class, &partners);
        if is_pool { vec![class] } else { class.into_iter().map(|vertex| vec![vertex]).collect() }
    };
    classes.into_values().flat_map(split).collect()
}

/// Replaces each number in a name by a star.
pub fn replace_numbers(name: &str) -> String {
    let mut replaced = String::with_capacity(name.len());
    for character in name.chars() {
        match character.is_ascii_digit() {
            true if replaced.ends_with(NUMBER_SIGN) => {}
            true => replaced.push(NUMBER_SIGN),
            false => replaced.push(character),
        }
    }
    replaced
}

/// Returns the wakes of each vertex with each of its partners, both ways.
fn list_partners(graph: &TalkGraph) -> Vec<BTreeMap<usize, f64>> {
    let mut partners = vec![BTreeMap::new(); graph.vertices.len()];
    for edge in graph.edges.iter().filter(|edge| edge.waker != edge.wakee) {
        *partners[edge.waker].entry(edge.wakee).or_insert(0.0) += edge.wakes;
        *partners[edge.wakee].entry(edge.waker).or_insert(0.0) += edge.wakes;
    }
    partners
}

/// Returns true if the vertices of a class have the same partners: the mean cosine between the wakes of one and of all others is
/// high. The places of the two themselves do not count, so the threads of a pool may talk with each other.
fn are_alike(class: &[usize], partners: &[BTreeMap<usize, f64>]) -> bool {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    for (partner, wakes) in class.iter().flat_map(|vertex| &partners[*vertex]) {
        *sums.entry(*partner).or_insert(0.0) += wakes;
    }
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let likeness = |vertex: &usize| {
        let own = &partners[*vertex];
        let others = |partner: &usize, sum: f64| sum - own.get(partner).unwrap_or(&0.0);
        let of_others = sums.iter().filter(|(partner, _)| *partner != vertex);
        let product: f64 =
            of_others.clone().map(|(partner, sum)| own.get(partner).unwrap_or(&0.0) * others(partner, *sum)).sum();
        let both = norm(&mut own.values().copied()) * norm(&mut of_others.map(|(partner, sum)| others(partner, *sum)));
        if both > 0.0 { product / both } else { 0.0 }
    };
    let talking: Vec<f64> = class.iter().filter(|vertex| !partners[**vertex].is_empty()).map(likeness).collect();
    talking.is_empty() || talking.iter().sum::<f64>() / talking.len() as f64 >= LEAST_LIKENESS
}

fn fold_vertices(graph: &TalkGraph, members: &[usize]) -> TalkVertex {
    let all = || members.iter().map(|vertex| &graph.vertices[*vertex]);
    let first = &graph.vertices[members[0]];
    let threads = || all().map(|vertex| vertex.kind.count_threads()).sum();
    match members {
        [_] => first.clone(),
        _ => TalkVertex {
            name: replace_numbers(&first.name),
            kind: VertexKind::Pool { threads: threads() },
            program: first.program.clone(),
            busy_share: all().map(|vertex| vertex.busy_share).sum(),
            cpus: all().fold(CpuSet::new(), |cpus, vertex| cpus.union(&vertex.cpus)),
        },
    }
}

/// Adds up edges of the same vertices and means, with the mean of their waiting times.
fn fold_edges(edges: &[TalkEdge], place: &[usize]) -> Vec<TalkEdge> {
    /// Wakes, and of those with a known time: wakes, and the sum of their waiting.
    type EdgeSums = (f64, f64, f64);
    let mut sums: BTreeMap<(usize, usize, WakeMeans), EdgeSums> = BTreeMap::new();
    for edge in edges {
        let sum = sums.entry((place[edge.waker], place[edge.wakee], edge.means)).or_default();
        sum.0 += edge.wakes;
        if let Some(waiting) = edge.waiting_ns {
            sum.1 += edge.wakes;
            sum.2 += edge.wakes * waiting;
        }
    }
    let edge = |((waker, wakee, means), (wakes, timed, waiting)): (_, EdgeSums)| {
        let waiting_ns = (timed > 0.0).then(|| waiting / timed);
        TalkEdge { waker, wakee, wakes, waiting_ns, means }
    };
    let mut edges: Vec<TalkEdge> = sums.into_iter().map(edge).collect();
    edges.sort_by(|a, b| b.wakes.total_cmp(&a.wakes));
    edges
}
