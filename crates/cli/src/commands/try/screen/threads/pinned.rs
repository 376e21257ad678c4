//! The effect of pinning at each number of threads, in sentences.

use corewise_model::trial::ThreadsReport;
use corewise_statistics::experiment::{
    ArmVerdict, BaselineEffect, ExperimentDoubt, PinnedStanding, QuestionKind, Verdict,
};

use super::{format_counts, format_threads};
use crate::commands::r#try::screen::ShownExperiment;
use crate::commands::r#try::screen::answer::better_word;
use crate::commands::r#try::screen::open_points;
use crate::draw::gain::{format_bounds, format_percent};

/// The result of pinning at one number of threads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PinnedOutcome {
    Better,
    Equal,
    /// Better, while it is open if by the margin.
    SizeOpen,
    NotBetter,
    Worse,
    Open,
    Failed,
    /// The OS default failed.
    Alone,
    Unsound,
}

fn judge_pinning(pinned: &PinnedStanding) -> PinnedOutcome {
    if let Verdict::Unsound { why } = &pinned.standing.verdict {
        let failed = why.iter().any(|doubt| matches!(doubt, ExperimentDoubt::BaselineFails { .. }));
        return if failed { PinnedOutcome::Alone } else { PinnedOutcome::Unsound };
    }
    match pinned.standing.arms.get(1).and_then(|arm| arm.verdict) {
        Some(ArmVerdict::Wins) => PinnedOutcome::Better,
        Some(ArmVerdict::NoMaterialDifference | ArmVerdict::RealButBelowMargin) => PinnedOutcome::Equal,
        Some(ArmVerdict::Better) => PinnedOutcome::SizeOpen,
        Some(ArmVerdict::NotBetterByMargin) => PinnedOutcome::NotBetter,
        Some(ArmVerdict::Worse) => PinnedOutcome::Worse,
        Some(ArmVerdict::Failed) => PinnedOutcome::Failed,
        Some(ArmVerdict::Undecided | ArmVerdict::FailsMore) | None => PinnedOutcome::Open,
    }
}

/// Returns true if pinning is proven better there.
pub fn is_better(pinned: &PinnedStanding) -> bool {
    judge_pinning(pinned) == PinnedOutcome::Better
}

/// Returns sentences on the effect of pinning, improvements first.
pub fn describe_pinning(shown: ShownExperiment<'_>, report: &ThreadsReport) -> Vec<String> {
    let all = &report.standing.pinned;
    let at = |wanted: PinnedOutcome| -> Vec<u32> {
        all.iter().filter(|pinned| judge_pinning(pinned) == wanted).map(|pinned| pinned.threads).collect()
    };
    let mut sentences = Vec::new();
    sentences.extend(pinned_better(shown, all));
    let (word, margin) =
        (if shown.is_time() { "faster" } else { "better" }, format_percent(shown.experiment.policy.margin));
    let mut say = |wanted: PinnedOutcome, text: &dyn Fn(String) -> String| {
        let counts = at(wanted);
        if !counts.is_empty() {
            sentences.push(text(format_counts(&counts)));
        }
    };
    if all.len() > 1 && at(PinnedOutcome::Equal).len() == all.len() {
        return vec![format!("Pinning changes less than {margin} at any count.")];
    }
    say(PinnedOutcome::Equal, &|counts| format!("Pinning changes less than {margin} at {counts}."));
    say(PinnedOutcome::SizeOpen, &|counts| {
        format!("At {counts}, pinned is proven {word}; whether by {margin} is open.")
    });
    say(PinnedOutcome::NotBetter, &|counts| format!("At {counts}, pinned is not {margin} {word}."));
    say(PinnedOutcome::Worse, &|counts| format!("At {counts}, pinned is worse."));
    say(PinnedOutcome::Open, &|counts| format!("Whether pinning helps is not decided at {counts}."));
    say(PinnedOutcome::Failed, &|counts| format!("With {counts} pinned it failed."));
    say(PinnedOutcome::Alone, &|counts| format!("With {counts} and the OS default it failed."));
    say(PinnedOutcome::Unsound, &|counts| {
        format!("At {counts} the runs contradict each other: it is unknown whether pinning helps.")
    });
    sentences
}

fn pinned_better(shown: ShownExperiment<'_>, all: &[PinnedStanding]) -> Option<String> {
    let better = all.iter().filter(|pinned| judge_pinning(pinned) == PinnedOutcome::Better);
    let parts: Vec<String> = better
        .filter_map(|pinned| {
            let effect = pinned.standing.arms.get(1)?.effect?;
            let bounds = format_bounds(QuestionKind::Typical, &BaselineEffect { high: None, ..effect });
            Some(format!("{} by {bounds}", format_threads(pinned.threads)))
        })
        .collect();
    let points = all.iter().find(|pinned| judge_pinning(pinned) == PinnedOutcome::Better);
    let points = points.map_or(&[][..], |pinned| &pinned.standing.open_points);
    let (start, open) = match points {
        [] => ("Pinned".to_owned(), String::new()),
        points => (format!("{} pinned", open_points::head_sentence(points)), open_points::describe_points(points)),
    };
    (!parts.is_empty()).then(|| format!("{start} it is {}: {}.{open}", better_word(shown), parts.join(", ")))
}
