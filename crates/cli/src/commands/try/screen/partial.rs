//! A difference that sits in a part of the runs.

use corewise_statistics::experiment::{PartialGain, QuestionKind, RunPart};

use super::ShownExperiment;
use crate::draw::gain::EffectScale;
use crate::draw::number::{format_decimal, format_digits};
use crate::draw::printable::printable_name;
use crate::draw::text::StyledLine;
use crate::draw::wrap::glue_numbers;

/// Smallest probability that is shown as a number.
const LEAST_PROBABILITY: f64 = 0.001;

/// Returns the line of the candidate of the verdict, or of an only candidate.
pub fn draw_line(shown: ShownExperiment<'_>) -> Option<StyledLine> {
    // The mean of several runs in a row has no part of them.
    if shown.threads.is_some() || shown.describe_repeats().is_some() {
        return None;
    }
    let arm = shown.standing.arms[1..].iter().find(|arm| shown.is_verdict_about(arm))?;
    let name = printable_name(&shown.experiment.arms[arm.arm].spoken_name());
    let text = format!("{name} was {}.", describe_partial(shown, &arm.partial?));
    Some(StyledLine::new().plain(glue_numbers(&text)))
}

/// Describes it, such as "faster by about 43 % in about 30 of 100 runs, equal in the others (fast: 3 of 10 runs, the OS
/// default's 0; p 0.25 at one look)".
fn describe_partial(shown: ShownExperiment<'_>, found: &PartialGain) -> String {
    let faster = |gain: f64| match (gain > 0.0, shown.is_time()) {
        (true, true) => "faster",
        (false, true) => "slower",
        (true, false) => "better",
        (false, false) => "worse",
    };
    let margin = shown.experiment.policy.margin_of(QuestionKind::Typical);
    let largest = found.others.unwrap_or_default().abs().max(found.gain.abs());
    let scale = EffectScale::from_estimate(QuestionKind::Typical, largest);
    let others = match found.others {
        Some(gain) if gain.abs() < margin => ", equal in the others".to_owned(),
        Some(gain) => format!(", {} by about {} in the others", faster(gain), scale.format_size(gain)),
        None => String::new(),
    };
    let part = if found.part == RunPart::Fast { "fast" } else { "slow" };
    let runs = if shown.experiment.workload.live.is_some() { "slots" } else { "runs" };
    format!(
        "{} by about {} in about {} of 100 {runs}{others} ({part}: {} of {} {runs}, {}'s {}; p {} at one look)",
        faster(found.gain),
        scale.format_size(found.gain),
        format_decimal(100.0 * found.differing_share(), 0),
        found.runs[0],
        found.of,
        shown.baseline_words(),
        found.runs[1],
        format_probability(found.p_value),
    )
}

/// Formats a probability as "0.25", or "< 0.001".
pub(super) fn format_probability(probability: f64) -> String {
    if probability < LEAST_PROBABILITY {
        return format!("< {LEAST_PROBABILITY}");
    }
    format_digits(probability, 2)
}
