//! The effect of pinning at each number of threads, in sentences.

use corewise_model::experiment::{ArmVerdict, Doubt, PinnedStanding, Verdict};
use corewise_model::trial::ThreadsReport;

use super::{counted, threads};
use crate::commands::r#try::screen::Shown;
use crate::commands::r#try::screen::gain::{interval, percent, size};
use crate::draw::printable::named;

/// The result of pinning at one number of threads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    Better,
    Equal,
    NotBetter,
    Worse,
    Open,
    Failed,
    /// The OS default failed.
    Alone,
    Unsound,
}

fn came(pinned: &PinnedStanding) -> Came {
    if let Verdict::Unsound { why } = &pinned.standing.verdict {
        let failed = why.iter().any(|doubt| matches!(doubt, Doubt::BaselineFails { .. }));
        return if failed { Came::Alone } else { Came::Unsound };
    }
    match pinned.standing.arms.get(1).and_then(|arm| arm.verdict) {
        Some(ArmVerdict::Wins) => Came::Better,
        Some(ArmVerdict::NoMaterialDifference | ArmVerdict::RealButBelowMargin) => Came::Equal,
        Some(ArmVerdict::NotBetterByMargin) => Came::NotBetter,
        Some(ArmVerdict::Worse) => Came::Worse,
        Some(ArmVerdict::Failed) => Came::Failed,
        Some(ArmVerdict::Undecided) | None => Came::Open,
    }
}

/// Returns true if pinning is proven better there.
pub fn is_better(pinned: &PinnedStanding) -> bool {
    came(pinned) == Came::Better
}

/// Returns sentences on the effect of pinning, improvements first.
pub fn sentences(shown: Shown<'_>, report: &ThreadsReport) -> Vec<String> {
    let all = &report.standing.pinned;
    let at = |wanted: Came| -> Vec<u32> {
        all.iter().filter(|pinned| came(pinned) == wanted).map(|pinned| pinned.threads).collect()
    };
    let mut sentences = Vec::new();
    sentences.extend(pinned_better(shown, all));
    let (word, margin) = (if shown.is_time() { "faster" } else { "better" }, percent(shown.experiment.policy.margin));
    let mut say = |wanted: Came, text: &dyn Fn(String) -> String| {
        let counts = at(wanted);
        if !counts.is_empty() {
            sentences.push(text(counted(&counts)));
        }
    };
    if all.len() > 1 && at(Came::Equal).len() == all.len() {
        return vec!["Pinning makes no difference at any count.".to_owned()];
    }
    say(Came::Equal, &|counts| format!("Pinning makes no difference at {counts}."));
    say(Came::NotBetter, &|counts| format!("At {counts}, pinned is not {margin} {word}."));
    say(Came::Worse, &|counts| format!("At {counts}, pinned is worse."));
    say(Came::Open, &|counts| format!("Whether pinning helps is not decided at {counts}."));
    say(Came::Failed, &|counts| format!("With {counts} pinned it failed."));
    say(Came::Alone, &|counts| format!("With {counts} and the OS default it failed."));
    say(Came::Unsound, &|counts| {
        format!("At {counts} the runs contradict each other: it is unknown whether pinning helps.")
    });
    sentences
}

fn pinned_better(shown: Shown<'_>, all: &[PinnedStanding]) -> Option<String> {
    let better = all.iter().filter(|pinned| came(pinned) == Came::Better);
    let parts: Vec<String> = better
        .filter_map(|pinned| {
            let effect = pinned.standing.arms.get(1)?.effect?;
            Some(format!("{} by {} {}", threads(pinned.threads), size(effect.estimate), interval(&effect)))
        })
        .collect();
    let word = if shown.is_time() {
        "faster".to_owned()
    } else {
        format!("better in {}", named(&shown.experiment.workload.metric.name))
    };
    (!parts.is_empty()).then(|| format!("Pinned it is {word}: {}.", parts.join(", ")))
}
