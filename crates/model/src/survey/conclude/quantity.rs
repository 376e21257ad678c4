//! What is compared between cpus, as tables of rounds by columns.

use std::collections::BTreeMap;

use corewise_machine::Level;
use corewise_machine::counts::Counted;
use corewise_machine::facts::CoreType;

use super::{ERROR_RATE, words};
use crate::Survey;
use crate::finding::{CONFIDENCE, Effect};
use crate::stats::blocks::{differing_columns, ratios};
use crate::stats::order::{median, median_interval};
use crate::survey::CpuRound;

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

/// Ten pieces beyond the 99.9th percentile, or it is chance.
const PIECES_FOR_TAIL: u64 = 10_000;

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

    /// A cpu is called no worse only where differences from this ratio on are excluded. A tail rests on rare stalls, and its
    /// ratios scatter: there it is a factor of two.
    pub const fn limit(self) -> f64 {
        match self {
            Self::Lost | Self::Tail => 2.0,
            Self::InterruptRate | Self::Median => self.margin(),
        }
    }

    /// Nothing is said to stand out only where differences from this ratio on are excluded between all cpus, of which the one that
    /// scatters most decides: a factor of two, and of the speed the margin.
    const fn limit_of_all(self) -> f64 {
        match self {
            Self::InterruptRate | Self::Lost | Self::Tail => 2.0,
            Self::Median => self.margin(),
        }
    }

    /// A ratio from 1 on as a person says it of this quantity: "1.3x", "2 %".
    pub fn ratio_words(self, ratio: f64) -> String {
        match self {
            // Nothing is known to less than a tenth of a percent.
            Self::Median => format!("{:.1} %", ((ratio - 1.0) * 100.0).max(0.1)),
            _ => format!("{}x", words::figures(ratio)),
        }
    }

    /// Whether any visit of a survey observed it, or could have in a longer visit.
    fn is_observed(self, survey: &Survey) -> bool {
        let mut rounds = survey.cpus.iter().flat_map(|seen| &seen.rounds);
        rounds.any(|round| self != Self::InterruptRate || round.interrupts.is_some())
    }

    /// Its logarithm in one visit; not a number where the visit cannot tell.
    fn logarithm(self, round: &CpuRound) -> f64 {
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

/// How often some visits to a cpu were interrupted, per second: the median over those that counted, whose ratios are what
/// [`test`] compares; not a number where none did. A mean would follow one burst.
pub fn interrupts_per_second<'a>(rounds: impl IntoIterator<Item = &'a CpuRound>) -> f64 {
    let counted = rounds.into_iter().filter_map(|round| round.interrupts.as_ref());
    median(&counted.map(Counted::per_second).collect::<Vec<_>>())
}

/// A table of logarithms: a row for each round in which every column was visited, a column for each group of cpus (the
/// median over the group's cpus; groups of one cpu are cpus).
fn table(survey: &Survey, quantity: Quantity, columns: &[Vec<u32>]) -> Vec<Vec<f64>> {
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
    /// What was tested.
    pub quantity: Quantity,
    /// The columns that differ by at least the margin, with the ratio to the median of the columns that do not differ.
    pub differing: Vec<(usize, Effect)>,
    /// Those that surely differ, though by less than the margin, or by nobody knows how much.
    pub immaterial: Vec<(usize, Effect)>,
    /// Those that do not, each with its ratio to the others of them. One that is alone is compared with all.
    pub alike: Vec<(usize, Effect)>,
    /// How many rounds the test had.
    pub rounds: usize,
}

/// Fewer rounds than this cannot show a difference between two cpus at [`ERROR_RATE`].
pub const ROUNDS_ENOUGH: usize = 8;

impl Tested {
    /// The ratio of one column with its interval, and whether the test found that it differs; nothing where there were too few rounds.
    pub fn of(&self, column: usize) -> Option<(&Effect, bool)> {
        let is_alone = self.alike.len() == 1 && !self.differing.is_empty();
        let parts = [(&self.differing, true), (&self.immaterial, false), (&self.alike, is_alone)];
        parts.into_iter().find_map(|(columns, is_found)| {
            let found = columns.iter().find(|(other, _)| *other == column);
            found.map(|(_, effect)| (effect, is_found))
        })
    }

    /// The effect of those that are no findings whose interval reaches farthest.
    fn farthest(&self) -> Option<&(usize, Effect)> {
        let rest = self.immaterial.iter().chain(self.alike.iter().filter(|_| self.alike.len() > 1));
        rest.max_by(|(_, a), (_, b)| a.beyond().total_cmp(&b.beyond()))
    }

    /// The largest difference that surely exists and is no finding.
    pub fn largest_immaterial(&self) -> Option<&(usize, Effect)> {
        self.immaterial.iter().max_by(|(_, a), (_, b)| a.size().total_cmp(&b.size()))
    }

    /// How far the columns that are no findings may still be from each other, as a ratio above 1.
    pub fn excluded_beyond(&self) -> Option<f64> {
        self.farthest().map(|(_, effect)| effect.beyond())
    }

    /// How long a survey would have to be to exclude what this one does not, in seconds; nothing where it does.
    pub fn needs_s(&self, survey: &Survey) -> Option<f64> {
        if self.rounds < ROUNDS_ENOUGH {
            return Some(self.quantity.enough_s(survey, self.rounds));
        }
        let (_, effect) = self.farthest()?;
        settles_s(effect, self.quantity.limit_of_all(), survey)
    }
}

impl Quantity {
    /// How long a survey has to be for enough comparable rounds, in seconds.
    pub fn enough_s(self, survey: &Survey, rounds: usize) -> f64 {
        let provenance = &survey.provenance;
        let whole_s = provenance.elapsed_s;
        // What was ended early would have been enough.
        let planned_s = if provenance.partial { provenance.budget_s } else { 0.0 };
        if rounds > 0 {
            return planned_s.max(whole_s * ROUNDS_ENOUGH as f64 / rounds as f64);
        }
        let all = || survey.cpus.iter().flat_map(|seen| &seen.rounds);
        let fewest = all().map(|round| round.tail.count).min().unwrap_or(0).max(1);
        let longer = if self == Self::Tail { PIECES_FOR_TAIL as f64 / fewest as f64 } else { 1.0 };
        let visited = survey.cpus.iter().map(|seen| seen.rounds.len()).min().unwrap_or(0).clamp(1, ROUNDS_ENOUGH);
        planned_s.max(whole_s * longer.max(1.0) * ROUNDS_ENOUGH as f64 / visited as f64)
    }
}

/// How long a survey has to be for this effect's interval to end below a limit, in seconds; nothing where it does. An interval
/// narrows with the square root of the time. Where the ratio itself is at the limit, the interval has to leave 1 behind
/// instead: then it is a finding.
pub fn settles_s(effect: &Effect, limit: f64, survey: &Survey) -> Option<f64> {
    /// No interval is expected to end where its ratio is.
    const LEAST_ROOM: f64 = 0.01;
    if effect.beyond() < limit {
        return None;
    }
    let (low, middle, high) = (effect.low.ln(), effect.ratio.ln(), effect.high.ln());
    let (limit, far) = (limit.ln(), effect.size().ln());
    let reach = (high - middle).max(middle - low);
    let room = if far < limit { limit - far } else { far };
    Some(survey.provenance.elapsed_s * (reach / room.max(LEAST_ROOM)).powi(2).max(2.0))
}

/// Tests whether any column of a table differs; `name` names columns in effects. Nothing where this survey could not observe the
/// quantity, however long it was.
pub fn test(
    quantity: Quantity,
    survey: &Survey,
    columns: &[Vec<u32>],
    name: &dyn Fn(&[usize]) -> String,
) -> Option<Tested> {
    if !quantity.is_observed(survey) {
        return None;
    }
    let rows = table(survey, quantity, columns);
    if rows.len() < ROUNDS_ENOUGH {
        let (differing, immaterial, alike) = (Vec::new(), Vec::new(), Vec::new());
        return Some(Tested { quantity, differing, immaterial, alike, rounds: rows.len() });
    }
    let found = differing_columns(&rows, ERROR_RATE, survey.provenance.seed);
    let effect = |column: usize, others: &[usize], p_value: Option<f64>| {
        let ratios = ratios(&rows, column, others);
        let (low, high) = median_interval(&ratios, CONFIDENCE)?;
        let (quantity, against) = (quantity.words().to_owned(), name(others));
        Some((column, Effect { quantity, against, ratio: median(&ratios), low, high, p_value }))
    };
    let is_material =
        |(_, effect): &(usize, Effect)| effect.size() >= quantity.margin() && (effect.low > 1.0 || effect.high < 1.0);
    let alike: Vec<usize> =
        (0..columns.len()).filter(|column| found.iter().all(|differing| differing.column != *column)).collect();
    let (differing, immaterial) = found
        .iter()
        .filter_map(|differing| effect(differing.column, &alike, Some(differing.p_value)))
        .partition(is_material);
    let pool: Vec<usize> = if alike.len() > 1 { alike.clone() } else { (0..columns.len()).collect() };
    let others = |column: usize| pool.iter().copied().filter(|&other| other != column).collect::<Vec<usize>>();
    let alike = alike.iter().filter_map(|&column| effect(column, &others(column), None)).collect();
    Some(Tested { quantity, differing, immaterial, alike, rounds: rows.len() })
}
