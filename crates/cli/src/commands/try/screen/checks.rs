//! The checks on the experiment itself, and its number in the store.

use corewise_model::experiment::{ExpectedNoise, ExperimentDoubt};

use super::ShownExperiment;
use super::gain::{format_percent, format_size};
use crate::draw::number::{format_count, format_decimal};
use crate::draw::printable::printable_name;
use crate::draw::text::StyledLine;

/// Returns the line.
pub fn draw_lines(shown: ShownExperiment<'_>) -> Vec<StyledLine> {
    let checks = &shown.standing.checks;
    let mut items = Vec::new();
    let metric = &shown.experiment.workload.metric;
    if !shown.is_time() {
        let better = if metric.higher_is_better { "more" } else { "less" };
        items.push(format!("{}: {better} is better", printable_name(&metric.name)));
    }
    let what = if shown.experiment.workload.live.is_some() { "slots" } else { "runs" };
    if let Some(carry) = &checks.carry_over {
        let name = shown
            .experiment
            .arms
            .get(carry.after_arm)
            .map_or_else(String::new, |arm| printable_name(&arm.spoken_name()));
        let fires = checks.doubts.iter().any(|doubt| matches!(doubt, ExperimentDoubt::CarryOver(_)));
        items.push(match fires {
            true => format!(
                "{what} right after {name} differed most: {} ({} SE)",
                format_size(carry.slower),
                format_decimal(carry.standard_errors.abs(), 1)
            ),
            false => format!("no carry-over from {name}"),
        });
    }
    if checks.outliers > 0 {
        items.push(format_count(checks.outliers as usize, "outlier"));
    }
    let modes: Vec<String> = shown
        .standing
        .arms
        .iter()
        .filter(|arm| arm.modes > 1)
        .map(|arm| printable_name(&shown.experiment.arms[arm.arm].spoken_name()))
        .collect();
    if !modes.is_empty() {
        items.push(format!("two groups of runs: {}", modes.join(", ")));
    }
    if shown.threads.is_some_and(|report| report.standing.counts.is_some() && !report.standing.pinned.is_empty()) {
        let rate = format_percent(shown.experiment.policy.error_rate);
        items.push(format!("two questions, pinned or not and how many, with an error rate of {rate} each"));
    }
    items.extend(shown.experiment.policy.expected_noise.as_ref().map(describe_bets));
    items.push(format!("{}, seed {}", format_count(shown.standing.blocks as usize, "block"), shown.experiment.seed));
    if let Some(number) = shown.stored {
        items.push(format!("stored as experiment {number}"));
    }
    vec![StyledLine::new().faint(format!("Checks: {}", items.join(" · ")))]
}

fn describe_bets(noise: &ExpectedNoise) -> String {
    let source = match noise.experiment {
        Some(number) => format!("experiment {number}"),
        None => "an earlier experiment".to_owned(),
    };
    format!("bets from the noise of {source}: {}", format_size(noise.gain_deviation))
}
