//! Who is measured when: rounds, the share of each probe, and which pairs of cpus are worth a visit.

use std::collections::BTreeMap;
use std::time::Duration;

use corewise_model::stats::random::Random;
use corewise_model::{CpuSet, Level, Machine};

/// Up to this many cpus every pair is measured.
pub const ALL_PAIRS_UP_TO: usize = 32;
/// Beyond, this many random pairs of each pair of last-level caches.
const PAIRS_PER_BLOCK: usize = 3;
/// And never more pairs than this.
const MAXIMUM_PAIRS: usize = 2000;
/// The share of a round that goes to the tail probe when there are links to measure too.
pub const TAIL_SHARE: f64 = 0.66;
/// Rounds: enough for the tests on rounds, not so many that a visit becomes short.
const ROUNDS: std::ops::RangeInclusive<u32> = 8..=24;
/// A visit to a cpu that is at least this long is worth its thread and its warm-up.
const VISIT_AT_LEAST: Duration = Duration::from_millis(20);

/// How many rounds a budget is divided into.
pub fn rounds(budget: Duration, cpus: usize) -> u32 {
    let visits = budget.as_secs_f64() * TAIL_SHARE / VISIT_AT_LEAST.as_secs_f64();
    ((visits / cpus.max(1) as f64) as u32).clamp(*ROUNDS.start(), *ROUNDS.end())
}

/// How long a visit may time pieces for, and how long it warms up before.
///
/// `left` is the time left for tail visits in this round, `waiting` how many cpus are still to be visited in it,
/// `overhead` what the last visit cost beyond warming up and timing.
pub fn visit_lengths(left: Duration, waiting: usize, overhead: Duration) -> (Duration, Duration) {
    let whole = left / waiting.max(1) as u32;
    let timed = whole.saturating_sub(overhead).max(Duration::from_millis(1));
    let warm_up = (timed / 4).clamp(Duration::from_millis(1), Duration::from_millis(10));
    (timed.saturating_sub(warm_up).max(Duration::from_millis(1)), warm_up)
}

/// The pairs to measure, `a < b`: all of them up to 32 cpus; beyond, siblings of a few cores and random pairs of each
/// pair of last-level caches.
pub fn pairs(machine: &Machine, cpus: &CpuSet, random: &mut Random) -> Vec<(u32, u32)> {
    let list: Vec<u32> = cpus.iter().collect();
    let all = || list.iter().enumerate().flat_map(|(i, &a)| list[i + 1..].iter().map(move |&b| (a, b)));
    if list.len() <= ALL_PAIRS_UP_TO {
        return all().collect();
    }
    let place = |level, cpu| machine.index_of(level, cpu).unwrap_or(usize::MAX);
    let places: BTreeMap<u32, (usize, usize)> =
        list.iter().map(|&cpu| (cpu, (place(Level::Llc, cpu), place(Level::Core, cpu)))).collect();
    let mut blocks = BTreeMap::<(bool, usize, usize), Vec<(u32, u32)>>::new();
    for (a, b) in all() {
        let ((llc_a, core_a), (llc_b, core_b)) = (places[&a], places[&b]);
        let siblings = core_a == core_b;
        blocks.entry((siblings, llc_a.min(llc_b), llc_a.max(llc_b))).or_default().push((a, b));
    }
    let mut chosen: Vec<(u32, u32)> = Vec::new();
    for block in blocks.values_mut() {
        random.shuffle(block);
        chosen.extend(block.iter().take(PAIRS_PER_BLOCK));
    }
    random.shuffle(&mut chosen);
    chosen.truncate(MAXIMUM_PAIRS);
    chosen.sort_unstable();
    chosen
}

/// An endless walk over the pairs: sweep after sweep, each in fresh random order.
#[derive(Debug)]
pub struct Sweeps {
    pairs: Vec<(u32, u32)>,
    next: usize,
}

impl Sweeps {
    /// A walk that has not begun.
    pub fn new(pairs: Vec<(u32, u32)>) -> Self {
        let next = pairs.len();
        Self { pairs, next }
    }

    /// The next pair; absent where there are none.
    pub fn next(&mut self, random: &mut Random) -> Option<(u32, u32)> {
        if self.next == self.pairs.len() {
            random.shuffle(&mut self.pairs);
            self.next = 0;
        }
        self.next += 1;
        self.pairs.get(self.next - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sweep_visits_every_pair_once() {
        let mut random = Random::new(3);
        let mut sweeps = Sweeps::new(vec![(0, 1), (0, 2), (1, 2)]);
        for _ in 0..4 {
            let mut sweep: Vec<_> = (0..3).filter_map(|_| sweeps.next(&mut random)).collect();
            sweep.sort_unstable();
            assert_eq!(sweep, [(0, 1), (0, 2), (1, 2)]);
        }
        assert_eq!(Sweeps::new(Vec::new()).next(&mut random), None);
    }

    #[test]
    fn budgets_become_rounds_and_visits() {
        assert_eq!(rounds(Duration::from_secs(30), 2), 24);
        assert_eq!(rounds(Duration::from_secs(30), 32), 24);
        assert_eq!(rounds(Duration::from_secs(30), 64), 15);
        assert_eq!(rounds(Duration::from_secs(30), 512), 8);
        assert_eq!(rounds(Duration::from_secs(5), 2), 24);
        let (timed, warm_up) = visit_lengths(Duration::from_millis(800), 2, Duration::from_millis(5));
        assert!(timed > Duration::from_millis(380) && timed + warm_up < Duration::from_millis(401), "{timed:?}");
        let (timed, _) = visit_lengths(Duration::ZERO, 2, Duration::from_millis(5));
        assert_eq!(timed, Duration::from_millis(1));
    }
}
