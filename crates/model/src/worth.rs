//! Speed of each cpu, as measured by a survey.

use corewise_machine::Machine;
use corewise_machine::worth::{CpuSpeed, relative_speeds};

use crate::Survey;
use corewise_statistics::order::median;

/// Returns the speeds of a machine's cpus, by their numbers: measured by a survey, or else by the rank of their kinds
/// of core.
pub fn cpu_speeds(machine: &Machine, survey: Option<&Survey>) -> Vec<CpuSpeed> {
    relative_speeds(machine, &survey.map(measured_ns).unwrap_or_default())
}

/// Returns the time of the fixed piece of work on each cpu: the median over rounds of the rounds' medians.
fn measured_ns(survey: &Survey) -> Vec<(u32, f64)> {
    let of =
        |rounds: &[crate::survey::CpuRound]| median(&rounds.iter().map(|round| round.tail.p50_ns).collect::<Vec<_>>());
    let seen = survey.cpus.iter().map(|seen| (seen.cpu, of(&seen.rounds)));
    seen.filter(|(_, nanoseconds)| nanoseconds.is_finite() && *nanoseconds > 0.0).collect()
}
