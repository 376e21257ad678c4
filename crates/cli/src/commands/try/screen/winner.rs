//! The head of a winner's sentence, and the sums over its pairs of runs.

use corewise_statistics::experiment::{ArmStanding, PairedRuns, QuestionKind};

use super::ShownExperiment;
use super::open_points;
use super::questions::format_cap;
use super::standings::{format_to_digits, needed_digits};
use crate::draw::gain::{EffectScale, format_least};
use crate::draw::number::{format_count, format_decimal};
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::glue_numbers;

/// Fewest significant digits of a total.
const DIGITS: i32 = 3;
/// Difference of two totals, of logarithms, from which they must not look equal.
const SHOWN_DIFFERENCE: f64 = 0.001;
/// Share of slow runs up to which nothing is said of unseen ones.
const FEW_SLOW: f64 = 0.1;
/// Share of the effect by which the total has to differ from it to be named beside it.
const DIFFERING_SHARE: f64 = 1.0 / 3.0;

/// Returns the head: unconditional only if the proven bound is material, and nothing else speaks against it.
pub(super) fn draw_heading(shown: ShownExperiment<'_>, standing: &ArmStanding) -> (TextTone, String) {
    let (policy, take) = (&shown.experiment.policy, shown.taking_words(standing.arm));
    let low = standing.effect.and_then(|effect| effect.low);
    match () {
        () if standing.conflicting_answers(policy).next().is_some() => {
            (TextTone::Warn, "It depends on what counts.".to_owned())
        }
        () if standing.paired.and_then(|paired| paired.total_gain()).is_some_and(|total| total < 0.0) => {
            (TextTone::Warn, format!("{take} if {}.", describe_limit(shown)))
        }
        () if !shown.standing.open_points.is_empty() => {
            (TextTone::Warn, open_points::head_sentence(&shown.standing.open_points))
        }
        () if policy.is_material(low) => (TextTone::Good, format!("{take}.")),
        () => (TextTone::Good, format!("{take} if {}.", describe_condition(policy.what, low))),
    }
}

/// Describes what the deciding question leaves out.
fn describe_limit(shown: ShownExperiment<'_>) -> String {
    match shown.experiment.policy.what {
        QuestionKind::Typical => "only typical runs count".to_owned(),
        QuestionKind::Mean => format!("no run counts as more than {}", format_cap(shown)),
        QuestionKind::Tail => "only slow runs count".to_owned(),
    }
}

/// Describes what has to matter for a gain that is proven to be at least `low`, such as "0.4 % matters".
pub(super) fn describe_condition(what: QuestionKind, low: Option<f64>) -> String {
    match (format_least(what, low), what) {
        (None, _) => "any gain matters".to_owned(),
        (Some(least), QuestionKind::Tail) => format!("{least} of 100 runs matter"),
        (Some(least), _) => format!("{least} matters"),
    }
}

/// Returns the gain of all runs together if it differs from the estimate by a third of that; `None` if slow runs decide.
fn differing_total(shown: ShownExperiment<'_>, standing: &ArmStanding) -> Option<f64> {
    let estimate = standing.effect.filter(|_| shown.experiment.policy.what != QuestionKind::Tail)?.estimate;
    let total = standing.paired?.total_gain()?;
    ((total - estimate).abs() >= DIFFERING_SHARE * estimate.abs()).then_some(total)
}

/// Describes the gain of all runs together, such as ", all runs together -4.1 %"; empty if it is close to the estimate.
pub(super) fn describe_total(shown: ShownExperiment<'_>, standing: &ArmStanding) -> String {
    let estimate = standing.effect.map_or(0.0, |effect| effect.estimate);
    let scale = EffectScale::from_estimate(shown.experiment.policy.what, estimate);
    let total = differing_total(shown, standing);
    total.map_or_else(String::new, |total| format!(", all runs together {}", scale.format_gain(total)))
}

/// Describes the pairs of runs, such as "In 14 blocks: 61.2 s against 65.9 s as the OS chose; faster in 12 of 14 pairs.".
pub(super) fn draw_pairs(shown: ShownExperiment<'_>, paired: &PairedRuns, baseline: &str) -> StyledLine {
    let word = if shown.is_time() { "faster" } else { "better" };
    let equal = if paired.equal > 0 { format!(", equal in {}", paired.equal) } else { String::new() };
    let text = format!(
        "{} {word} in {} of {} pairs{equal}.{}",
        describe_sums(shown, paired, baseline),
        paired.better,
        paired.pairs,
        describe_unseen(shown, paired),
    );
    StyledLine::new().plain(glue_numbers(&text))
}

/// Describes the share of slow runs that too few runs do not exclude; empty for enough, for means of several runs, and if
/// a slow run was seen.
fn describe_unseen(shown: ShownExperiment<'_>, paired: &PairedRuns) -> String {
    let policy = &shown.experiment.policy;
    let share = paired.unseen_slow_share(policy.error_rate).filter(|share| *share > FEW_SLOW);
    let is_open = policy.what != QuestionKind::Tail && shown.describe_repeats().is_none();
    share.filter(|_| is_open).map_or_else(String::new, |share| {
        let of_100 = format_decimal(100.0 * share, 0);
        format!(" None of {} was slow, so up to {of_100} of 100 may be.", paired.pairs)
    })
}

/// Describes the total time, or the mean of another metric and of runs in a row.
fn describe_sums(shown: ShownExperiment<'_>, paired: &PairedRuns, baseline: &str) -> String {
    let Some(means) = paired.means else { return "Pairs:".to_owned() };
    let is_total = shown.is_time() && shown.describe_repeats().is_none();
    let factor = if is_total { f64::from(paired.finished).ln() } else { 0.0 };
    let values = means.map(|x| x + factor);
    let digits = needed_digits(shown, &values, DIGITS, SHOWN_DIFFERENCE);
    let [candidate, other] = values.map(|x| format_to_digits(shown, x, digits));
    let blocks = format_count(paired.finished as usize, "block");
    let among = if paired.finished < paired.pairs { " with both" } else { "" };
    let head = if is_total { format!("In {blocks}{among}:") } else { format!("Mean of {blocks}{among}:") };
    format!("{head} {candidate} against {other} {baseline};")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::r#try::screen::tests::made_by;
    use corewise_statistics::experiment::{BaselineEffect, JudgingPolicy};
    use corewise_statistics::simulate::ProgramEffects;
    use corewise_statistics::simulate::noise::RunNoise;

    /// The head of a winner with this proven bound, this estimate, and this gain of all runs together.
    fn heading(what: QuestionKind, low: Option<f64>, estimate: f64, total: f64) -> String {
        let policy = JudgingPolicy { what, margin: what.usual_margin(), ..JudgingPolicy::default() };
        let mut made = made_by(policy, &ProgramEffects::from_gains(&[0.2]), &RunNoise::Quiet, 42, 8);
        made.standing.open_points.clear();
        let standing = &mut made.standing.arms[1];
        standing.answers.clear();
        standing.effect = Some(BaselineEffect { estimate, low, high: None });
        standing.paired = Some(PairedRuns { means: Some([-total, 0.0]), ..PairedRuns::default() });
        draw_heading(made.shown(), &made.standing.arms[1]).1
    }

    #[test]
    fn the_head_depends_on_the_proven_bound_and_not_on_the_estimate() {
        let typical = |low: Option<f64>| heading(QuestionKind::Typical, low, 0.3, 0.3);
        let half = 1.03_f64.ln() / 2.0;
        assert_eq!([typical(Some(half)), typical(Some(0.1))], ["Pin it.", "Pin it."]);
        assert_eq!(typical(Some(0.004)), "Pin it if 0.4 % matters.");
        assert_eq!([typical(None), typical(Some(0.0)), typical(Some(0.0003))], ["Pin it if any gain matters."; 3]);
        assert_eq!(heading(QuestionKind::Tail, Some(0.006), 0.1, 0.1), "Pin it if 0.6 of 100 runs matter.");
        assert_eq!(heading(QuestionKind::Mean, Some(0.03), 0.1, 0.1), "Pin it if 3.0 % matters.");
    }

    #[test]
    fn a_total_that_is_worse_is_said_in_the_head() {
        let of = |what: QuestionKind, total: f64| heading(what, Some(0.05), 0.06, total);
        assert_eq!([0.05, 0.02, 0.0].map(|total| of(QuestionKind::Typical, total)), ["Pin it."; 3]);
        assert_eq!(of(QuestionKind::Typical, -0.01), "Pin it if only typical runs count.");
        assert_eq!(of(QuestionKind::Tail, -0.01), "Pin it if only slow runs count.");
        assert_eq!(of(QuestionKind::Mean, -0.01), "Pin it if no run counts as more than 3x.");
    }
}
