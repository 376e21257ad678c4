//! Groups of threads that talk mostly among themselves, and a test of whether they are more than chance.
//!
//! Groups maximise modularity (Newman 2004): merged greedily, then refined by moves of single vertices. The test distributes the same wakes
//! over random pairs and groups these again; groups count as proven if at most 1 % of such graphs have as high a modularity.

use std::collections::BTreeMap;

use corewise_machine::random::RandomGenerator;
use schemars::JsonSchema;
use serde::Serialize;

use super::fold::FoldedTalk;

/// Maximum number of grouped vertices, the busiest talkers.
const MOST_VERTICES: usize = 96;
/// Number of random graphs.
const RANDOM_GRAPHS: usize = 199;
/// Greatest share of random graphs with groups as clear, if groups are proven.
const ERROR_RATE: f64 = 0.01;
/// Seed of the random graphs.
const SEED: u64 = 0x6e09;
/// Maximum rounds of refinement.
const MOST_ROUNDS: usize = 20;
/// Smallest gain of modularity that counts.
const LEAST_GAIN: f64 = 1e-12;

/// Groups of the vertices of a folded graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TalkGroups {
    /// The vertices of each group, the group with the most wakes first. Vertices that talk with no other are in none.
    pub groups: Vec<Vec<usize>>,
    /// Share of the wakes between these vertices that stays inside groups.
    pub inside_share: f64,
    /// Modularity: how much higher that share is than if partners were drawn by their activity.
    pub modularity: f64,
    /// Share of random graphs with the same wakes that have groups as clear.
    pub p_value: f64,
    /// True if that is at most 1 %.
    pub is_proven: bool,
}

/// Wakes between some vertices, both ways together.
struct WakeMatrix {
    size: usize,
    wakes: Vec<f64>,
    degrees: Vec<f64>,
    total: f64,
}

impl WakeMatrix {
    fn new(size: usize, pairs: impl IntoIterator<Item = (usize, usize, f64)>) -> Self {
        let (mut wakes, mut degrees, mut total) = (vec![0.0; size * size], vec![0.0; size], 0.0);
        for (a, b, weight) in pairs {
            wakes[a * size + b] += weight;
            wakes[b * size + a] += weight;
            degrees[a] += weight;
            degrees[b] += weight;
            total += weight;
        }
        Self { size, wakes, degrees, total }
    }

    fn modularity(&self, group_of: &[usize]) -> f64 {
        let mut degrees = vec![0.0; self.size];
        group_of.iter().zip(&self.degrees).for_each(|(group, degree)| degrees[*group] += degree);
        let expected: f64 = degrees.iter().map(|degree| (degree / (2.0 * self.total)).powi(2)).sum();
        self.inside_share(group_of) - expected
    }

    fn inside_share(&self, group_of: &[usize]) -> f64 {
        let pairs = (0..self.size).flat_map(|a| (0..a).map(move |b| (a, b)));
        let inside = pairs.filter(|(a, b)| group_of[*a] == group_of[*b]);
        inside.map(|(a, b)| self.wakes[a * self.size + b]).sum::<f64>() / self.total
    }

    /// Returns the group of each vertex.
    fn find_groups(&self) -> Vec<usize> {
        let mut group_of: Vec<usize> = (0..self.size).collect();
        self.merge_greedily(&mut group_of);
        for _ in 0..MOST_ROUNDS {
            if !self.move_vertices(&mut group_of) {
                break;
            }
        }
        group_of
    }

    /// Merges the two groups that gain most, until none gains.
    fn merge_greedily(&self, group_of: &mut [usize]) {
        let (size, mut between, mut degrees) = (self.size, self.wakes.clone(), self.degrees.clone());
        let mut alive: Vec<usize> = (0..size).collect();
        loop {
            let mut best = (LEAST_GAIN, None);
            for (at, &a) in alive.iter().enumerate() {
                for &b in &alive[..at] {
                    let gain =
                        between[a * size + b] / self.total - degrees[a] * degrees[b] / (2.0 * self.total * self.total);
                    if gain > best.0 {
                        best = (gain, Some((b, a)));
                    }
                }
            }
            let Some((keep, gone)) = best.1 else { return };
            for &other in &alive {
                let more = between[gone * size + other];
                between[keep * size + other] += more;
                between[other * size + keep] += more;
            }
            degrees[keep] += degrees[gone];
            alive.retain(|group| *group != gone);
            group_of.iter_mut().filter(|group| **group == gone).for_each(|group| *group = keep);
        }
    }

    /// Moves each vertex to the group that gains most; returns true if one was moved.
    fn move_vertices(&self, group_of: &mut [usize]) -> bool {
        let mut degrees = vec![0.0; self.size];
        group_of.iter().zip(&self.degrees).for_each(|(group, degree)| degrees[*group] += degree);
        let mut has_moved = false;
        for vertex in 0..self.size {
            let own = group_of[vertex];
            let mut wakes = vec![0.0; self.size];
            let row = &self.wakes[vertex * self.size..][..self.size];
            row.iter().zip(group_of.iter()).for_each(|(wake, group)| wakes[*group] += wake);
            let degree = self.degrees[vertex];
            let gain = |group: usize| {
                let others = if group == own { degrees[group] - degree } else { degrees[group] };
                wakes[group] / self.total - degree * others / (2.0 * self.total * self.total)
            };
            let best = (0..self.size).filter(|group| wakes[*group] > 0.0).max_by(|a, b| gain(*a).total_cmp(&gain(*b)));
            let Some(best) = best.filter(|best| gain(*best) > gain(own) + LEAST_GAIN) else { continue };
            degrees[own] -= degree;
            degrees[best] += degree;
            group_of[vertex] = best;
            has_moved = true;
        }
        has_moved
    }
}

/// Finds the groups of a folded graph, and tests them.
pub fn find_talk_groups(folded: &FoldedTalk) -> TalkGroups {
    let pairs = folded.sum_pairs();
    let is_grouped = |vertex: &usize| folded.vertices[*vertex].kind.is_thread();
    let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
    let threads = pairs.into_iter().filter(|((a, b), wakes)| is_grouped(a) && is_grouped(b) && *wakes > 0.0);
    let pairs: Vec<((usize, usize), f64)> = threads.collect();
    for ((a, b), wakes) in &pairs {
        *weights.entry(*a).or_default() += wakes;
        *weights.entry(*b).or_default() += wakes;
    }
    let mut grouped: Vec<usize> = weights.keys().copied().collect();
    grouped.sort_by(|a, b| weights[b].total_cmp(&weights[a]).then(a.cmp(b)));
    grouped.truncate(MOST_VERTICES);
    grouped.sort_unstable();
    let place = |vertex: usize| grouped.binary_search(&vertex).ok();
    let pairs: Vec<(usize, usize, f64)> =
        pairs.into_iter().filter_map(|((a, b), wakes)| Some((place(a)?, place(b)?, wakes))).collect();
    if pairs.is_empty() {
        return TalkGroups { p_value: 1.0, ..TalkGroups::default() };
    }
    let matrix = WakeMatrix::new(grouped.len(), pairs.iter().copied());
    let group_of = matrix.find_groups();
    let modularity = matrix.modularity(&group_of);
    let p_value = share_of_random_graphs(&pairs, grouped.len(), modularity);
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    group_of.iter().zip(&grouped).for_each(|(group, vertex)| groups.entry(*group).or_default().push(*vertex));
    let weight = |group: &Vec<usize>| group.iter().map(|vertex| weights[vertex]).sum::<f64>();
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    groups.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.cmp(b)));
    let is_proven = groups.len() > 1 && p_value <= ERROR_RATE;
    TalkGroups { groups, inside_share: matrix.inside_share(&group_of), modularity, p_value, is_proven }
}

/// Returns the share of random graphs that have as high a modularity, among them this one. Stops early once it is clearly too high.
fn share_of_random_graphs(pairs: &[(usize, usize, f64)], size: usize, modularity: f64) -> f64 {
    let mut random = RandomGenerator::new(SEED);
    let (mut as_clear, mut made) = (0, 0);
    while made < RANDOM_GRAPHS && as_clear < 5 {
        let mut draw = |wakes: f64| {
            let (a, b) = (random.next_below(size), random.next_below(size - 1));
            (a, if b >= a { b + 1 } else { b }, wakes)
        };
        let matrix = WakeMatrix::new(size, pairs.iter().map(|(.., wakes)| draw(*wakes)).collect::<Vec<_>>());
        as_clear += usize::from(matrix.modularity(&matrix.find_groups()) >= modularity - LEAST_GAIN);
        made += 1;
    }
    (1 + as_clear) as f64 / (1 + made) as f64
}
