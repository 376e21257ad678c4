//! The answers in words: the number of threads, pinned or not, and the commands that apply them.

use corewise_model::experiment::{ArmState, ArmVerdict, Cell, Doubt, Effect, Standing, Verdict, What};
use corewise_model::trial::ThreadsReport;

use super::pinned::{is_better, sentences};
use super::{counted, threads};
use crate::commands::r#try::screen::Shown;
use crate::commands::r#try::screen::answer::{better, doubt_in_words, resume};
use crate::commands::r#try::screen::gain::{gain, interval_words, percent};
use crate::draw::number::count;
use crate::draw::suggestion::{self, in_shell, words_in_shell};
use crate::draw::text::{Line, Tone};
use crate::draw::wrap::glued;

/// Returns the answers, the number of threads first.
pub fn in_words(shown: Shown<'_>, report: &ThreadsReport) -> Line {
    let doubts = &report.standing.checks.doubts;
    if !doubts.is_empty() {
        return nothing(shown, report, doubts);
    }
    let pinned = sentences(shown, report);
    match &report.standing.counts {
        Some(counts) => {
            let line = of_counts(shown, report, &counts.standing);
            if pinned.is_empty() { line } else { line.plain(glued(&format!(" {}", pinned.join(" ")))) }
        }
        None => {
            let is_open = report.standing.is_open();
            let mut sentences = pinned.into_iter();
            let first = sentences.next().unwrap_or_default();
            let tone = if is_open { Tone::Warn } else { Tone::Good };
            let rest: Vec<String> = sentences.map(|sentence| format!(" {sentence}")).collect();
            Line::new().with(tone, glued(&first)).plain(glued(&rest.concat()))
        }
    }
}

fn of_counts(shown: Shown<'_>, report: &ThreadsReport, standing: &Standing) -> Line {
    let leave = |why: String| {
        let start = format!("Leave it at {}", threads(report.standing.reference));
        Line::new().with(Tone::Good, glued(&start)).plain(glued(&format!("{}{why}", share(report))))
    };
    let effect = |arm: usize| standing.arms.get(arm).and_then(|arm| arm.effect);
    match &standing.verdict {
        Verdict::Wins { arm } => wins(shown, report, *arm, effect(*arm)),
        Verdict::RealButBelowMargin { arm } => {
            let (other, effect) = (threads(of_arm(shown, *arm)), effect(*arm));
            let margin = percent(shown.experiment.policy.margin);
            leave(format!(
                ": {other} are {}, which is proven but less than the margin of {margin}.",
                better(shown, effect.as_ref())
            ))
        }
        Verdict::NoMaterialDifference => leave(no_difference(shown, standing)),
        Verdict::Undecided { more_runs } => undecided(shown, report, standing, *more_runs),
        Verdict::Unsound { why } => nothing(shown, report, why),
    }
}

/// Returns the number of threads of an arm.
pub fn of_arm(shown: Shown<'_>, arm: usize) -> u32 {
    shown.experiment.arms.get(arm).and_then(|arm| arm.threads).unwrap_or_default()
}

/// Chooses the verb, as in "1 thread is" and "2 threads are".
fn verb(numbers: &[u32], one: &'static str, several: &'static str) -> &'static str {
    if numbers == [1] { one } else { several }
}

/// Returns " (one per cpu)" if that is the reference.
fn share(report: &ThreadsReport) -> &'static str {
    if report.standing.reference == report.standing.cpus { " (one per cpu)" } else { "" }
}

/// Returns true if every cell is pinned.
pub fn is_pinned(report: &ThreadsReport) -> bool {
    report.standing.cells.iter().all(|cell| cell.cell.pinned)
}

fn wins(shown: Shown<'_>, report: &ThreadsReport, arm: usize, effect: Option<Effect>) -> Line {
    let place = if is_pinned(report) { "pinned" } else { "OS default" };
    let start = format!("{}, {place}:", threads(of_arm(shown, arm)));
    let sentence = format!(
        " {} than {}{}, proven after {} (error rate {}).",
        better(shown, effect.as_ref()),
        report.standing.reference,
        share(report),
        shown.runs_and_boots_of(report.standing.runs),
        percent(shown.experiment.policy.error_rate),
    );
    Line::new().with(Tone::Good, glued(&start)).plain(glued(&sentence))
}

fn no_difference(shown: Shown<'_>, standing: &Standing) -> String {
    let (margin, word) = (percent(shown.experiment.policy.margin), if shown.is_time() { "faster" } else { "better" });
    let of = |is: &dyn Fn(ArmVerdict) -> bool| -> Vec<u32> {
        let arms = standing.arms[1..].iter().filter(|arm| arm.verdict.is_some_and(is));
        arms.map(|arm| of_arm(shown, arm.arm)).collect()
    };
    let given_up = of(&|verdict| verdict == ArmVerdict::Undecided);
    let failed = of(&|verdict| verdict == ArmVerdict::Failed);
    let proven = of(&|verdict| !matches!(verdict, ArmVerdict::Undecided | ArmVerdict::Failed));
    let mut text = match (proven.len(), standing.arms.len() - 1) {
        (some, all) if some == all => format!(": no other number is {margin} {word}"),
        _ => format!(": {} {} proven not to be {margin} {word}", counted(&proven), verb(&proven, "is", "are")),
    };
    if !given_up.is_empty() {
        let were = verb(&given_up, "was", "were");
        text.push_str(&format!("; {} fell behind and {were} dropped without proof", counted(&given_up)));
    }
    if !failed.is_empty() {
        text.push_str(&format!("; with {} it failed", counted(&failed)));
    }
    text + "."
}

fn undecided(shown: Shown<'_>, report: &ThreadsReport, standing: &Standing, more_runs: Option<u32>) -> Line {
    let reference = format!("{}{}", threads(report.standing.reference), share(report));
    if standing.arms[1..].iter().all(|arm| arm.verdict == Some(ArmVerdict::Failed)) {
        let sentence = format!("Leave it at {reference}: the command failed with every other number.");
        return Line::new().with(Tone::Warn, glued(&sentence));
    }
    let alive = standing.arms[1..].iter().filter(|arm| arm.state == ArmState::Alive);
    let best =
        alive.filter_map(|arm| Some((arm.arm, arm.effect?))).max_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate));
    let best = best.filter(|(_, effect)| effect.estimate > 0.0).map_or(String::new(), |(arm, effect)| {
        let found = format!("{} {}", gain(effect.estimate), interval_words(What::Typical, &effect));
        format!(" Best so far: {}, {found}.", threads(of_arm(shown, arm)))
    });
    let more =
        more_runs.map_or(String::new(), |more| format!(" About {} would decide it.", count(more as usize, "more run")));
    let runs = count(report.standing.runs as usize, "run");
    let sentence = format!(" after {runs}; until it is, leave it at {reference}.{best}{more}");
    Line::new().with(Tone::Warn, "Not decided").plain(glued(&sentence))
}

fn nothing(shown: Shown<'_>, report: &ThreadsReport, why: &[Doubt]) -> Line {
    let reference = threads(report.standing.reference);
    let in_words = |doubt: &Doubt| match doubt {
        Doubt::BaselineFails { failures } => {
            let times = count(*failures as usize, "time");
            format!("With {reference} it failed {times}, so there is nothing to compare with.")
        }
        other => doubt_in_words(shown, other),
    };
    let doubts: Vec<String> = why.iter().map(in_words).collect();
    let sentence = format!(" {} Leave it at {reference}{}.", doubts.join(" "), share(report));
    Line::new().with(Tone::Warn, "Nothing can be recommended.").plain(glued(&sentence))
}

/// Returns the recommended cell: the best number of threads, pinned if that is proven better at this number.
pub fn chosen(shown: Shown<'_>, report: &ThreadsReport) -> Option<Cell> {
    let standing = &report.standing;
    let count = match standing.counts.as_ref().map(|counts| &counts.standing.verdict) {
        Some(Verdict::Wins { arm }) => of_arm(shown, *arm),
        Some(Verdict::RealButBelowMargin { .. } | Verdict::NoMaterialDifference) => standing.reference,
        Some(_) => return None,
        None if standing.is_open() => return None,
        None => standing.reference,
    };
    let is_better = standing.pinned.iter().any(|pinned| pinned.threads == count && is_better(pinned));
    Some(Cell { threads: count, pinned: is_better || is_pinned(report) })
}

/// Returns the commands that apply the answer, and that continue the experiment if a question is undecided.
pub fn apply(shown: Shown<'_>, report: &ThreadsReport) -> Vec<Line> {
    let is_open = |standing: &Standing| matches!(standing.verdict, Verdict::Undecided { .. });
    let counts = report.standing.counts.iter().map(|counts| &counts.standing);
    let pinned = report.standing.pinned.iter().filter(|pinned| !pinned.has_failed()).map(|pinned| &pinned.standing);
    let open = counts.chain(pinned).any(is_open);
    let chosen = chosen(shown, report).filter(|_| report.standing.checks.doubts.is_empty());
    let chosen = chosen.and_then(|cell| command(shown, cell));
    let line = |text: String| Line::new().plain("    ").strong(text);
    let mut lines: Vec<Line> = chosen.map(line).into_iter().collect();
    lines.extend(resume(shown).filter(|_| open));
    lines
}

/// Returns the command of a cell, such as "OMP_NUM_THREADS=8 corewise run --on 0-7 -- ./app".
fn command(shown: Shown<'_>, cell: Cell) -> Option<String> {
    let workload = &shown.experiment.workload;
    let is = |arm: &&corewise_model::trial::Arm| arm.threads == Some(cell.threads) && arm.cpus.is_some() == cell.pinned;
    let arm = shown.experiment.arms.iter().find(is)?;
    // Under the OS default it was tried without the variables that name cpus.
    let told = workload.environment_of(arm);
    let told: String =
        told.iter().filter_map(|(name, value)| Some(format!("{name}={} ", in_shell(value.as_ref()?)))).collect();
    let run =
        arm.cpus.as_ref().map_or_else(String::new, |cpus| suggestion::run_line(&cpus.to_string(), None, None, ""));
    // Not cut off: the recommended number is somewhere in it.
    Some(format!("{told}{run}{}", words_in_shell(workload.command_of(arm))))
}
