//! The answers in words: the number of threads, pinned or not, and the commands that apply them.

use corewise_model::trial::ThreadsReport;
use corewise_statistics::experiment::{
    ArmState, ArmVerdict, BaselineEffect, ExperimentDoubt, ExperimentStanding, QuestionKind, ThreadsCell, Verdict,
};

use super::pinned::{describe_pinning, is_better};
use super::{format_counts, format_threads};
use crate::commands::r#try::screen::ShownExperiment;
use crate::commands::r#try::screen::answer::{
    better_word, describe_doubt, describe_failures, draw_resume, format_better,
};
use crate::commands::r#try::screen::{open_points, parts, winner};
use crate::draw::gain::{EffectScale, format_gain, format_percent, interval_words};
use crate::draw::number::format_count;
use crate::draw::suggestion::{self, quote_word, quote_words};
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::glue_numbers;

/// Returns the answers, the number of threads first.
pub fn draw_answer(shown: ShownExperiment<'_>, report: &ThreadsReport) -> StyledLine {
    let doubts = &report.standing.checks.doubts;
    if !doubts.is_empty() {
        return draw_unsound(shown, report, doubts);
    }
    let pinned = describe_pinning(shown, report);
    match &report.standing.counts {
        Some(counts) => {
            let line = draw_counts(shown, report, &counts.standing);
            if pinned.is_empty() { line } else { line.plain(glue_numbers(&format!(" {}", pinned.join(" ")))) }
        }
        None => {
            let is_open = report.standing.is_open();
            let mut sentences = pinned.into_iter();
            let first = sentences.next().unwrap_or_default();
            let tone = if is_open { TextTone::Warn } else { TextTone::Good };
            let rest: Vec<String> = sentences.map(|sentence| format!(" {sentence}")).collect();
            StyledLine::new().with(tone, glue_numbers(&first)).plain(glue_numbers(&rest.concat()))
        }
    }
}

fn draw_counts(shown: ShownExperiment<'_>, report: &ThreadsReport, standing: &ExperimentStanding) -> StyledLine {
    let leave = |why: String| {
        let start = format!("Leave it at {}", format_threads(report.standing.reference));
        StyledLine::new()
            .with(TextTone::Good, glue_numbers(&start))
            .plain(glue_numbers(&format!("{}{why}", describe_share(report))))
    };
    let effect = |arm: usize| standing.arms.get(arm).and_then(|arm| arm.effect);
    match &standing.verdict {
        Verdict::Wins { arm } => draw_winner(shown, report, *arm, effect(*arm)),
        Verdict::RealButBelowMargin { arm } => {
            let (other, effect) = (format_threads(threads_of_arm(shown, *arm)), effect(*arm));
            let margin = format_percent(shown.experiment.policy.margin);
            leave(format!(
                ": {other} are {}: proven, but less than the margin of {margin}.",
                format_better(shown, effect.as_ref())
            ))
        }
        Verdict::Better { arm, more_runs } => draw_better(shown, report, *more_runs, (*arm, effect(*arm))),
        Verdict::NoMaterialDifference => leave(describe_no_difference(shown, standing)),
        Verdict::Undecided { more_runs } => draw_undecided(shown, report, standing, *more_runs),
        Verdict::Unsound { why } => draw_unsound(shown, report, why),
    }
}

/// Returns the number of threads of an arm.
pub fn threads_of_arm(shown: ShownExperiment<'_>, arm: usize) -> u32 {
    shown.experiment.arms.get(arm).and_then(|arm| arm.threads).unwrap_or_default()
}

/// Chooses the verb, as in "1 thread is" and "2 threads are".
fn choose_verb(numbers: &[u32], one: &'static str, several: &'static str) -> &'static str {
    if numbers == [1] { one } else { several }
}

/// Returns " (one per cpu)" if that is the reference.
fn describe_share(report: &ThreadsReport) -> &'static str {
    if report.standing.reference == report.standing.cpus { " (one per cpu)" } else { "" }
}

/// Returns true if every cell is pinned.
pub fn is_pinned(report: &ThreadsReport) -> bool {
    report.standing.cells.iter().all(|cell| cell.cell.pinned)
}

fn draw_winner(
    shown: ShownExperiment<'_>,
    report: &ThreadsReport,
    arm: usize,
    effect: Option<BaselineEffect>,
) -> StyledLine {
    let place = if is_pinned(report) { "pinned" } else { "OS default" };
    let points = report.standing.counts.as_ref().map_or(&[][..], |counts| &counts.standing.open_points);
    let (so_far, tone) = match points {
        [] => (String::new(), TextTone::Good),
        points => (format!("{} ", open_points::head_sentence(points)), TextTone::Warn),
    };
    let start = format!("{so_far}{}, {place}:", format_threads(threads_of_arm(shown, arm)));
    let than = format!("{}{}", report.standing.reference, describe_share(report));
    let sentence = format!(
        " {}; proven after {} (error rate {}).",
        format_at_least(shown, effect, &than),
        shown.runs_and_boots_of(report.standing.runs),
        format_percent(shown.experiment.policy.error_rate),
    );
    let open = open_points::describe_points(points);
    StyledLine::new().with(tone, glue_numbers(&start)).plain(glue_numbers(&format!("{sentence}{open}")))
}

/// Describes an effect, such as "at least 1.9x faster than 8 (one per cpu), about 2.4x".
fn format_at_least(shown: ShownExperiment<'_>, effect: Option<BaselineEffect>, than: &str) -> String {
    let word = better_word(shown);
    let Some(effect) = effect else { return format!("{word} than {than}") };
    let scale = EffectScale::from_estimate(QuestionKind::Typical, effect.estimate);
    let about = scale.format_size(effect.estimate);
    match scale.format_least(effect.low) {
        Some(least) => format!("at least {least} {word} than {than}, about {about}"),
        None => format!("{word} than {than}, by how much is open (about {about})"),
    }
}

/// Returns the sums over the pairs of runs of the best number of threads.
pub fn draw_pairs(shown: ShownExperiment<'_>, report: &ThreadsReport) -> Option<StyledLine> {
    let counts = report.standing.counts.as_ref()?;
    let Verdict::Wins { arm } = counts.standing.verdict else { return None };
    let paired = counts.standing.arms.get(arm)?.paired?;
    Some(winner::draw_pairs(shown, &paired, &format!("with {}", format_threads(report.standing.reference))))
}

/// Describes a number of threads that is proven better, while it is open if the difference matters.
fn draw_better(
    shown: ShownExperiment<'_>,
    report: &ThreadsReport,
    more_runs: Option<u32>,
    (arm, effect): (usize, Option<BaselineEffect>),
) -> StyledLine {
    let start = format!("Better: {}", format_threads(threads_of_arm(shown, arm)));
    let more = more_runs
        .map_or(String::new(), |more| format!(" About {} would tell.", format_count(more as usize, "more run")));
    let sentence = format!(
        ", proven {} than {}{}. Whether it reaches {} is open after {}.{more}",
        format_better(shown, effect.as_ref()),
        report.standing.reference,
        describe_share(report),
        format_percent(shown.experiment.policy.margin),
        shown.runs_and_boots_of(report.standing.runs),
    );
    StyledLine::new().with(TextTone::Good, glue_numbers(&start)).plain(glue_numbers(&sentence))
}

fn describe_no_difference(shown: ShownExperiment<'_>, standing: &ExperimentStanding) -> String {
    let (margin, word) =
        (format_percent(shown.experiment.policy.margin), if shown.is_time() { "faster" } else { "better" });
    let of = |is: &dyn Fn(ArmVerdict) -> bool| -> Vec<u32> {
        let arms = standing.arms[1..].iter().filter(|arm| arm.verdict.is_some_and(is));
        arms.map(|arm| threads_of_arm(shown, arm.arm)).collect()
    };
    let given_up = of(&|verdict| verdict == ArmVerdict::Undecided);
    let failed = of(&|verdict| verdict == ArmVerdict::Failed);
    let proven = of(&|verdict| !matches!(verdict, ArmVerdict::Undecided | ArmVerdict::Failed));
    let mut text = match (proven.len(), standing.arms.len() - 1) {
        (some, all) if some == all => format!(": no other number is {margin} {word}"),
        _ => format!(
            ": {} {} proven not to be {margin} {word}",
            format_counts(&proven),
            choose_verb(&proven, "is", "are")
        ),
    };
    if !given_up.is_empty() {
        let were = choose_verb(&given_up, "was", "were");
        text.push_str(&format!("; {} fell behind and {were} dropped without proof", format_counts(&given_up)));
    }
    if !failed.is_empty() {
        text.push_str(&format!("; with {} it failed", format_counts(&failed)));
    }
    text + "."
}

fn draw_undecided(
    shown: ShownExperiment<'_>,
    report: &ThreadsReport,
    standing: &ExperimentStanding,
    more_runs: Option<u32>,
) -> StyledLine {
    let reference = format!("{}{}", format_threads(report.standing.reference), describe_share(report));
    if standing.arms[1..].iter().all(|arm| arm.verdict == Some(ArmVerdict::Failed)) {
        let sentence = format!("Leave it at {reference}: the command failed with every other number.");
        return StyledLine::new().with(TextTone::Warn, glue_numbers(&sentence));
    }
    let alive = standing.arms[1..].iter().filter(|arm| arm.state == ArmState::Alive);
    let best =
        alive.filter_map(|arm| Some((arm.arm, arm.effect?))).max_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate));
    let best = best.filter(|(_, effect)| effect.estimate > 0.0).map_or(String::new(), |(arm, effect)| {
        let found = format!("{} {}", format_gain(effect.estimate), interval_words(QuestionKind::Typical, &effect));
        let best = &standing.arms[arm];
        let fails_more = best.verdict == Some(ArmVerdict::FailsMore);
        let but = fails_more.then(|| format!(", but it {}", describe_failures(best, "the reference")));
        format!(" Best so far: {}, {found}{}.", format_threads(threads_of_arm(shown, arm)), but.unwrap_or_default())
    });
    let more = more_runs
        .map_or(String::new(), |more| format!(" About {} would decide it.", format_count(more as usize, "more run")));
    let runs = format_count(report.standing.runs as usize, "run");
    let sentence = format!(" after {runs}; until it is, leave it at {reference}.{best}{more}");
    StyledLine::new().with(TextTone::Warn, "Not decided").plain(glue_numbers(&sentence))
}

fn draw_unsound(shown: ShownExperiment<'_>, report: &ThreadsReport, why: &[ExperimentDoubt]) -> StyledLine {
    let reference = format_threads(report.standing.reference);
    let in_words = |doubt: &ExperimentDoubt| match doubt {
        ExperimentDoubt::BaselineFails { failures } => {
            let times = format_count(*failures as usize, "time");
            format!("With {reference} it failed {times}, so there is nothing to compare with.")
        }
        other => describe_doubt(shown, other),
    };
    let doubts: Vec<String> = why.iter().map(in_words).collect();
    // What fails itself is nothing to stay with.
    let has_failed = why.iter().any(|doubt| matches!(doubt, ExperimentDoubt::BaselineFails { .. }));
    let staying =
        if has_failed { String::new() } else { format!(" Leave it at {reference}{}.", describe_share(report)) };
    let sentence = format!(" {}{staying}", doubts.join(" "));
    StyledLine::new().with(TextTone::Warn, "Nothing can be recommended.").plain(glue_numbers(&sentence))
}

/// Returns the recommended cell: the best number of threads, pinned if that is proven better at this number.
pub fn choose_cell(shown: ShownExperiment<'_>, report: &ThreadsReport) -> Option<ThreadsCell> {
    let standing = &report.standing;
    let count = match standing.counts.as_ref().map(|counts| &counts.standing.verdict) {
        Some(Verdict::Wins { arm }) => threads_of_arm(shown, *arm),
        Some(Verdict::RealButBelowMargin { .. } | Verdict::NoMaterialDifference) => standing.reference,
        Some(_) => return None,
        None if standing.is_open() => return None,
        None => standing.reference,
    };
    let is_better = standing.pinned.iter().any(|pinned| pinned.threads == count && is_better(pinned));
    Some(ThreadsCell { threads: count, pinned: is_better || is_pinned(report) })
}

/// Returns the commands that apply the answer, and that continue the experiment if a question is undecided.
pub fn draw_commands(shown: ShownExperiment<'_>, report: &ThreadsReport) -> Vec<StyledLine> {
    let is_open = |standing: &ExperimentStanding| standing.verdict.is_open();
    let counts = report.standing.counts.iter().map(|counts| &counts.standing);
    let pinned = report.standing.pinned.iter().filter(|pinned| !pinned.has_failed()).map(|pinned| &pinned.standing);
    let open = counts.chain(pinned).any(is_open);
    let chosen = choose_cell(shown, report).filter(|_| report.standing.checks.doubts.is_empty());
    let mut lines = chosen.map_or_else(Vec::new, |cell| list_commands(shown, cell));
    lines.extend(draw_resume(shown).filter(|_| open));
    lines
}

/// Returns the commands that apply a cell.
fn list_commands(shown: ShownExperiment<'_>, cell: ThreadsCell) -> Vec<StyledLine> {
    let workload = &shown.experiment.workload;
    let is = |arm: &&corewise_model::trial::PlacementArm| {
        arm.threads == Some(cell.threads) && arm.cpus.is_some() == cell.pinned
    };
    let Some(arm) = shown.experiment.arms.iter().find(is) else { return Vec::new() };
    // Under the OS default it was tried without the variables that name cpus.
    let told = workload.environment_of(arm);
    let told: String =
        told.iter().filter_map(|(name, value)| Some(format!("{name}={} ", quote_word(value.as_ref()?)))).collect();
    let line = |text: String| StyledLine::new().plain("    ").strong(text);
    if workload.parts.is_some() && cell.pinned {
        return parts::draw_commands(shown, arm);
    }
    if workload.parts.is_some() {
        return workload.services_of(arm).iter().map(|service| line(format!("{told}{}", service.start))).collect();
    }
    let run =
        arm.cpus.as_ref().map_or_else(String::new, |cpus| suggestion::run_line(&cpus.to_string(), None, None, ""));
    // Not cut off: the recommended number is somewhere in it.
    vec![line(format!("{told}{run}{}", quote_words(workload.command_of(arm))))]
}
