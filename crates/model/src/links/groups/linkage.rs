//! Average linkage: which places are joined first, and at which mean cost (Sokal and Michener 1958), by chains of nearest
//! neighbours (Benzécri 1982; Müllner, "Modern hierarchical, agglomerative clustering algorithms", 2011), in time that grows with the square of
//! the places.

use super::Matrix;

/// Two clusters become one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merge {
    /// A place of the one.
    pub(super) a: usize,
    /// A place of the other.
    pub(super) b: usize,
    /// The mean cost between them.
    pub(super) height: f64,
}

/// All merges in rising order of height. A cost that is not known counts as the mean of those that are.
pub(super) fn average(matrix: &Matrix) -> Vec<Merge> {
    let mut clusters = Clusters::of(matrix);
    let mut merges = Vec::with_capacity(matrix.len().saturating_sub(1));
    let mut chain: Vec<usize> = Vec::new();
    while merges.len() + 1 < matrix.len() {
        if chain.is_empty() {
            chain.extend(clusters.first());
        }
        let Some(&tip) = chain.last() else { break };
        let before = chain.len().checked_sub(2).map(|place| chain[place]);
        let Some(nearest) = clusters.nearest(tip, before) else { break };
        if Some(nearest) == before {
            chain.truncate(chain.len() - 2);
            merges.push(Merge { a: tip, b: nearest, height: clusters.cost(tip, nearest) });
            clusters.join(nearest, tip);
        } else {
            chain.push(nearest);
        }
    }
    merges.sort_by(|one, other| one.height.total_cmp(&other.height));
    merges
}

/// The groups after some merges: places by group, each rising, groups by their lowest place.
pub(super) fn partition(merges: &[Merge], places: usize) -> Vec<Vec<usize>> {
    let mut leader: Vec<usize> = (0..places).collect();
    fn find(leader: &mut [usize], mut place: usize) -> usize {
        while leader[place] != place {
            leader[place] = leader[leader[place]];
            place = leader[place];
        }
        place
    }
    for merge in merges {
        let (a, b) = (find(&mut leader, merge.a), find(&mut leader, merge.b));
        leader[a.max(b)] = a.min(b);
    }
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); places];
    for place in 0..places {
        let lowest = find(&mut leader, place);
        groups[lowest].push(place);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// The mean costs between clusters, each named by one of its places.
struct Clusters {
    width: usize,
    costs: Vec<f64>,
    sizes: Vec<f64>,
    alive: Vec<bool>,
}

impl Clusters {
    fn of(matrix: &Matrix) -> Self {
        let width = matrix.len();
        let mut costs = vec![f64::NAN; width * width];
        let (mut sum, mut count) = (0.0, 0.0);
        for (i, j, cost) in matrix.known() {
            costs[i * width + j] = cost;
            costs[j * width + i] = cost;
            sum += cost;
            count += 1.0;
        }
        costs.iter_mut().filter(|cost| cost.is_nan()).for_each(|cost| *cost = sum / count);
        Self { width, costs, sizes: vec![1.0; width], alive: vec![true; width] }
    }

    fn first(&self) -> Option<usize> {
        self.alive.iter().position(|&alive| alive)
    }

    fn cost(&self, a: usize, b: usize) -> f64 {
        self.costs[a * self.width + b]
    }

    /// The nearest other cluster; of equals the one that the chain came from, then the lowest.
    fn nearest(&self, of: usize, before: Option<usize>) -> Option<usize> {
        let mut best = before;
        for other in (0..self.width).filter(|&other| other != of && self.alive[other]) {
            if best.is_none_or(|best| self.cost(of, other) < self.cost(of, best)) {
                best = Some(other);
            }
        }
        best
    }

    /// Joins `gone` to `kept` (Lance and Williams 1967).
    fn join(&mut self, kept: usize, gone: usize) {
        let (weight, other_weight) = (self.sizes[kept], self.sizes[gone]);
        for third in 0..self.width {
            let mean =
                (weight * self.cost(kept, third) + other_weight * self.cost(gone, third)) / (weight + other_weight);
            self.costs[kept * self.width + third] = mean;
            self.costs[third * self.width + kept] = mean;
        }
        self.sizes[kept] += other_weight;
        self.alive[gone] = false;
    }
}
