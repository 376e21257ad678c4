//! How fast each cpu is, as a survey measured it.

use corewise_machine::Machine;
use corewise_machine::worth::{Speed, relative_speeds};

use crate::Survey;
use crate::stats::order::median;

/// The speeds of the cpus of a machine, by their numbers: measured by a survey, or else as the kinds of cores are ranked.
pub fn speeds(machine: &Machine, survey: Option<&Survey>) -> Vec<Speed> {
    relative_speeds(machine, &survey.map(measured_ns).unwrap_or_default())
}

/// How long the fixed piece of work takes on each cpu: the median over rounds of the rounds' medians.
fn measured_ns(survey: &Survey) -> Vec<(u32, f64)> {
    let of =
        |rounds: &[crate::survey::CpuRound]| median(&rounds.iter().map(|round| round.tail.p50_ns).collect::<Vec<_>>());
    let seen = survey.cpus.iter().map(|seen| (seen.cpu, of(&seen.rounds)));
    seen.filter(|(_, nanoseconds)| nanoseconds.is_finite() && *nanoseconds > 0.0).collect()
}
