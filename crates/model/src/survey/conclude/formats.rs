//! Formats of numbers and sets in the findings' sentences.

use corewise_machine::CpuSet;
use corewise_machine::placement::describe_cpus;

use crate::Survey;
use crate::finding::{FindingEffect, decimals_of_ratio};
use corewise_machine::suggested_command::{self, SuggestedCommand};

/// Returns the command that runs a program on some cpus.
pub fn run_on(cpus: &CpuSet, survey: &Survey) -> SuggestedCommand {
    suggested_command::run_on(&describe_cpus(cpus, &survey.machine).to_string())
}

/// Formats a ratio of durations near 1: "4.1 % [3.9, 4.4] slower" or "… faster".
pub fn format_slower(effect: &FindingEffect) -> String {
    let percent = |ratio: f64| format!("{:.1}", (ratio - 1.0).abs() * 100.0);
    // A duration above 1 is slower. The interval of "faster" is inverted, so that the smaller number stands first.
    if effect.ratio >= 1.0 {
        format!("{} % [{}, {}] slower", percent(effect.ratio), format_signed(effect.low), format_signed(effect.high))
    } else {
        let inverse = |ratio: f64| 1.0 / ratio;
        let (ratio, low, high) = (inverse(effect.ratio), inverse(effect.high), inverse(effect.low));
        format!("{} % [{}, {}] faster", percent(ratio), format_signed(low), format_signed(high))
    }
}

fn format_signed(ratio: f64) -> String {
    format!("{:.1}", (ratio - 1.0) * 100.0)
}

/// Formats a ratio with two significant digits, and two decimals near 1: 2.9, 12, 0.34, 1.03.
pub fn format_ratio(value: f64) -> String {
    format!("{value:.digits$}", digits = decimals_of_ratio(value))
}

/// Formats a set: "cpu 3" or "cpus 0-3,8".
pub fn format_cpus(set: &CpuSet) -> String {
    if set.len() == 1 { format!("cpu {set}") } else { format!("cpus {set}") }
}

/// Describes the two sources that interrupted a cpu most while it was measured: " (nvme0q1 41 %, timer 33 %)"; empty
/// for none.
pub fn main_sources(survey: &Survey, cpu: u32) -> String {
    let mut counts = std::collections::BTreeMap::<&str, u64>::new();
    let rounds = survey.cpus.iter().filter(|seen| seen.cpu == cpu).flat_map(|seen| &seen.rounds);
    for count in rounds.filter_map(|round| round.interrupts.as_ref()).flat_map(|counted| &counted.sources) {
        *counts.entry(corewise_machine::interrupt::plain_name(&count.source)).or_default() += count.count;
    }
    let all: u64 = counts.values().sum();
    let mut sorted: Vec<(&str, u64)> = counts.into_iter().collect();
    sorted.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
    let shares: Vec<String> = sorted
        .iter()
        .take(2)
        .map(|(name, count)| format!("{name} {:.0} %", *count as f64 * 100.0 / all as f64))
        .collect();
    if shares.is_empty() { String::new() } else { format!(" ({})", shares.join(", ")) }
}
