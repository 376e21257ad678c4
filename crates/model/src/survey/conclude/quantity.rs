//! What is compared between cpus, as tables of rounds by columns.

use std::collections::BTreeMap;

use super::ERROR_RATE;
use crate::facts::CoreType;
use crate::finding::{CONFIDENCE, Effect};
use crate::stats::blocks::{differing_columns, ratios};
use crate::stats::order::{median, median_interval};
use crate::survey::CpuRound;
use crate::{Level, Survey};

/// A number that each visit to a cpu gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Interrupts a second while the cpu was measured.
    InterruptRate,
    /// The share of time lost in pieces that took more than twice the median.
    Lost,
    /// The 99.9th percentile of a piece.
    Tail,
    /// The median of a piece: the cpu's speed at the fixed work.
    Median,
}

impl Quantity {
    pub const ALL: [Self; 4] = [Self::InterruptRate, Self::Lost, Self::Tail, Self::Median];

    /// What a person calls it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::InterruptRate => "interrupt rate",
            Self::Lost => "time lost to stalls",
            Self::Tail => "p99.9",
            Self::Median => "p50",
        }
    }

    /// A ratio nearer to 1 than this is not worth a word, however sure it is.
    pub const fn margin(self) -> f64 {
        match self {
            Self::InterruptRate | Self::Lost | Self::Tail => 1.25,
            Self::Median => 1.02,
        }
    }

    /// Its logarithm in one visit; not a number where the visit cannot tell.
    fn logarithm(self, round: &CpuRound) -> f64 {
        /// Ten pieces beyond the percentile, or it is chance.
        const PIECES_FOR_TAIL: u64 = 10_000;
        /// Less lost time than this is the same as none.
        const LOST_FLOOR: f64 = 1e-4;
        match self {
            // Half a count added, so that no interrupts at all have a logarithm too.
            Self::InterruptRate => {
                let Some(counted) = &round.interrupts else { return f64::NAN };
                ((counted.total() as f64 + 0.5) / counted.elapsed_s).ln()
            }
            Self::Lost => (round.tail.lost + LOST_FLOOR).ln(),
            Self::Tail if round.tail.count < PIECES_FOR_TAIL => f64::NAN,
            Self::Tail => round.tail.p99_9_ns.ln(),
            Self::Median => round.tail.p50_ns.ln(),
        }
    }
}

/// The groups of cpus that are compared with each other: those of the same last-level cache and kind. Where every cpu is
/// alone in its cache, the cpus of one kind; and where each is alone in its kind, all. A cpu that is alone among groups
/// has no peers, and one that was visited in less than half of the rounds (it went offline, say) tells too little.
pub fn peer_groups(survey: &Survey) -> Vec<Vec<u32>> {
    let machine = &survey.machine;
    let most = survey.cpus.iter().map(|seen| seen.rounds.len()).max().unwrap_or(0);
    let visited = || survey.cpus.iter().filter(|seen| 2 * seen.rounds.len() >= most).map(|seen| seen.cpu);
    let kind = |cpu| machine.kind_of(cpu).map(|kind| kind.core_type);
    let group = |key: &dyn Fn(u32) -> (Option<usize>, Option<CoreType>)| {
        let mut groups = BTreeMap::<_, Vec<u32>>::new();
        for cpu in visited() {
            groups.entry(key(cpu)).or_default().push(cpu);
        }
        groups.into_values().filter(|group| group.len() > 1).collect::<Vec<_>>()
    };
    let finest = [group(&|cpu| (machine.index_of(Level::Llc, cpu), kind(cpu))), group(&|cpu| (None, kind(cpu)))];
    finest.into_iter().find(|groups| !groups.is_empty()).unwrap_or_else(|| group(&|_| (None, None)))
}

/// A table of logarithms: a row for each round in which every column was visited, a column for each group of cpus (the
/// median over the group's cpus; groups of one cpu are cpus).
pub fn table(survey: &Survey, quantity: Quantity, columns: &[Vec<u32>]) -> Vec<Vec<f64>> {
    let mut by_round = BTreeMap::<u32, BTreeMap<u32, f64>>::new();
    for seen in &survey.cpus {
        for round in &seen.rounds {
            by_round.entry(round.round).or_default().insert(seen.cpu, quantity.logarithm(round));
        }
    }
    by_round
        .into_values()
        .map(|row| {
            let value = |cpus: &Vec<u32>| {
                let values: Option<Vec<f64>> = cpus.iter().map(|cpu| row.get(cpu).copied()).collect();
                values.map_or(f64::NAN, |values| median(&values))
            };
            columns.iter().map(value).collect::<Vec<f64>>()
        })
        .filter(|row| row.iter().all(|value| value.is_finite()))
        .collect()
}

/// What a test over a table's columns showed.
pub struct Tested {
    /// The columns that differ by at least the margin, with the ratio to the median of the columns that do not differ.
    pub differing: Vec<(usize, Effect)>,
    /// Of the columns that differ by less than the margin, though surely, the one that differs most.
    pub immaterial: Option<(usize, Effect)>,
    /// How far the other columns may still be from each other: the farthest end of their intervals, as a ratio above 1.
    pub excluded_beyond: Option<f64>,
    /// How many rounds the test had.
    pub rounds: usize,
}

/// Fewer rounds than this cannot show a difference between two cpus at [`ERROR_RATE`].
pub const ROUNDS_ENOUGH: usize = 8;

/// Tests whether any column of a table differs; `name` names columns in effects.
pub fn test(quantity: Quantity, rows: &[Vec<f64>], seed: u64, name: &dyn Fn(&[usize]) -> String) -> Tested {
    let width = rows.first().map_or(0, Vec::len);
    let found = if rows.len() < ROUNDS_ENOUGH { Vec::new() } else { differing_columns(rows, ERROR_RATE, seed) };
    let effect = |column: usize, others: &[usize], p_value: Option<f64>| {
        let ratios = ratios(rows, column, others);
        let (low, high) = median_interval(&ratios, CONFIDENCE)?;
        let (quantity, against) = (quantity.words().to_owned(), name(others));
        Some(Effect { quantity, against, ratio: median(&ratios), low, high, p_value })
    };
    let is_material =
        |(_, effect): &(usize, Effect)| effect.size() >= quantity.margin() && (effect.low > 1.0 || effect.high < 1.0);
    let alike: Vec<usize> =
        (0..width).filter(|column| found.iter().all(|differing| differing.column != *column)).collect();
    let (differing, immaterial): (Vec<_>, Vec<_>) = found
        .iter()
        .filter_map(|differing| Some((differing.column, effect(differing.column, &alike, Some(differing.p_value))?)))
        .partition(is_material);
    let immaterial = immaterial.into_iter().max_by(|(_, a), (_, b)| a.size().total_cmp(&b.size()));
    let excluded_beyond = (alike.len() > 1 && rows.len() >= ROUNDS_ENOUGH)
        .then(|| {
            alike.iter().try_fold(1.0_f64, |farthest, &column| {
                let others: Vec<usize> = alike.iter().copied().filter(|&other| other != column).collect();
                effect(column, &others, None).map(|effect| farthest.max(effect.high).max(1.0 / effect.low))
            })
        })
        .flatten();
    Tested { differing, immaterial, excluded_beyond, rounds: rows.len() }
}
