//! A difference that sits in a part of the runs.

use corewise_model::experiment::{PartialGain, QuestionKind, RunPart};

use super::ShownExperiment;
use super::gain::format_size;
use crate::draw::number::format_decimal;
use crate::draw::printable::printable_name;
use crate::draw::text::StyledLine;
use crate::draw::wrap::glue_numbers;

/// Returns a line for the candidate of the verdict, for an only candidate, and for others if it is proven.
pub fn draw_lines(shown: ShownExperiment<'_>) -> Vec<StyledLine> {
    // The mean of several runs in a row has no part of them.
    if shown.threads.is_some() || shown.describe_repeats().is_some() {
        return Vec::new();
    }
    let arms = shown.standing.arms[1..].iter().filter_map(|arm| Some((arm, arm.partial?)));
    let lines = arms.filter(|(arm, found)| found.proven || shown.is_verdict_about(arm)).map(|(arm, found)| {
        let name = printable_name(&shown.experiment.arms[arm.arm].spoken_name());
        StyledLine::new().plain(glue_numbers(&format!("{name} is {}.", describe_partial(shown, &found))))
    });
    lines.collect()
}

/// Describes it, such as "faster by about 43 % in about 30 of 100 runs, equal in the others (fast: 3 of 10 runs, the OS
/// default's 0; seen, not proven)".
fn describe_partial(shown: ShownExperiment<'_>, found: &PartialGain) -> String {
    let faster = |gain: f64| match (gain > 0.0, shown.is_time()) {
        (true, true) => "faster",
        (false, true) => "slower",
        (true, false) => "better",
        (false, false) => "worse",
    };
    let margin = shown.experiment.policy.margin_of(QuestionKind::Typical);
    let others = match found.others {
        Some(gain) if gain.abs() < margin => ", equal in the others".to_owned(),
        Some(gain) => format!(", {} by about {} in the others", faster(gain), format_size(gain)),
        None => String::new(),
    };
    let part = if found.part == RunPart::Fast { "fast" } else { "slow" };
    let runs = if shown.experiment.workload.live.is_some() { "slots" } else { "runs" };
    format!(
        "{} by about {} in about {} of 100 {runs}{others} ({part}: {} of {} {runs}, the OS default's {}; {})",
        faster(found.gain),
        format_size(found.gain),
        format_decimal(100.0 * found.differing_share(), 0),
        found.runs[0],
        found.of,
        found.runs[1],
        if found.proven { "that there are more is proven" } else { "seen, not proven" },
    )
}
