//! The checks on the experiment itself, and its number in the store.

use corewise_statistics::experiment::{
    CarryOverCheck, CarryOverEffect, ExpectedNoise, ExperimentDoubt, Verdict, excluded_failure_rate,
};

use super::ShownExperiment;
use super::answer::describe_failures;
use crate::draw::gain::{format_percent, format_size};
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
    items.extend(describe_failure_rate(shown));
    items.extend(describe_carry_over(shown));
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

/// Describes the rate of failures that the runs of a winner exclude, such as "no failure in 14 runs: a rate above 19.3 %
/// is excluded".
fn describe_failure_rate(shown: ShownExperiment<'_>) -> Option<String> {
    let Verdict::Wins { arm } = shown.standing.verdict else { return None };
    let standing = shown.standing.arms.get(arm).filter(|_| shown.threads.is_none())?;
    if standing.failures > 0 {
        return Some(format!("the winner {}", describe_failures(standing, &shown.baseline_words())));
    }
    let runs: u32 = shown.counted_trials(arm).map(|trial| trial.repeats.max(1)).sum();
    let rate = format_percent(excluded_failure_rate(runs, shown.experiment.policy.error_rate));
    let what = if shown.experiment.workload.live.is_some() { "slot" } else { "run" };
    Some(format!("no failure in {}: a rate above {rate} is excluded", format_count(runs as usize, what)))
}

/// Describes the check for effects of a run on the next.
fn describe_carry_over(shown: ShownExperiment<'_>) -> Option<String> {
    let what = if shown.experiment.workload.live.is_some() { "slots" } else { "runs" };
    let checks = &shown.standing.checks;
    let doubt = checks.doubts.iter().find_map(|doubt| match doubt {
        ExperimentDoubt::CarryOver(found) => Some(found),
        _ => None,
    });
    Some(match (&checks.carry_over, doubt) {
        (_, Some(found)) | (CarryOverCheck::Found { strongest: found }, None) => {
            format!("{what} {} differed most: {}", describe_following(shown, found), describe_size(found))
        }
        (CarryOverCheck::Suspected { strongest }, None) => format!(
            "carry-over suspected: {what} {} differ by {}",
            describe_following(shown, strongest),
            describe_size(strongest)
        ),
        (CarryOverCheck::NotFound { visible, .. }, None) => {
            format!("no carry-over ({} would have shown)", format_size(*visible))
        }
        // No run that counts follows one of another placement.
        (CarryOverCheck::NotChecked, None) if shown.experiment.stretch.is_some() => return None,
        (CarryOverCheck::NotChecked, None) => format!("carry-over not checked: too few {what}"),
    })
}

fn describe_following(shown: ShownExperiment<'_>, found: &CarryOverEffect) -> String {
    let name = |arm: usize| shown.name_in_sentence(arm);
    let of = found.of_arm.map_or_else(String::new, |arm| format!("of {} ", name(arm)));
    format!("{of}right after {}", found.after_arm.map_or_else(|| format!("another {}", shown.candidate_word()), name))
}

fn describe_size(found: &CarryOverEffect) -> String {
    format!("{} ({} SE)", format_size(found.slower), format_decimal(found.standard_errors.abs(), 1))
}
