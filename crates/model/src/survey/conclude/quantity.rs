//! Quantities compared between cpus, as tables of rounds by columns.

use std::collections::BTreeMap;

use corewise_machine::counts::EventCounts;
use corewise_machine::facts::CoreType;
use corewise_machine::{CpuSet, Level};

use super::episode::RoundEpisode;
use super::formats;
use crate::Survey;
use crate::finding::{CONFIDENCE, FindingEffect, decimals_of_ratio};
use crate::survey::CpuRound;
use corewise_statistics::blocks::{DifferingColumn, RoundTable, column_ratios};
use corewise_statistics::order::{median, median_interval};

/// A number that each visit to a cpu yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuQuantity {
    /// Interrupts per second while the cpu was measured.
    InterruptRate,
    /// The share of time lost in pieces that took more than twice the median.
    Lost,
    /// The 99.9th percentile of a piece.
    Tail,
    /// The median of a piece: the cpu's speed at the fixed work.
    Median,
}

/// Minimum number of pieces of a visit: ten beyond the 99.9th percentile.
const PIECES_FOR_TAIL: u64 = 10_000;

impl CpuQuantity {
    pub const ALL: [Self; 4] = [Self::InterruptRate, Self::Lost, Self::Tail, Self::Median];

    /// Returns the name for people.
    pub const fn quantity_name(self) -> &'static str {
        match self {
            Self::InterruptRate => "interrupt rate",
            Self::Lost => "time lost to stalls",
            Self::Tail => "p99.9",
            Self::Median => "p50",
        }
    }

    /// Returns the smallest ratio that matters, even if a smaller one is certain.
    pub const fn material_margin(self) -> f64 {
        match self {
            Self::InterruptRate | Self::Lost | Self::Tail => 1.25,
            Self::Median => 1.02,
        }
    }

    /// Returns the ratio from which differences must be excluded before a cpu is called no worse. A tail rests on rare
    /// stalls, and its ratios scatter: there it is a factor of two.
    pub const fn exclusion_limit(self) -> f64 {
        match self {
            Self::Lost | Self::Tail => 2.0,
            Self::InterruptRate | Self::Median => self.material_margin(),
        }
    }

    /// Returns the ratio from which differences between all cpus must be excluded before none is said to stand out. The
    /// cpu that scatters most decides: a factor of two, or the margin for the speed.
    const fn limit_of_all(self) -> f64 {
        match self {
            Self::InterruptRate | Self::Lost | Self::Tail => 2.0,
            Self::Median => self.material_margin(),
        }
    }

    /// Returns the smallest ratio that people see as a difference: "0.1 %", "1.01x".
    const fn least_seen(self) -> f64 {
        if matches!(self, Self::Median) { 1.0005 } else { 1.005 }
    }

    /// Formats the largest possible ratio for people, rounded up, since larger ones are excluded: "1.3x", "2.0 %", and at least "1.01x" or
    /// "0.1 %".
    pub fn format_bound(self, ratio: f64) -> String {
        /// Returns the next multiple of 10⁻ᵈ, unless the number is one but for the precision of arithmetic.
        fn round_up(value: f64, decimals: usize) -> f64 {
            let steps = 10_f64.powi(decimals as i32);
            (value * steps - 1e-6).ceil() / steps
        }
        match self {
            Self::Median => format!("{:.1} %", round_up((ratio - 1.0) * 100.0, 1).max(0.1)),
            _ => format!("{}x", formats::format_ratio(round_up(ratio.max(1.01), decimals_of_ratio(ratio)))),
        }
    }

    /// Returns true if a visit of the survey observed it, or a longer one could have.
    fn is_observed(self, survey: &Survey) -> bool {
        let mut rounds = survey.cpus.iter().flat_map(|seen| &seen.rounds);
        rounds.any(|round| self != Self::InterruptRate || round.interrupts.is_some())
    }

    /// Returns its logarithm in one visit; NaN if the visit has no value.
    fn logarithm_of(self, round: &CpuRound) -> f64 {
        /// Smaller losses count as none.
        const LOST_FLOOR: f64 = 1e-4;
        match self {
            // Half a count is added, so that zero interrupts have a logarithm.
            Self::InterruptRate => {
                let Some(counted) = &round.interrupts else { return f64::NAN };
                ((counted.total_count() as f64 + 0.5) / counted.elapsed_s).ln()
            }
            Self::Lost => (round.tail.lost + LOST_FLOOR).ln(),
            Self::Tail if round.tail.count < PIECES_FOR_TAIL => f64::NAN,
            Self::Tail => round.tail.p99_9_ns.ln(),
            Self::Median => round.tail.p50_ns.ln(),
        }
    }
}

/// Returns the groups of cpus to compare with each other: cpus of the same last-level cache and kind. If every cpu is
/// alone in its cache, these are the cpus of one kind; if each is alone in its kind, all cpus. A cpu that is alone
/// among groups has no peers. Cpus visited in less than half of the rounds, for example after going offline, are left
/// out.
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

/// Returns the interrupts per second over some visits to a cpu: the median over visits with counts, as the tests
/// compare it; NaN without any. A mean would follow one burst.
pub fn interrupts_per_second<'a>(rounds: impl IntoIterator<Item = &'a CpuRound>) -> f64 {
    let counted = rounds.into_iter().filter_map(|round| round.interrupts.as_ref());
    median(&counted.map(EventCounts::per_second).collect::<Vec<_>>())
}

/// Builds a table of logarithms: a row for each round in which every column was visited, a column for each group of
/// cpus (the median over the group's cpus; groups may have one cpu).
fn logarithm_table(survey: &Survey, quantity: CpuQuantity, columns: &[Vec<u32>]) -> RoundTable {
    let wanted: CpuSet = columns.iter().flatten().copied().collect();
    let mut by_round = BTreeMap::<u32, BTreeMap<u32, f64>>::new();
    for seen in survey.cpus.iter().filter(|seen| wanted.contains(seen.cpu)) {
        for round in &seen.rounds {
            by_round.entry(round.round).or_default().insert(seen.cpu, quantity.logarithm_of(round));
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

/// Result of a test over a table's columns.
pub struct QuantityTest {
    /// The tested quantity.
    pub quantity: CpuQuantity,
    /// The columns that differ by at least the margin, with the ratio to the median of the columns that do not differ.
    pub differing: Vec<(usize, FindingEffect)>,
    /// Columns that certainly differ, but by less than the margin, or by an uncertain amount.
    pub immaterial: Vec<(usize, FindingEffect)>,
    /// Columns that differed for a while only, by at least the margin.
    pub episodes: Vec<(usize, RoundEpisode)>,
    /// Columns that do not differ, each with its ratio to the others of them. A single one is compared with all
    /// columns.
    pub alike: Vec<(usize, FindingEffect)>,
    /// Number of rounds of the test.
    pub rounds: usize,
}

/// Minimum number of rounds for a test. In more rounds, smaller differences are found, and those of two cpus alone.
pub const ROUNDS_ENOUGH: usize = 8;

impl QuantityTest {
    /// Returns the ratio of one column with its interval, and true if the test found that it differs; `None` after too
    /// few rounds.
    pub fn effect_of(&self, column: usize) -> Option<(&FindingEffect, bool)> {
        let is_alone = self.alike.len() == 1 && !self.differing.is_empty();
        let parts = [(&self.differing, true), (&self.immaterial, false), (&self.alike, is_alone)];
        let found = parts.into_iter().find_map(|(columns, is_found)| {
            let found = columns.iter().find(|(other, _)| *other == column);
            found.map(|(_, effect)| (effect, is_found))
        });
        let episode = || self.episodes.iter().find(|(other, _)| *other == column);
        found.or_else(|| episode().map(|(_, episode)| (&episode.effect, false)))
    }

    /// Returns the effect with the farthest end of its interval, among the effects without a finding.
    fn farthest_effect(&self) -> Option<&(usize, FindingEffect)> {
        let rest = self.immaterial.iter().chain(self.alike.iter().filter(|_| self.alike.len() > 1));
        rest.max_by(|(_, a), (_, b)| a.farthest_end().total_cmp(&b.farthest_end()))
    }

    /// Returns the largest certain difference that is no finding, unless all its digits would be zeros.
    pub fn largest_immaterial(&self) -> Option<&(usize, FindingEffect)> {
        let seen = self.immaterial.iter().filter(|(_, effect)| effect.farthest_end() >= self.quantity.least_seen());
        seen.max_by(|(_, a), (_, b)| a.effect_size().total_cmp(&b.effect_size()))
    }

    /// Returns the largest possible ratio between columns without findings, above 1.
    pub fn excluded_beyond(&self) -> Option<f64> {
        self.farthest_effect().map(|(_, effect)| effect.farthest_end())
    }

    /// Returns the length of a survey that excludes all differences, in seconds; `None` if this one does.
    pub fn needs_s(&self, survey: &Survey) -> Option<f64> {
        if self.rounds < ROUNDS_ENOUGH {
            return Some(self.quantity.enough_s(survey, self.rounds));
        }
        let (_, effect) = self.farthest_effect()?;
        settles_s(effect, self.quantity.limit_of_all(), survey)
    }
}

impl CpuQuantity {
    /// Returns the length of a survey with enough comparable rounds, in seconds.
    pub fn enough_s(self, survey: &Survey, rounds: usize) -> f64 {
        let provenance = &survey.provenance;
        let whole_s = provenance.elapsed_s;
        // The planned length of an interrupted survey would have sufficed.
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

/// Returns the length of a survey in which this effect's interval ends below a limit, in seconds; `None` if it already
/// does. An interval narrows with the square root of the time. If the ratio itself is at the limit, the interval must
/// exclude 1 instead: then it is a finding.
pub fn settles_s(effect: &FindingEffect, limit: f64, survey: &Survey) -> Option<f64> {
    /// Minimum distance between a ratio and the end of its interval.
    const LEAST_ROOM: f64 = 0.01;
    if effect.farthest_end() < limit {
        return None;
    }
    let (low, middle, high) = (effect.low.ln(), effect.ratio.ln(), effect.high.ln());
    let (limit, far) = (limit.ln(), effect.effect_size().ln());
    let reach = (high - middle).max(middle - low);
    let room = if far < limit { limit - far } else { far };
    Some(survey.provenance.elapsed_s * (reach / room.max(LEAST_ROOM)).powi(2).max(2.0))
}

/// A quantity of several columns in each round.
pub struct QuantityTable {
    quantity: CpuQuantity,
    columns: usize,
    rows: RoundTable,
}

impl QuantityTable {
    /// Builds the table of a quantity; `None` if this survey could not observe it, at any length.
    pub fn new(quantity: CpuQuantity, survey: &Survey, columns: &[Vec<u32>]) -> Option<Self> {
        let rows = || logarithm_table(survey, quantity, columns);
        quantity.is_observed(survey).then(|| Self { quantity, columns: columns.len(), rows: rows() })
    }

    /// Returns the rows to test; none if they are too few.
    pub fn tested_rows(&self) -> RoundTable {
        if self.rows.len() < ROUNDS_ENOUGH { Vec::new() } else { self.rows.clone() }
    }

    /// Sorts the columns by the result of the test, which found that some differ; `name` names columns in effects.
    pub fn sort_columns(&self, found: &[DifferingColumn], name: &dyn Fn(&[usize]) -> String) -> QuantityTest {
        let mut tested = QuantityTest {
            quantity: self.quantity,
            differing: Vec::new(),
            immaterial: Vec::new(),
            episodes: Vec::new(),
            alike: Vec::new(),
            rounds: self.rows.len(),
        };
        if self.rows.len() < ROUNDS_ENOUGH {
            return tested;
        }
        let (all, is_found) = (0..self.columns, |column: &usize| found.iter().any(|found| found.column == *column));
        let alike: Vec<usize> = all.clone().filter(|column| !is_found(column)).collect();
        for differing in found {
            let column = differing.column;
            let ratios = column_ratios(&self.rows, column, &alike);
            let Some(effect) = self.effect_of(&ratios, name(&alike), Some(differing.p_value)) else { continue };
            let is_apart = effect.low > 1.0 || effect.high < 1.0;
            let is_material = effect.effect_size() >= self.quantity.material_margin() && is_apart;
            match RoundEpisode::find(&ratios, &effect, self.quantity.material_margin()).filter(|_| is_material) {
                Some(episode) => tested.episodes.push((column, episode)),
                None if is_material => tested.differing.push((column, effect)),
                None => tested.immaterial.push((column, effect)),
            }
        }
        let pool: Vec<usize> = if alike.len() > 1 { alike.clone() } else { all.collect() };
        tested.alike.extend(alike.into_iter().filter_map(|column| {
            let others: Vec<usize> = pool.iter().copied().filter(|&other| other != column).collect();
            let ratios = column_ratios(&self.rows, column, &others);
            self.effect_of(&ratios, name(&others), None).map(|effect| (column, effect))
        }));
        tested
    }

    fn effect_of(&self, ratios: &[f64], against: String, p_value: Option<f64>) -> Option<FindingEffect> {
        let (low, high) = median_interval(ratios, CONFIDENCE)?;
        let quantity = self.quantity.quantity_name().to_owned();
        Some(FindingEffect { quantity, against, ratio: median(ratios), low, high, p_value })
    }
}
