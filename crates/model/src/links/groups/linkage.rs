//! Average linkage: the order in which places are joined, and the mean cost at each step (Sokal and Michener 1958). The
//! mean is geometric, so that one disturbed pair splits no group and costs may be in any unit. Uses chains of nearest
//! neighbours (Benzécri 1982; Müllner, "Modern hierarchical, agglomerative clustering algorithms", 2011), in time
//! quadratic in the places.

use super::CostMatrix;

/// Quantile of the costs at which they are capped: the few beyond it may be disturbed.
const FAR: f64 = 0.98;

/// A merge of two clusters.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClusterMerge {
    /// A place of one cluster.
    pub(super) a: usize,
    /// A place of the other cluster.
    pub(super) b: usize,
    /// The geometric mean of the costs between them.
    pub(super) height: f64,
}

/// Returns all merges in rising order of height. Unknown costs have no weight: the mean between two clusters is over
/// the known ones. Clusters without a known cost between them are at the greatest distance.
pub(super) fn average_linkage(matrix: &CostMatrix) -> Vec<ClusterMerge> {
    let mut clusters = ClusterMeans::from_matrix(matrix);
    let mut merges = Vec::with_capacity(matrix.len().saturating_sub(1));
    let mut chain: Vec<usize> = Vec::new();
    while merges.len() + 1 < matrix.len() {
        if chain.is_empty() {
            chain.extend(clusters.first_alive());
        }
        let Some(&tip) = chain.last() else { break };
        let before = chain.len().checked_sub(2).map(|place| chain[place]);
        let Some(nearest) = clusters.nearest_cluster(tip, before) else { break };
        if Some(nearest) == before {
            chain.truncate(chain.len() - 2);
            merges.push(ClusterMerge { a: tip, b: nearest, height: clusters.cost_between(tip, nearest).exp() });
            clusters.join_clusters(nearest, tip);
        } else {
            chain.push(nearest);
        }
    }
    merges.sort_by(|one, other| one.height.total_cmp(&other.height));
    merges
}

/// Returns the groups after some merges: places by group, each rising, groups by their lowest place.
pub(super) fn partition_places(merges: &[ClusterMerge], places: usize) -> Vec<Vec<usize>> {
    let mut leader: Vec<usize> = (0..places).collect();
    fn find_leader(leader: &mut [usize], mut place: usize) -> usize {
        while leader[place] != place {
            leader[place] = leader[leader[place]];
            place = leader[place];
        }
        place
    }
    for merge in merges {
        let (a, b) = (find_leader(&mut leader, merge.a), find_leader(&mut leader, merge.b));
        leader[a.max(b)] = a.min(b);
    }
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); places];
    for place in 0..places {
        let lowest = find_leader(&mut leader, place);
        groups[lowest].push(place);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Returns the cost at which pairs are capped; NaN if none is known.
fn farthest_cost(mut costs: Vec<f64>) -> f64 {
    let place = (costs.len() as f64 * FAR) as usize;
    if costs.is_empty() { f64::NAN } else { *costs.select_nth_unstable_by(place, f64::total_cmp).1 }
}

/// Means of the costs' logarithms between clusters, each named by one of its places.
struct ClusterMeans {
    width: usize,
    costs: Vec<f64>,
    /// Number of costs behind each mean, if some are unknown.
    known: Option<Vec<u32>>,
    sizes: Vec<f64>,
    alive: Vec<bool>,
}

impl ClusterMeans {
    fn from_matrix(matrix: &CostMatrix) -> Self {
        let width = matrix.len();
        let farthest = farthest_cost(matrix.known_pairs().map(|(_, _, cost)| cost).collect()).ln();
        let (mut costs, mut count) = (vec![f64::NAN; width * width], 0);
        for (i, j, cost) in matrix.known_pairs().filter(|(_, _, cost)| *cost > 0.0) {
            let cost = cost.ln().min(farthest);
            costs[i * width + j] = cost;
            costs[j * width + i] = cost;
            count += 1;
        }
        let has_unknown = 2 * count < width * width.saturating_sub(1);
        let known = has_unknown.then(|| costs.iter().map(|cost| u32::from(cost.is_finite())).collect());
        costs.iter_mut().filter(|cost| cost.is_nan()).for_each(|cost| *cost = farthest);
        Self { width, costs, known, sizes: vec![1.0; width], alive: vec![true; width] }
    }

    fn first_alive(&self) -> Option<usize> {
        self.alive.iter().position(|&alive| alive)
    }

    fn cost_between(&self, a: usize, b: usize) -> f64 {
        self.costs[a * self.width + b]
    }

    /// Returns the nearest other cluster; of equals the previous one of the chain, then the lowest.
    fn nearest_cluster(&self, of: usize, before: Option<usize>) -> Option<usize> {
        let mut best = before;
        for other in (0..self.width).filter(|&other| other != of && self.alive[other]) {
            if best.is_none_or(|best| self.cost_between(of, other) < self.cost_between(of, best)) {
                best = Some(other);
            }
        }
        best
    }

    /// Joins `gone` to `kept` (Lance and Williams 1967).
    fn join_clusters(&mut self, kept: usize, gone: usize) {
        for third in 0..self.width {
            let [weight, other_weight] = self.merge_weights(kept, gone, third);
            let sum = weight + other_weight;
            // Without a known cost to either, the third keeps its distance.
            if sum > 0.0 {
                let mean =
                    (weight * self.cost_between(kept, third) + other_weight * self.cost_between(gone, third)) / sum;
                self.costs[kept * self.width + third] = mean;
                self.costs[third * self.width + kept] = mean;
            }
        }
        self.sizes[kept] += self.sizes[gone];
        self.alive[gone] = false;
    }

    /// Returns the weights of the costs between two clusters and a third, and stores their sum for the joined cluster.
    fn merge_weights(&mut self, kept: usize, gone: usize, third: usize) -> [f64; 2] {
        let Some(known) = &mut self.known else { return [self.sizes[kept], self.sizes[gone]] };
        let [one, other] = [kept, gone].map(|cluster| known[cluster * self.width + third]);
        known[kept * self.width + third] = one + other;
        known[third * self.width + kept] = one + other;
        [f64::from(one), f64::from(other)]
    }
}
