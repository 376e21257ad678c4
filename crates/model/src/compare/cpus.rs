//! Numbers of each cpu that is in both surveys: work, stalls, clock rate, interrupts.

use std::collections::BTreeMap;

use corewise_machine::counts::EventCounts;
use corewise_machine::{CpuSet, Gap};

use super::{ComparedNumber, ComparedQuantity, ComparedSubject, ERROR_RATE, MedianEstimate, SurveyComparison};
use crate::Survey;
use crate::survey::{CpuObservation, CpuRound, FrequencySource};
use corewise_statistics::order::median;
use corewise_statistics::session::{ROUNDS_ENOUGH, SessionLevel};

const OF_A_CPU: [ComparedQuantity; 5] = [
    ComparedQuantity::P50,
    ComparedQuantity::P99_9,
    ComparedQuantity::Lost,
    ComparedQuantity::Frequency,
    ComparedQuantity::InterruptRate,
];

/// Reasons why numbers of a cpu cannot be compared, each with the quantities and their cpus.
type ComparisonFailures = BTreeMap<&'static str, BTreeMap<ComparedQuantity, CpuSet>>;

const FEW_ROUNDS: &str = "one of the surveys has too few rounds (8 are needed)";
const OTHER_WORK: &str = "the surveys timed different work, or used different clocks";
const OTHER_SOURCE: &str = "the surveys measured it in different ways";
const NOT_COUNTED: &str = "one of the surveys counted no interrupts at all";

/// A quantity of one cpu in one survey, in order of time.
type CpuSeries = Vec<f64>;

/// Adds the changes on the cpus of both surveys.
pub(super) fn compare_cpus(before: &Survey, after: &Survey, comparison: &mut SurveyComparison) {
    let later: BTreeMap<u32, &CpuObservation> = after.cpus.iter().map(|cpu| (cpu.cpu, cpu)).collect();
    let mut failures = ComparisonFailures::new();
    for quantity in OF_A_CPU {
        let whole = find_obstacle(quantity, before, after);
        let mut series = Vec::<(u32, [CpuSeries; 2])>::new();
        for earlier in &before.cpus {
            let Some(later) = later.get(&earlier.cpu) else { continue };
            match whole.map_or_else(|| series_of_both(quantity, earlier, later), Err) {
                Ok(both) => series.extend(both.map(|both| (earlier.cpu, both))),
                Err(why) => {
                    failures.entry(why).or_default().entry(quantity).or_default().insert(earlier.cpu);
                }
            }
        }
        compare_series(quantity, &series, comparison);
    }
    comparison.gaps.extend(failures.into_iter().flat_map(|(why, cpus)| list_gaps(why, cpus)));
}

/// Judges a quantity on all cpus that have enough rounds in both surveys.
fn compare_series(quantity: ComparedQuantity, series: &[(u32, [CpuSeries; 2])], comparison: &mut SurveyComparison) {
    let floor = quantity.comparison_floor();
    let levels = [0, 1].map(|survey| {
        let logarithms = |(_, both): &(u32, [CpuSeries; 2])| {
            both[survey].iter().map(|value| (value + floor).max(f64::MIN_POSITIVE).ln()).collect()
        };
        SessionLevel::from_series(&series.iter().map(logarithms).collect::<Vec<CpuSeries>>())
    });
    for (index, (cpu, both)) in series.iter().enumerate() {
        let [Some(before), Some(after)] = [0, 1].map(|survey| levels[survey][index]) else { continue };
        let estimate = |values: &CpuSeries, level: SessionLevel| {
            MedianEstimate::new(median(values), level.reach(ERROR_RATE, 1), values.len())
        };
        let [earlier, later] = [0, 1].map(|survey| (median(&both[survey]) + floor).max(f64::MIN_POSITIVE));
        comparison.judge_change(&ComparedNumber {
            quantity,
            subject: ComparedSubject::Cpu(*cpu),
            before: estimate(&both[0], before),
            after: estimate(&both[1], after),
            difference: (later / earlier).ln(),
            reach: before.reach_to(after, ERROR_RATE, 1),
            family_reach: before.reach_to(after, ComparedQuantity::error_rate(), series.len()),
        });
    }
}

/// Returns the reason why a quantity cannot be compared on any cpu.
fn find_obstacle(quantity: ComparedQuantity, before: &Survey, after: &Survey) -> Option<&'static str> {
    match quantity {
        ComparedQuantity::P50 | ComparedQuantity::P99_9 | ComparedQuantity::Lost => {
            let same = before.work.additions == after.work.additions && before.clock.source == after.clock.source;
            (!same).then_some(OTHER_WORK)
        }
        ComparedQuantity::InterruptRate => {
            (counts_interrupts(before) != counts_interrupts(after)).then_some(NOT_COUNTED)
        }
        ComparedQuantity::Frequency | ComparedQuantity::LinkCost => None,
    }
}

fn counts_interrupts(survey: &Survey) -> bool {
    survey.cpus.iter().flat_map(|cpu| &cpu.rounds).any(|round| round.interrupts.is_some())
}

/// Returns both surveys' values of a quantity; `None` if neither survey has it.
fn series_of_both(
    quantity: ComparedQuantity,
    before: &CpuObservation,
    after: &CpuObservation,
) -> Result<Option<[CpuSeries; 2]>, &'static str> {
    if quantity == ComparedQuantity::Frequency && frequency_sources(before) != frequency_sources(after) {
        return Err(OTHER_SOURCE);
    }
    let both = [before, after]
        .map(|cpu| cpu.rounds.iter().filter_map(|round| value_of(quantity, round)).collect::<CpuSeries>());
    match both.each_ref().map(Vec::len) {
        [0, 0] => Ok(None),
        counts if counts.iter().any(|count| *count < ROUNDS_ENOUGH) => Err(FEW_ROUNDS),
        _ => Ok(Some(both)),
    }
}

fn frequency_sources(cpu: &CpuObservation) -> Vec<FrequencySource> {
    let mut sources = Vec::new();
    for frequency in cpu.rounds.iter().filter_map(|round| round.frequency.as_ref()) {
        if !sources.contains(&frequency.source) {
            sources.push(frequency.source);
        }
    }
    sources
}

/// Returns the value of a quantity in one visit to a cpu; `None` if it was not measured, and for costs of links.
pub(crate) fn value_of(quantity: ComparedQuantity, round: &CpuRound) -> Option<f64> {
    let timed = |value: f64| (round.tail.count > 0).then_some(value);
    let value = match quantity {
        ComparedQuantity::P50 => timed(round.tail.p50_ns),
        ComparedQuantity::P99_9 => timed(round.tail.p99_9_ns),
        ComparedQuantity::Lost => timed(round.tail.lost * 100.0),
        ComparedQuantity::Frequency => round.frequency.as_ref().map(|frequency| frequency.gigahertz),
        ComparedQuantity::InterruptRate => round.interrupts.as_ref().map(EventCounts::per_second),
        ComparedQuantity::LinkCost => None,
    };
    value.filter(|value| value.is_finite())
}

/// Builds one gap for each set of cpus and reason, naming all quantities that could not be compared.
fn list_gaps(why: &str, by_quantity: BTreeMap<ComparedQuantity, CpuSet>) -> Vec<Gap> {
    let mut by_cpus = BTreeMap::<CpuSet, Vec<&str>>::new();
    for (quantity, cpus) in by_quantity {
        by_cpus.entry(cpus).or_default().push(quantity.quantity_name());
    }
    let gap = |(cpus, quantities): (CpuSet, Vec<&str>)| {
        let noun = if cpus.len() == 1 { "cpu" } else { "cpus" };
        let gap = Gap::new(format!("{} of {noun} {cpus}", quantities.join(", ")), why);
        if why == FEW_ROUNDS { gap.cured_by("survey again with a larger --budget") } else { gap }
    };
    by_cpus.into_iter().map(gap).collect()
}
