//! The answers to the other questions: the mean and slow runs, if the typical run decided.

use corewise_model::experiment::{Answer, AnswerVerdict, ArmStanding, What};

use super::Shown;
use super::gain::{interval_in, percent, size_in};
use crate::draw::number::decimal;
use crate::draw::printable::named;
use crate::draw::text::Line;
use crate::draw::wrap::glued;

/// Minimum number of blocks for an answer that is not proven to be shown.
const FEWEST_BLOCKS: u32 = 10;

/// Names the question after "better", such as "in its typical run".
pub(super) fn place_of(what: What) -> &'static str {
    match what {
        What::Typical => "in its typical run",
        What::Mean => "in the mean",
        What::Tail => "in its slow runs",
    }
}

/// Defines a slow run, such as "more than 1.5x the OS default's median".
pub(super) fn slow(shown: Shown<'_>) -> String {
    format!("more than {}x the OS default's median", decimal(shown.experiment.policy.slow, 1))
}

/// Describes answers to other questions that contradict a winner; empty without any.
pub(super) fn against(shown: Shown<'_>, winner: &ArmStanding) -> String {
    let conflicts = winner.conflicts(&shown.experiment.policy);
    conflicts.map(|answer| format!(" But {}.", in_words(shown, answer))).collect()
}

/// Returns a line for each arm with a relevant answer to another question. Such arms are the arm of the verdict, a
/// single candidate, and arms that are proven better.
pub fn lines(shown: Shown<'_>) -> Vec<Line> {
    let candidates = &shown.standing.arms[1..];
    let about = shown.winner().map(|(_, standing)| standing.arm);
    let is_about = |arm: &ArmStanding| candidates.len() == 1 || about == Some(arm.arm);
    // The mean of several runs in a row hides the slow ones.
    let are_runs = shown.trials.iter().all(|trial| trial.repeats <= 1);
    let policy = &shown.experiment.policy;
    let reaches =
        |answer: &Answer| answer.effect.is_some_and(|effect| effect.estimate.abs() >= policy.margin_of(answer.what));
    let is_known =
        |answer: &Answer| answer.verdict != AnswerVerdict::Open || answer.blocks >= FEWEST_BLOCKS && reaches(answer);
    let is_worth = |arm: &ArmStanding, answer: &Answer| {
        answer.what != policy.what
            && (is_about(arm) && is_known(answer) || answer.verdict == AnswerVerdict::Better)
            && (are_runs || answer.what != What::Tail)
    };
    let line = |arm: &ArmStanding| {
        let others = arm.answers.iter().filter(|answer| answer.effect.is_some() && is_worth(arm, answer));
        let others: Vec<String> = others.map(|answer| in_words(shown, answer)).collect();
        let name = named(&shown.experiment.arms[arm.arm].spoken());
        (!others.is_empty()).then(|| Line::new().plain(glued(&format!("Besides, {name}: {}", others.join(" · ")))))
    };
    candidates.iter().filter_map(line).collect()
}

/// Formats an answer as "in the mean it is 4.8 % better [1.2, 9.0] (proven)".
fn in_words(shown: Shown<'_>, answer: &Answer) -> String {
    let Some(effect) = &answer.effect else { return String::new() };
    let proven = if answer.verdict == AnswerVerdict::Open { "not proven" } else { "proven" };
    match (answer.what, answer.costs) {
        (What::Tail, Some([candidate, baseline])) => format!(
            "{} of its runs are slow ({}), {} of the OS default's ({proven})",
            percent(candidate),
            slow(shown),
            percent(baseline),
        ),
        _ => {
            let word = if effect.estimate < 0.0 { "worse" } else { "better" };
            let (size, interval) = (size_in(answer.what, effect.estimate), interval_in(answer.what, effect));
            format!("{} it is {size} {word} {interval} ({proven})", place_of(answer.what))
        }
    }
}
