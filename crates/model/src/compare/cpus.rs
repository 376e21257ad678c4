//! Numbers of each cpu that is in both surveys: work, stalls, clock rate, interrupts.

use std::collections::BTreeMap;

use corewise_machine::counts::Counted;
use corewise_machine::{CpuSet, Gap};

use super::{Comparison, Estimate, Quantity, Subject};
use crate::Survey;
use crate::survey::{CpuObservation, CpuRound, FrequencySource};

const OF_A_CPU: [Quantity; 5] =
    [Quantity::P50, Quantity::P99_9, Quantity::Lost, Quantity::Frequency, Quantity::InterruptRate];

/// Reasons why numbers of a cpu cannot be compared, each with the quantities and their cpus.
type Failures = BTreeMap<&'static str, BTreeMap<Quantity, CpuSet>>;

const FEW_ROUNDS: &str = "one of the surveys has too few rounds for a 99 % interval (8 are needed)";
const OTHER_WORK: &str = "the surveys timed different work, or used different clocks";
const OTHER_SOURCE: &str = "the surveys measured it in different ways";
const NOT_COUNTED: &str = "one of the surveys counted no interrupts at all";

/// Adds the changes on the cpus of both surveys.
pub(super) fn compare(before: &Survey, after: &Survey, comparison: &mut Comparison) {
    let later: BTreeMap<u32, &CpuObservation> = after.cpus.iter().map(|cpu| (cpu.cpu, cpu)).collect();
    let mut failures = Failures::new();
    for quantity in OF_A_CPU {
        let whole = obstacle(quantity, before, after);
        for earlier in &before.cpus {
            let Some(later) = later.get(&earlier.cpu) else { continue };
            let result = whole.map_or_else(|| both(quantity, earlier, later), Err);
            match result {
                Ok(Some((a, b))) => comparison.judge(quantity, Subject::Cpu(earlier.cpu), a, b),
                Ok(None) => {}
                Err(why) => {
                    failures.entry(why).or_default().entry(quantity).or_default().insert(earlier.cpu);
                }
            }
        }
    }
    comparison.gaps.extend(failures.into_iter().flat_map(|(why, cpus)| gaps(why, cpus)));
}

/// Returns the reason why a quantity cannot be compared on any cpu.
fn obstacle(quantity: Quantity, before: &Survey, after: &Survey) -> Option<&'static str> {
    match quantity {
        Quantity::P50 | Quantity::P99_9 | Quantity::Lost => {
            let same = before.work.additions == after.work.additions && before.clock.source == after.clock.source;
            (!same).then_some(OTHER_WORK)
        }
        Quantity::InterruptRate => (counted(before) != counted(after)).then_some(NOT_COUNTED),
        Quantity::Frequency | Quantity::LinkCost => None,
    }
}

fn counted(survey: &Survey) -> bool {
    survey.cpus.iter().flat_map(|cpu| &cpu.rounds).any(|round| round.interrupts.is_some())
}

type Estimates = Option<(Estimate, Estimate)>;

/// Returns both surveys' estimates of a quantity; `None` if neither survey has it.
fn both(quantity: Quantity, before: &CpuObservation, after: &CpuObservation) -> Result<Estimates, &'static str> {
    if quantity == Quantity::Frequency && sources(before) != sources(after) {
        return Err(OTHER_SOURCE);
    }
    let values =
        |cpu: &CpuObservation| cpu.rounds.iter().filter_map(|round| value(quantity, round)).collect::<Vec<_>>();
    let (before, after) = (values(before), values(after));
    if before.is_empty() && after.is_empty() {
        return Ok(None);
    }
    let none = quantity.least_difference().max(quantity.floor());
    let estimate = |values: &[f64]| Estimate::of(values, none).ok_or(FEW_ROUNDS);
    Ok(Some((estimate(&before)?, estimate(&after)?)))
}

fn sources(cpu: &CpuObservation) -> Vec<FrequencySource> {
    let mut sources = Vec::new();
    for frequency in cpu.rounds.iter().filter_map(|round| round.frequency.as_ref()) {
        if !sources.contains(&frequency.source) {
            sources.push(frequency.source);
        }
    }
    sources
}

fn value(quantity: Quantity, round: &CpuRound) -> Option<f64> {
    let timed = |value: f64| (round.tail.count > 0).then_some(value);
    let value = match quantity {
        Quantity::P50 => timed(round.tail.p50_ns),
        Quantity::P99_9 => timed(round.tail.p99_9_ns),
        Quantity::Lost => timed(round.tail.lost * 100.0),
        Quantity::Frequency => round.frequency.as_ref().map(|frequency| frequency.gigahertz),
        Quantity::InterruptRate => round.interrupts.as_ref().map(Counted::per_second),
        Quantity::LinkCost => None,
    };
    value.filter(|value| value.is_finite())
}

/// Builds one gap for each set of cpus and reason, naming all quantities that could not be compared.
fn gaps(why: &str, by_quantity: BTreeMap<Quantity, CpuSet>) -> Vec<Gap> {
    let mut by_cpus = BTreeMap::<CpuSet, Vec<&str>>::new();
    for (quantity, cpus) in by_quantity {
        by_cpus.entry(cpus).or_default().push(quantity.words());
    }
    let gap = |(cpus, quantities): (CpuSet, Vec<&str>)| {
        let noun = if cpus.len() == 1 { "cpu" } else { "cpus" };
        let gap = Gap::new(format!("{} of {noun} {cpus}", quantities.join(", ")), why);
        if why == FEW_ROUNDS { gap.cured_by("survey again with a larger --budget") } else { gap }
    };
    by_cpus.into_iter().map(gap).collect()
}
