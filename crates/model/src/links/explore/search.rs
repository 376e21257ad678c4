//! Search for groups among many cores without a known structure, or reported as alike although they are not.
//!
//! A row of the map, from one core to all others, shows the core's group: the cores before the widest gap. Machines are
//! numbered regularly, so the next group is guessed: the last one, moved to the first core without a group. That core
//! is measured with the guessed ones, and with one core of each known group; near cores belong together, even if the
//! guess was wrong. Only if hardly any of the guessed cores are near does the core get a row of its own.

use corewise_machine::random::RandomGenerator;

use super::CostMatrix;

/// Minimum ratio of the nearest far core's cost to the cost of near cores.
const STEP: f64 = 1.25;
/// Minimum number of far cores: one disturbed pair must not make a group of all others.
const FAR_AT_LEAST: usize = 2;
/// Number of rows without near cores after which there are no groups.
const ROWS_WITHOUT: usize = 3;
/// Number of consecutive wrong guesses after which the numbers show no pattern.
const WRONG_GUESSES: usize = 3;

/// State of a search.
#[derive(Debug)]
pub(super) struct GroupSearch {
    /// The cores to divide.
    cores: Vec<usize>,
    /// The group of each core, if known.
    group: Vec<Option<usize>>,
    /// One core of each group.
    groups: Vec<usize>,
    /// The cores of the last group, rising.
    last: Vec<usize>,
    /// Upper limit of a near core's cost.
    limit: f64,
    /// The pairs being measured.
    asked: Option<AskedPairs>,
    rows_without: usize,
    wrong_guesses: usize,
}

/// Requested pairs of one core.
#[derive(Debug)]
enum AskedPairs {
    /// With all cores that have no group.
    Row(usize),
    /// With its guessed group, and with one core of each group.
    Guess(usize, Vec<usize>),
}

impl GroupSearch {
    pub(super) fn new(cores: Vec<usize>) -> Self {
        Self {
            group: vec![None; cores.len()],
            cores,
            groups: Vec::new(),
            last: Vec::new(),
            limit: 0.0,
            asked: None,
            rows_without: 0,
            wrong_guesses: 0,
        }
    }

    /// Returns the pairs to measure next, by places; `None` when every core has its group, or there are no groups.
    pub(super) fn next(
        &mut self,
        costs: &CostMatrix,
        firsts: &[usize],
        random: &mut RandomGenerator,
    ) -> Option<Vec<(usize, usize)>> {
        let place = |search: &Self, core: usize| firsts[search.cores[core]];
        let cost = |search: &Self, a: usize, b: usize| costs.pair_cost(place(search, a), place(search, b));
        let mut refuted = None;
        match self.asked.take() {
            Some(AskedPairs::Row(row)) => {
                let waiting = (0..self.cores.len()).filter(|&core| core != row && self.group[core].is_none());
                self.divide_row(row, waiting.map(|core| (cost(self, row, core), core)).collect());
            }
            Some(AskedPairs::Guess(core, guessed)) => {
                let is_near = |other: &usize| cost(self, core, *other) < self.limit;
                let known = self.groups.iter().position(is_near);
                let near: Vec<usize> = guessed.iter().copied().filter(is_near).collect();
                if known.is_none() && 2 * near.len() < guessed.len() {
                    self.wrong_guesses += 1;
                    refuted = Some(core);
                } else {
                    self.wrong_guesses = 0;
                    self.join_group(core, &near, known);
                }
            }
            None => {}
        }
        let waiting: Vec<usize> = (0..self.cores.len()).filter(|&core| self.group[core].is_none()).collect();
        let (&first, others) = waiting.split_first()?;
        if self.groups.is_empty() && (others.is_empty() || self.rows_without == ROWS_WITHOUT) {
            return None;
        }
        if !self.groups.is_empty() && refuted.is_none() && self.wrong_guesses < WRONG_GUESSES {
            let guessed = self.last.iter().map(|core| core + first - self.last[0]);
            let guessed: Vec<usize> = guessed.filter(|core| others.binary_search(core).is_ok()).collect();
            let pairs = guessed.iter().chain(&self.groups).map(|&other| (place(self, first), place(self, other)));
            let pairs = pairs.collect();
            self.asked = Some(AskedPairs::Guess(first, guessed));
            return Some(pairs);
        }
        let row = refuted.unwrap_or_else(|| waiting[random.next_below(waiting.len())]);
        self.asked = Some(AskedPairs::Row(row));
        let others = waiting.into_iter().filter(|&core| core != row);
        Some(others.map(|core| (place(self, row), place(self, core))).collect())
    }

    /// Returns the cores with the group of each; one group for all if none were found.
    pub(super) fn into_groups(self) -> Vec<(usize, usize)> {
        let found = !self.groups.is_empty();
        let group = self.group.iter().map(|group| if found { group.unwrap_or(self.groups.len()) } else { 0 });
        self.cores.iter().copied().zip(group).collect()
    }

    /// Divides a row at its widest gap: nearer cores form a group with the row's own core. `others` are the cores
    /// without a group, each after its cost.
    fn divide_row(&mut self, row: usize, mut others: Vec<(f64, usize)>) {
        others.retain(|(cost, _)| cost.is_finite());
        others.sort_by(|one, other| one.0.total_cmp(&other.0));
        let most_near = others.len().saturating_sub(FAR_AT_LEAST);
        let gaps = others.windows(2).enumerate().map(|(place, pair)| (pair[1].0 / pair[0].0, place + 1));
        let gaps = gaps.filter(|(_, near)| *near <= most_near);
        let (gap, near) = gaps.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((1.0, 0));
        if gap < STEP && self.groups.is_empty() {
            self.rows_without += 1;
            return;
        }
        // The last group has no others to be far from.
        let near = if gap >= STEP { near } else { others.len() };
        if let Some([(nearer, _), (farther, _)]) = near.checked_sub(1).and_then(|last| others.get(last..last + 2)) {
            self.limit = (nearer * farther).sqrt();
        }
        let near: Vec<usize> = others[..near].iter().map(|&(_, core)| core).collect();
        self.join_group(row, &near, None);
    }

    /// Puts a core and its near cores into a known group, or into a new one.
    fn join_group(&mut self, core: usize, near: &[usize], known: Option<usize>) {
        let group = known.unwrap_or_else(|| {
            self.groups.push(core);
            self.last = [near, &[core]].concat();
            self.last.sort_unstable();
            self.groups.len() - 1
        });
        near.iter().chain([&core]).for_each(|&core| self.group[core] = Some(group));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches among cpus of groups that are given by a function; the groups, and how many pairs that took.
    fn searched(cpus: usize, group: impl Fn(usize) -> usize) -> (Vec<usize>, usize) {
        let mut random = RandomGenerator::new(1);
        let firsts: Vec<usize> = (0..cpus).collect();
        let mut search = GroupSearch::new(firsts.clone());
        let mut costs = CostMatrix::all_unknown(0..cpus as u32);
        let mut pairs = 0;
        while let Some(wishes) = search.next(&costs, &firsts, &mut random) {
            for (i, j) in wishes {
                pairs += usize::from(costs.pair_cost(i, j).is_nan());
                let cost = if group(i) == group(j) { 25.0 } else { 100.0 };
                costs.set_both(i, j, cost * (0.05 * random.next_normal()).exp());
            }
        }
        (search.into_groups().into_iter().map(|(_, group)| group).collect(), pairs)
    }

    /// Whether the groups are those of a function, whatever their numbers.
    fn is_right(found: &[usize], group: impl Fn(usize) -> usize) -> bool {
        (0..found.len()).all(|i| (0..i).all(|j| (found[i] == found[j]) == (group(i) == group(j))))
    }

    #[test]
    fn regular_numbers_take_few_pairs_in_any_order() {
        let orders: [fn(usize) -> usize; 3] = [|cpu| cpu / 16, |cpu| cpu % 256 / 8, |cpu| cpu % 32];
        for group in orders {
            let (found, pairs) = searched(512, group);
            assert!(is_right(&found, group) && pairs < 1_600, "{pairs}");
        }
    }

    #[test]
    fn groups_that_follow_no_pattern_are_found_with_more() {
        // Sizes from 4 to 12; and numbers that were shuffled.
        let sizes = |cpu: usize| {
            (0..)
                .scan(0, |end, group| {
                    *end += 4 + group * 5 % 9;
                    Some(*end)
                })
                .position(|end| cpu < end)
                .unwrap()
        };
        let mut shuffled: Vec<usize> = (0..128).collect();
        RandomGenerator::new(2).shuffle(&mut shuffled);
        for group in [&sizes as &dyn Fn(usize) -> usize, &|cpu| shuffled[cpu] / 8] {
            let (found, pairs) = searched(128, group);
            assert!(is_right(&found, group), "{found:?}");
            assert!(pairs < 128 * 127 / 2, "{pairs}");
        }
    }

    #[test]
    fn where_all_are_alike_there_are_no_groups_after_three_rows() {
        let (found, pairs) = searched(128, |_| 0);
        assert!(found.iter().all(|&group| group == 0) && pairs <= 3 * 127, "{pairs}");
    }
}
