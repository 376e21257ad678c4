//! Conversion of single numbers to pairs of cpus.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;

use super::{ImportError, MAXIMUM_NUMBERS, MOST_CPUS};
use crate::links::map::{LinkSeries, MOST_BYTES};
use crate::links::{LinkFindings, LinkPair, TalkWay};

/// The numbers of a file, as they are read.
#[derive(Debug, Default)]
pub struct CostCollector {
    numbers: Vec<CostEntry>,
    cpus: CpuSet,
    /// The kinds in the order of their first appearance.
    kinds: Vec<TalkWay>,
    places: BTreeMap<TalkWay, u32>,
    own: usize,
}

/// A cost, zero if the file says so.
#[derive(Clone, Copy, Debug)]
struct CostEntry {
    /// The kind, the lower cpu, the higher one, and whether the higher one began: in 31, 16, 16 bits and one, so that
    /// keys are in the order of the pairs.
    key: u64,
    ns: f64,
}

impl CostEntry {
    fn new(kind: u32, first: u32, second: u32, ns: f64) -> Self {
        let (low, high) = (u64::from(first.min(second)), u64::from(first.max(second)));
        Self { key: u64::from(kind) << 33 | low << 17 | high << 1 | u64::from(first > second), ns }
    }

    fn kind_index(&self) -> usize {
        (self.key >> 33) as usize
    }

    /// Returns a value that is equal for all numbers of a pair and a kind.
    fn pair_key(&self) -> u64 {
        self.key >> 1
    }

    fn low_cpu(&self) -> u32 {
        u32::from((self.key >> 17) as u16)
    }

    fn high_cpu(&self) -> u32 {
        u32::from((self.key >> 1) as u16)
    }

    fn is_back(&self) -> bool {
        self.key & 1 == 1
    }
}

/// Statistics of a file's numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellCounts {
    /// Costs between two cpus, zeros included.
    pub cells: usize,
    /// Costs of zero, which are left out.
    pub zeros: usize,
    /// Pairs of which a kind has zeros alone, the lower cpu first.
    pub zero_pairs: Vec<(u32, u32)>,
    /// Costs of a cpu with itself that are not zero, which are left out.
    pub own: usize,
    /// Pairs of the file's cpus for which a kind has no number, over all kinds.
    pub unknown_pairs: u64,
}

impl CostCollector {
    /// Creates a collector for numbers of one kind.
    pub fn for_kind(what: TalkWay) -> Self {
        let mut collector = Self::default();
        collector.kind_place(what);
        collector
    }

    /// Returns the index of a kind; new kinds are added.
    pub fn kind_place(&mut self, what: TalkWay) -> u32 {
        *self.places.entry(what).or_insert_with(|| {
            self.kinds.push(what);
            self.kinds.len() as u32 - 1
        })
    }

    /// Adds a cpu of the file.
    pub fn name_cpu(&mut self, cpu: u32) {
        self.cpus.insert(cpu);
    }

    /// Adds a cost of the first kind.
    pub fn add_cost(&mut self, first: u32, second: u32, ns: f64) {
        self.add_kind(0, first, second, ns);
    }

    /// Adds a cost.
    pub fn add_kind(&mut self, kind: u32, first: u32, second: u32, ns: f64) {
        if first == second {
            self.own += usize::from(ns != 0.0);
            return;
        }
        // One number beyond the maximum is enough to detect the excess.
        if self.numbers.len() > MAXIMUM_NUMBERS {
            return;
        }
        self.numbers.push(CostEntry::new(kind, first, second, ns));
    }

    /// Counts all costs as begun by the lower cpu: the file does not say which cpu began.
    pub fn forget_directions(&mut self) {
        for number in &mut self.numbers {
            number.key &= !1;
        }
    }

    /// Returns whether some cost was begun by the lower cpu, and by the higher one.
    pub fn known_directions(&self) -> (bool, bool) {
        let any = |back| self.numbers.iter().any(|number| number.is_back() == back);
        (any(false), any(true))
    }

    /// Returns the cpus, if their number is supported.
    pub fn checked_cpus(&self) -> Result<CpuSet, ImportError> {
        match self.cpus.len() {
            cpus @ 0..=1 => Err(ImportError::TooFew { cpus }),
            cpus if cpus > MOST_CPUS => Err(ImportError::TooMany { cpus }),
            _ => Ok(self.cpus.clone()),
        }
    }

    /// Returns the pairs of each kind, in order. In a `mirrored` format, a file with equal directions throughout has
    /// each pair once.
    pub fn into_series(mut self, mirrored: bool, cpus: &CpuSet) -> Result<(Vec<LinkSeries>, CellCounts), ImportError> {
        let zeros = self.numbers.iter().filter(|number| number.ns == 0.0).count();
        let mut counts = CellCounts { cells: self.numbers.len(), zeros, own: self.own, ..CellCounts::default() };
        match counts.cells {
            0 => return Err(ImportError::Nothing),
            cells if cells > MAXIMUM_NUMBERS => return Err(ImportError::TooManyNumbers),
            cells if cells == zeros => return Err(ImportError::AllZero { cells }),
            _ => {}
        }
        // Stable: the visits of a pair stay in the file's order.
        self.numbers.sort_by_key(CostEntry::pair_key);
        let bytes = |numbers: &[CostEntry]| {
            let back = numbers.iter().filter(|number| number.is_back()).count();
            LinkPair::size_in_bytes(numbers.len() - back, back)
        };
        let by_pair = self.numbers.chunk_by(|a, b| a.pair_key() == b.pair_key());
        if by_pair.map(bytes).sum::<usize>() > MOST_BYTES {
            return Err(ImportError::TooManyNumbers);
        }
        let possible_pairs = (cpus.len() * (cpus.len() - 1) / 2) as u64;
        let mut series = Vec::new();
        for numbers in self.numbers.chunk_by(|a, b| a.kind_index() == b.kind_index()) {
            let by_pair = || numbers.chunk_by(|a, b| a.pair_key() == b.pair_key());
            let known = by_pair().count();
            counts.unknown_pairs += possible_pairs - known as u64;
            let mut pairs = Vec::with_capacity(known);
            pairs.extend(by_pair().filter_map(build_pair));
            let are_zero = |numbers: &&[CostEntry]| numbers.iter().all(|number| number.ns == 0.0);
            counts
                .zero_pairs
                .extend(by_pair().filter(are_zero).map(|numbers| (numbers[0].low_cpu(), numbers[0].high_cpu())));
            if mirrored && pairs.iter().all(is_mirrored) {
                pairs.iter_mut().for_each(|pair| pair.forget_back());
            }
            let links = LinkFindings { pairs, possible_pairs, gaps: Vec::new() };
            let what = self.kinds[numbers[0].kind_index()];
            series.push(LinkSeries { what, links, held_out: Vec::new() });
        }
        series.retain(|series| !series.links.pairs.is_empty());
        Ok((series, counts))
    }
}

/// Returns the numbers of one pair without zeros; `None` if none is left.
fn build_pair(numbers: &[CostEntry]) -> Option<LinkPair> {
    let costs = |back| {
        let own = numbers.iter().filter(|number| number.is_back() == back && number.ns > 0.0);
        own.map(|number| number.ns).collect::<Vec<f64>>()
    };
    let (visits_ns, back_ns) = (costs(false), costs(true));
    let some = !visits_ns.is_empty() || !back_ns.is_empty();
    some.then(|| LinkPair::of_both(numbers[0].low_cpu(), numbers[0].high_cpu(), visits_ns, back_ns))
}

/// Returns true if both directions are the same number.
fn is_mirrored(pair: &LinkPair) -> bool {
    pair.visits_ns().len() == 1 && pair.visits_ns() == pair.back_ns()
}
