//! The answers to the other questions: the mean and slow runs, if the typical run decided.

use corewise_statistics::experiment::{AnswerVerdict, ArmStanding, QuestionAnswer, QuestionKind};

use super::ShownExperiment;
use crate::draw::gain::{format_gain_in, format_interval_in, format_percent};
use crate::draw::number::format_decimal;
use crate::draw::printable::printable_name;
use crate::draw::text::StyledLine;
use crate::draw::wrap::glue_numbers;

/// Minimum number of blocks for an answer that is not proven to be shown.
const FEWEST_BLOCKS: u32 = 10;

/// Names the question after "better", such as "in its typical run": what is compared, and what limits it.
pub(super) fn place_of(shown: ShownExperiment<'_>, what: QuestionKind) -> String {
    match what {
        QuestionKind::Typical => match shown.describe_repeats() {
            None => "in its typical run".to_owned(),
            Some(repeats) => format!("in its typical mean of {repeats}"),
        },
        QuestionKind::Mean => {
            format!("in the mean (each run capped at {} {}'s median)", format_cap(shown), shown.baseline_words())
        }
        QuestionKind::Tail => "in its slow runs".to_owned(),
    }
}

/// Formats the cap of a mean as "3x".
pub(super) fn format_cap(shown: ShownExperiment<'_>) -> String {
    let cap = format_decimal(shown.experiment.policy.cap, 1);
    format!("{}x", cap.strip_suffix(".0").unwrap_or(&cap))
}

/// Defines a slow run, such as "more than 1.5x the OS default's median".
pub(super) fn describe_slow_run(shown: ShownExperiment<'_>) -> String {
    format!("more than {}x {}'s median", format_decimal(shown.experiment.policy.slow, 1), shown.baseline_words())
}

/// Describes answers to other questions that contradict a winner; empty without any.
pub(super) fn describe_doubts(shown: ShownExperiment<'_>, winner: &ArmStanding) -> String {
    let conflicts = winner.conflicting_answers(&shown.experiment.policy);
    conflicts.map(|answer| format!(" But {}.", describe_answer(shown, answer))).collect()
}

/// Returns a line for each arm with a relevant answer to another question. Such arms are the arm of the verdict, a
/// single candidate, and arms that are proven better.
pub fn draw_lines(shown: ShownExperiment<'_>) -> Vec<StyledLine> {
    let candidates = &shown.standing.arms[1..];
    let is_about = |arm: &ArmStanding| shown.is_verdict_about(arm);
    // The mean of several runs in a row hides the slow ones.
    let are_runs = shown.describe_repeats().is_none();
    let policy = &shown.experiment.policy;
    let reaches = |answer: &QuestionAnswer| {
        answer.effect.is_some_and(|effect| effect.estimate.abs() >= policy.margin_of(answer.what))
    };
    let is_known = |answer: &QuestionAnswer| {
        answer.verdict != AnswerVerdict::Open || answer.blocks >= FEWEST_BLOCKS && reaches(answer)
    };
    let is_worth = |arm: &ArmStanding, answer: &QuestionAnswer| {
        answer.what != policy.what
            && (is_about(arm) && is_known(answer) || answer.verdict == AnswerVerdict::Better)
            && (are_runs || answer.what != QuestionKind::Tail)
    };
    let line = |arm: &ArmStanding| {
        let others = arm.answers.iter().filter(|answer| answer.effect.is_some() && is_worth(arm, answer));
        let others: Vec<String> = others.map(|answer| describe_answer(shown, answer)).collect();
        let name = printable_name(&shown.experiment.arms[arm.arm].spoken_name());
        (!others.is_empty())
            .then(|| StyledLine::new().plain(glue_numbers(&format!("Besides, {name}: {}", others.join(" · ")))))
    };
    candidates.iter().filter_map(line).collect()
}

/// Formats an answer as "in the mean of … it is better (proven), about +4.8 % [1.2, 9.0]".
fn describe_answer(shown: ShownExperiment<'_>, answer: &QuestionAnswer) -> String {
    let Some(effect) = &answer.effect else { return String::new() };
    let proven = if answer.verdict == AnswerVerdict::Open { "not proven" } else { "proven" };
    match (answer.what, answer.costs) {
        (QuestionKind::Tail, Some([candidate, baseline])) => format!(
            "{} of its runs were slow ({}), {} of {}'s ({}: {proven})",
            format_percent(candidate),
            describe_slow_run(shown),
            format_percent(baseline),
            shown.baseline_words(),
            if effect.estimate < 0.0 { "more" } else { "fewer" },
        ),
        _ => {
            let word = if effect.estimate < 0.0 { "worse" } else { "better" };
            let (gain, interval) =
                (format_gain_in(answer.what, effect.estimate), format_interval_in(answer.what, effect));
            format!("{} it is {word} ({proven}), about {gain} {interval}", place_of(shown, answer.what))
        }
    }
}
