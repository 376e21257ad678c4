//! Numbers and sets as the findings' sentences write them.

use crate::finding::{Effect, decimals};
use crate::placement::describe;
use crate::{CpuSet, Survey};

/// The command that runs a program on some cpus.
pub fn run_on(cpus: &CpuSet, survey: &Survey) -> String {
    let place = describe(cpus, &survey.machine);
    format!("corewise run --on {place} -- ./app")
}

/// "4.1 % [3.9, 4.4] slower" or "… faster", for ratios of durations near 1.
pub fn slower(effect: &Effect) -> String {
    let percent = |ratio: f64| format!("{:.1}", (ratio - 1.0).abs() * 100.0);
    // Of durations: above 1 is slower. The interval of "faster" is turned, so that the smaller number stands first.
    if effect.ratio >= 1.0 {
        format!("{} % [{}, {}] slower", percent(effect.ratio), signed(effect.low), signed(effect.high))
    } else {
        let inverse = |ratio: f64| 1.0 / ratio;
        let (ratio, low, high) = (inverse(effect.ratio), inverse(effect.high), inverse(effect.low));
        format!("{} % [{}, {}] faster", percent(ratio), signed(low), signed(high))
    }
}

fn signed(ratio: f64) -> String {
    format!("{:.1}", (ratio - 1.0) * 100.0)
}

/// Two significant digits for ratios, and two decimals near 1: 2.9, 12, 0.34, 1.03.
pub fn figures(value: f64) -> String {
    format!("{value:.digits$}", digits = decimals(value))
}

/// "cpu 3" or "cpus 0-3,8".
pub fn cpus(set: &CpuSet) -> String {
    if set.len() == 1 { format!("cpu {set}") } else { format!("cpus {set}") }
}

/// "(nvme0q1 41 %, timer 33 %)": the two sources that interrupted a cpu most while it was measured; empty for none.
pub fn main_sources(survey: &Survey, cpu: u32) -> String {
    let mut counts = std::collections::BTreeMap::<&str, u64>::new();
    let rounds = survey.cpus.iter().filter(|seen| seen.cpu == cpu).flat_map(|seen| &seen.rounds);
    for count in rounds.filter_map(|round| round.interrupts.as_ref()).flat_map(|counted| &counted.sources) {
        *counts.entry(crate::interrupt::plain_name(&count.source)).or_default() += count.count;
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
