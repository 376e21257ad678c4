//! The verdict in one sentence, and the commands that apply it.

use corewise_machine::CpuSet;
use corewise_machine::placement::CpuSetName;
use corewise_machine::placement::memory::MemoryMode;
use corewise_machine::placement::notation::{Notation, print_notation};
use corewise_machine::suggested_command;
use corewise_model::trial::{ArmMemory, LiveWorkload, PlacementArm, TrialOutcome};
use corewise_statistics::experiment::{
    ArmStanding, ArmState, ArmVerdict, BaselineEffect, ExperimentDoubt, GuardStanding, GuardVerdict, OutReason,
    QuestionKind, Verdict,
};
use corewise_statistics::quantity::QuotedQuantity;

use super::questions::{describe_doubts, describe_slow_run, place_of};
use super::standings::format_significant;
use super::winner::{describe_total, draw_heading};
use super::wording::begin_sentence;
use super::{ShownExperiment, format_command, open_points, parts};
use crate::draw::gain::{
    EffectScale, format_bounds, format_gain_in, format_percent, format_size, format_size_in, interval_words,
};
use crate::draw::number::format_count;
use crate::draw::printable::{make_printable, printable_name};
use crate::draw::suggestion::{self, quote_word};
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::glue_numbers;

/// Largest permitted margin.
const MOST_MARGIN: f64 = 0.5;

/// Returns the verdict in words.
pub fn draw_verdict(shown: ShownExperiment<'_>) -> StyledLine {
    let answer = match &shown.standing.verdict {
        Verdict::Wins { .. } => draw_winner(shown),
        Verdict::RealButBelowMargin { .. } => draw_below_margin(shown),
        Verdict::Better { more_runs, .. } => draw_better(shown, *more_runs),
        Verdict::NoMaterialDifference => draw_no_difference(shown),
        Verdict::Undecided { more_runs } => draw_undecided(shown, *more_runs),
        Verdict::Unsound { why } => draw_unsound(shown, why),
    };
    match (shown.experiment.stretch, &shown.standing.verdict) {
        (None, _) => answer,
        (Some(stretch), Verdict::Wins { .. }) => {
            let again = open_points::describe_confirmation(shown, stretch);
            StyledLine::new().with(TextTone::Good, "Confirmed.").plain(" ").then(answer).plain(glue_numbers(&again))
        }
        (Some(stretch), verdict) => {
            let (start, gap) = match verdict {
                Verdict::Undecided { .. } | Verdict::Better { .. } => ("", ""),
                _ => ("Not confirmed.", " "),
            };
            let lost = open_points::describe_loss(shown, stretch);
            StyledLine::new().with(TextTone::Warn, start).plain(glue_numbers(&format!("{gap}{lost}"))).then(answer)
        }
    }
}

fn draw_winner(shown: ShownExperiment<'_>) -> StyledLine {
    let Some((arm, standing)) = shown.find_winner() else { return StyledLine::new() };
    let sentence = format!(
        " {} is {}; proven after {} (error rate {}).",
        printable_name(&arm.spoken_name()),
        format_at_least(shown, standing),
        shown.runs_and_boots(),
        format_percent(shown.experiment.policy.error_rate),
    );
    let (tone, heading) = draw_heading(shown, standing);
    let but = describe_doubts(shown, standing);
    let open = open_points::describe_points(&shown.standing.open_points);
    StyledLine::new().with(tone, glue_numbers(&heading)).plain(glue_numbers(&format!("{sentence}{but}{open}")))
}

/// Describes an effect, such as "at least 1.9x faster than the OS default in its typical run, about 2.4x".
///
/// Only the lower end is proven: the estimate at the moment when an experiment stops is slightly too large.
fn format_at_least(shown: ShownExperiment<'_>, standing: &ArmStanding) -> String {
    let (what, word, baseline) = (shown.experiment.policy.what, better_word(shown), shown.baseline_words());
    let Some(effect) = &standing.effect else { return format!("{word} than {baseline}") };
    let scale = EffectScale::from_estimate(what, effect.estimate);
    let about = scale.format_size(effect.estimate) + &describe_total(shown, standing);
    match (scale.format_least(effect.low), what) {
        (Some(least), QuestionKind::Tail) => format!(
            "better: at least {least} of 100 runs fewer are slow ({}) than with {baseline}, about {about}",
            describe_slow_run(shown),
        ),
        (None, QuestionKind::Tail) => format!(
            "better: fewer of its runs are slow ({}) than with {baseline}, by how many is open (about {about} of 100)",
            describe_slow_run(shown),
        ),
        (Some(least), _) => {
            format!("at least {least} {word} than {baseline} {}, about {about}", place_of(shown, what))
        }
        (None, _) => {
            format!("{word} than {baseline} {}, by how much is open (about {about})", place_of(shown, what))
        }
    }
}

/// Returns "faster", or "better in fps".
pub(super) fn better_word(shown: ShownExperiment<'_>) -> String {
    if shown.is_time() {
        "faster".to_owned()
    } else {
        format!("better in {}", printable_name(&shown.experiment.workload.metric.name))
    }
}

/// Formats an effect as "faster by at least 1.2 % and at most 2.7 % (about 1.9 %)".
pub(super) fn format_better(shown: ShownExperiment<'_>, effect: Option<&BaselineEffect>) -> String {
    let (what, word) = (shown.experiment.policy.what, better_word(shown));
    match effect {
        Some(effect) if what == QuestionKind::Tail => {
            let bounds = format_bounds(what, effect);
            format!("better: {bounds} of 100 runs fewer are slow ({})", describe_slow_run(shown))
        }
        Some(effect) => format!("{word} by {}", format_bounds(what, effect)),
        None => word,
    }
}

fn draw_below_margin(shown: ShownExperiment<'_>) -> StyledLine {
    let Some((arm, standing)) = shown.find_winner() else { return StyledLine::new() };
    let sentence = format!(
        " {} is {}: proven, but less than the margin of {} (after {}).",
        printable_name(&arm.spoken_name()),
        format_better(shown, standing.effect.as_ref()),
        format_percent(shown.experiment.policy.margin),
        shown.runs_and_boots(),
    );
    draw_leave_it(shown, &sentence)
}

/// Describes a candidate that is proven better, while it is open if the difference matters.
fn draw_better(shown: ShownExperiment<'_>, more_runs: Option<u32>) -> StyledLine {
    let Some((arm, standing)) = shown.find_winner() else { return StyledLine::new() };
    let sentence = format!(
        " {} is proven {}. Whether it reaches {} is open after {} (error rate {}).{}{}",
        printable_name(&arm.spoken_name()),
        format_at_least(shown, standing),
        format_percent(shown.experiment.policy.margin),
        shown.runs_and_boots(),
        format_percent(shown.experiment.policy.error_rate),
        describe_more_runs(shown, more_runs, "would tell"),
        describe_doubts(shown, standing),
    );
    StyledLine::new().with(TextTone::Good, "Better:").plain(glue_numbers(&sentence))
}

/// Returns a sentence such as " About 12 more runs would tell."; empty if the number is unknown.
fn describe_more_runs(shown: ShownExperiment<'_>, more_runs: Option<u32>, what: &str) -> String {
    let unit = if shown.experiment.workload.live.is_some() { "more slot" } else { "more run" };
    more_runs.map_or_else(String::new, |more| format!(" About {} {what}.", format_count(more as usize, unit)))
}

fn draw_leave_it(shown: ShownExperiment<'_>, sentence: &str) -> StyledLine {
    StyledLine::new().with(TextTone::Good, shown.staying_sentence()).plain(glue_numbers(sentence))
}

fn draw_no_difference(shown: ShownExperiment<'_>) -> StyledLine {
    let what_decides = shown.experiment.policy.what;
    let word = match what_decides {
        QuestionKind::Tail => format!("better (fewer runs that take {})", describe_slow_run(shown)),
        _ if shown.is_time() => format!("faster {}", place_of(shown, what_decides)),
        _ => format!("better {}", place_of(shown, what_decides)),
    };
    let (margin, runs) = (format_percent(shown.experiment.policy.margin), shown.runs_and_boots());
    let (candidates, candidate) = (&shown.standing.arms[1..], shown.candidate_word());
    let has_failed = |arm: &&ArmStanding| arm.verdict == Some(ArmVerdict::Failed);
    let is_barred = |arm: &&ArmStanding| matches!(arm.state, ArmState::Out { why: OutReason::GuardWorse, .. });
    let failed = candidates.iter().filter(has_failed).count();
    let barred = candidates.iter().filter(is_barred).count();
    let of_proven = candidates.iter().filter(|arm| !has_failed(arm) && !is_barred(arm));
    let proven = of_proven.clone().count();
    let mut what = match candidates.len() {
        1 => describe_only_candidate(shown, &format!("{margin} {word}")),
        all if proven == all => format!(" None of {all} {candidate}s is {margin} {word}"),
        all => {
            let verb = if proven == 1 { "is" } else { "are" };
            format!(" {proven} of {all} {candidate}s {verb} proven not to be {margin} {word}")
        }
    };
    let most = of_proven.filter_map(|arm| arm.effect?.high).reduce(f64::max);
    if let Some(most) = most.filter(|most| *most > 0.0) {
        what.push_str(&format!(
            ": at most {} ({}{})",
            format_gain_in(what_decides, most),
            format_percent(1.0 - shown.experiment.policy.error_rate),
            if proven == 1 { "" } else { " each" }
        ));
    }
    if failed > 0 {
        what.push_str(&format!("; {failed} failed"));
    }
    if barred > 0 {
        what.push_str(&format!("; with {barred} a guard is worse"));
    }
    draw_leave_it(shown, &format!("{what} ({runs})."))
}

/// Describes a single candidate that is not better by the margin: how much worse it is proven to be, or looks.
fn describe_only_candidate(shown: ShownExperiment<'_>, better: &str) -> String {
    let (policy, name) = (&shown.experiment.policy, printable_name(&shown.experiment.arms[1].spoken_name()));
    let what = policy.what;
    let worse = shown.standing.arms[1].effect.filter(|effect| effect.estimate < -policy.margin_of(what));
    let Some(effect) = worse else { return format!(" {name} is not {better}") };
    let opposite = if shown.is_time() && what != QuestionKind::Tail { "slower" } else { "worse" };
    let scale = EffectScale::from_estimate(what, effect.estimate);
    let gain = |gain: f64| match what {
        QuestionKind::Tail => format!("{} of 100 runs slow", scale.format_gain(gain)),
        _ => scale.format_gain(gain),
    };
    let (about, sure) = (gain(effect.estimate), format_percent(1.0 - policy.error_rate));
    match effect.high.filter(|high| *high < 0.0) {
        Some(high) => format!(" {name} is {opposite}: {} or worse ({sure}), about {about}", gain(high)),
        None => format!(" {name} looks {opposite}, about {about}; proven is only that it is not {better}"),
    }
}

fn draw_undecided(shown: ShownExperiment<'_>, more_runs: Option<u32>) -> StyledLine {
    if shown.all_failed() {
        return draw_leave_it(shown, &format!(" The command failed on every other {}.", shown.candidate_word()));
    }
    let runs = shown.format_runs(shown.standing.runs as usize);
    let alive = shown.standing.arms.iter().skip(1).filter(|arm| arm.state == ArmState::Alive);
    let best = alive
        .filter_map(|arm| Some((arm.arm, arm.effect.as_ref()?)))
        .max_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate));
    if let Some(open) = describe_open_winner(shown) {
        return StyledLine::new()
            .with(TextTone::Warn, "Not decided")
            .plain(glue_numbers(&format!(" after {runs}: {open}")));
    }
    let best = best.map_or(String::new(), |(arm, effect)| {
        if effect.estimate <= 0.0 {
            return format!(" Best so far: {}.", shown.baseline_words());
        }
        let name = printable_name(&shown.experiment.arms[arm].spoken_name());
        let what = shown.experiment.policy.what;
        format!(" Best so far: {name}, {} {}.", format_gain_in(what, effect.estimate), interval_words(what, effect))
    });
    let more = describe_more_runs(shown, more_runs, "would decide it");
    StyledLine::new()
        .with(TextTone::Warn, "Not decided")
        .plain(glue_numbers(&format!(" after {runs}; until it is, {}.{best}{more}", shown.staying_words())))
}

/// Describes a candidate that would win, but for guards that may still be worse, or for its failures.
fn describe_open_winner(shown: ShownExperiment<'_>) -> Option<String> {
    let is_barred = |arm: &&ArmStanding| matches!(arm.state, ArmState::Out { why: OutReason::GuardWorse, .. });
    let with =
        |verdict| shown.standing.arms.iter().filter(|arm| !is_barred(arm)).find(|arm| arm.verdict == Some(verdict));
    let best = [ArmVerdict::Wins, ArmVerdict::Better, ArmVerdict::FailsMore].into_iter().find_map(with)?;
    let mut but: Vec<String> = list_open_guards(shown, best.arm);
    let fails_more = best.verdict == Some(ArmVerdict::FailsMore);
    but.extend(fails_more.then(|| format!("it {}", describe_failures(best, &shown.baseline_words()))));
    (!but.is_empty()).then(|| {
        let name = printable_name(&shown.experiment.arms[best.arm].spoken_name());
        let better = format_at_least(shown, best);
        format!("{name} is {better}, but {}. Until that is settled, {}.", but.join(", and "), shown.staying_words())
    })
}

/// Lists the guards of a candidate that are not proven to be unharmed.
fn list_open_guards(shown: ShownExperiment<'_>, arm: usize) -> Vec<String> {
    let margin = format_percent(shown.experiment.policy.guard_margin);
    let describe = |found: &GuardStanding| {
        let name = printable_name(&shown.experiment.workload.guards.get(found.guard)?.name);
        match found.verdict {
            GuardVerdict::NotWorse | GuardVerdict::Worse => None,
            GuardVerdict::Open => Some(format!(
                "it is not proven that {name} is less than {margin} worse there (open: {})",
                list_questions(found, GuardVerdict::Open)
            )),
            GuardVerdict::LikelyWorse => {
                let effect = found.find_answer(QuestionKind::Mean)?.effect?;
                Some(format!("the mean of {name} looks {} worse there", format_size(effect.estimate)))
            }
        }
    };
    shown.standing.guards.iter().filter(|found| found.arm == arm).filter_map(describe).collect()
}

/// Lists the questions about a guard with an answer, such as "typical run and slow runs". The mean counts only if it is
/// worse.
pub(super) fn list_questions(found: &GuardStanding, wanted: GuardVerdict) -> String {
    let is_listed = |what: QuestionKind| what != QuestionKind::Mean || wanted == GuardVerdict::Worse;
    let answers = found.answers.iter().filter(|answer| answer.verdict == wanted && is_listed(answer.what));
    answers.map(|answer| name_question(answer.what)).collect::<Vec<_>>().join(" and ")
}

fn name_question(what: QuestionKind) -> &'static str {
    match what {
        QuestionKind::Typical => "typical run",
        QuestionKind::Mean => "mean",
        QuestionKind::Tail => "slow runs",
    }
}

/// Describes the failures in the blocks of a candidate, such as "failed in 2 of 30 runs, the OS default in none".
pub(super) fn describe_failures(standing: &ArmStanding, baseline: &str) -> String {
    let [own, of_baseline] = standing.paired_failures;
    let runs =
        standing.answers.iter().find(|answer| answer.what == QuestionKind::Typical).map_or(0, |answer| answer.blocks);
    let of_baseline = if of_baseline == 0 { "none".to_owned() } else { of_baseline.to_string() };
    format!("failed in {own} of {}, {baseline} in {of_baseline}", format_count(runs as usize, "run"))
}

fn draw_unsound(shown: ShownExperiment<'_>, why: &[ExperimentDoubt]) -> StyledLine {
    let doubts: Vec<String> = why.iter().map(|doubt| describe_doubt(shown, doubt)).collect();
    // The runs themselves are sound in this case.
    if let [ExperimentDoubt::CoarseMetric { .. }] = why {
        let sentence = format!(" {} Until then, {}.", doubts.join(" "), shown.staying_words());
        return StyledLine::new().with(TextTone::Warn, "Not decided.").plain(glue_numbers(&sentence));
    }
    // What fails itself is nothing to stay with.
    let has_failed = why.iter().any(|doubt| matches!(doubt, ExperimentDoubt::BaselineFails { .. }));
    let staying = if has_failed { String::new() } else { format!(" {}", shown.staying_sentence()) };
    let sentence = format!(" {}{staying}", doubts.join(" "));
    StyledLine::new().with(TextTone::Warn, "Nothing can be recommended.").plain(glue_numbers(&sentence))
}

/// Describes a coarse metric and its remedies: a finer metric, or a margin of at least two steps.
fn describe_coarse(shown: ShownExperiment<'_>, step: f64) -> String {
    let name = printable_name(&shown.experiment.workload.metric.name);
    let margin = shown.experiment.policy.margin;
    let enough = (2.0 * step * 1000.0).ceil() / 1000.0;
    let or = if enough <= MOST_MARGIN {
        format!(
            ", or accept that smaller differences do not count: --margin {}",
            format_percent(enough).replace(' ', "")
        )
    } else {
        String::new()
    };
    format!(
        "The numbers of {name} are {} apart, too coarse to show a difference of {}. Use a metric with more digits{or}.",
        format_percent(step),
        format_percent(margin),
    )
}

pub(super) fn describe_doubt(shown: ShownExperiment<'_>, doubt: &ExperimentDoubt) -> String {
    let name = |arm: usize| shown.name_in_sentence(arm);
    match doubt {
        ExperimentDoubt::BaselineFails { failures } => {
            // The first run of the warm-up met nothing of another one.
            let first = shown.trials.first().filter(|trial| trial.block == 0).map(|trial| &trial.outcome);
            let cure = match first {
                Some(TrialOutcome::Value(_)) => {
                    " The first run worked: --prepare SCRIPT can remove what each leaves behind."
                }
                _ => "",
            };
            format!(
                "{} failed {}, so there is nothing to compare with.{cure}",
                begin_sentence(&name(0)),
                format_count(*failures as usize, "time")
            )
        }
        ExperimentDoubt::CoarseMetric { step } => describe_coarse(shown, *step),
        ExperimentDoubt::ConstantMetric { run } => format!(
            "{} is {} in every run, so it measures nothing here{}. Use a metric that the work changes.",
            printable_name(&shown.experiment.workload.metric.name),
            run.quantity,
            quote_line(": ", run),
        ),
        ExperimentDoubt::FarApartMetric { times, least, greatest } => format!(
            "The values of {} are {}x apart in runs that took about the same time: {}{} and {}{}. Check that they say the same, and in one unit.",
            printable_name(&shown.experiment.workload.metric.name),
            format_significant(*times),
            least.quantity,
            quote_line(" in ", least),
            greatest.quantity,
            quote_line(" in ", greatest),
        ),
        ExperimentDoubt::CarryOver(carry) => {
            let whose = carry.of_arm.map_or_else(String::new, |arm| format!(" of {}", shown.name_in_sentence(arm)));
            let after = carry.after_arm.map(|arm| shown.name_in_sentence(arm));
            format!(
                "Runs{whose} after {} are about {} {}: {} leaves an effect behind, such as heat or a full cache.",
                after.as_deref().unwrap_or(&format!("another {}", shown.candidate_word())),
                format_size(carry.slower),
                if carry.slower > 0.0 { "worse" } else { "better" },
                if after.is_some() { "it" } else { "that one" },
            )
        }
        ExperimentDoubt::GuardWorse { guard, arm, what, estimate } => {
            let guards = &shown.experiment.workload.guards;
            let guard = guards.get(*guard).map_or_else(String::new, |guard| printable_name(&guard.name));
            let is_better = |arm: &ArmStanding| {
                matches!(arm.verdict, Some(ArmVerdict::Wins | ArmVerdict::Better | ArmVerdict::FailsMore))
            };
            let is_better = shown.standing.arms.get(*arm).is_some_and(is_better);
            let subject = format!("{} {}", name(*arm), if is_better { "is better, but " } else { "" });
            let size = format_size_in(*what, *estimate);
            match what {
                QuestionKind::Tail => format!("{subject}has slow runs in {guard}: {size} of 100 more."),
                // An increase from zero has no ratio.
                _ if estimate.abs() >= 100.0 => format!("{subject}makes {guard} worse."),
                QuestionKind::Mean => format!("{subject}makes {guard} {size} worse in the mean."),
                QuestionKind::Typical => format!("{subject}makes {guard} {size} worse."),
            }
        }
    }
}

/// Returns the quoted output line of a run after a joint; empty if no line is known.
fn quote_line(joint: &str, run: &QuotedQuantity) -> String {
    if run.line.is_empty() { String::new() } else { format!("{joint}\"{}\"", make_printable(&run.line)) }
}

/// Returns the commands that apply a winner, one line each, and the command that tries an unconfirmed winner again.
pub fn draw_commands(shown: ShownExperiment<'_>) -> Vec<StyledLine> {
    let again = open_points::draw_next_command(shown);
    draw_winners_commands(shown).into_iter().chain(again).collect()
}

fn draw_winners_commands(shown: ShownExperiment<'_>) -> Vec<StyledLine> {
    let (Verdict::Wins { .. }, Some((arm, _))) = (&shown.standing.verdict, shown.find_winner()) else {
        return draw_resume(shown).filter(|_| shown.standing.verdict.is_open()).into_iter().collect();
    };
    let command = format_command(&shown.experiment.workload.command_of(arm));
    let workload = &shown.experiment.workload;
    if workload.parts.is_some() || workload.live.is_none() && !arm.roles.is_empty() {
        return parts::draw_commands(shown, arm);
    }
    if let Some(memory) = &arm.memory {
        return draw_memory_commands(arm, memory, &command);
    }
    if arm.at_full_speed {
        return vec![
            StyledLine::new()
                .plain("    ")
                .strong(format!("{} {command}", suggestion::format_typed(&suggested_command::run_at_full_speed(&[])))),
        ];
    }
    let Some(cpus) = &arm.cpus else { return Vec::new() };
    if let Some(live) = &shown.experiment.workload.live {
        return if arm.roles.is_empty() {
            draw_live_commands(shown, live, cpus)
        } else {
            parts::draw_live_commands(shown, live, arm)
        };
    }
    let machine = &shown.experiment.machine;
    let text = |notation| {
        let lines = print_notation(notation, cpus, &cpus.iter().collect::<Vec<_>>(), machine);
        lines.into_iter().find_map(|line| line.text.filter(|_| !line.secondary))
    };
    let mut lines = vec![suggestion::run_line(&arm.name, None, None, &command)];
    if Notation::of_shell(machine) == Notation::Taskset {
        lines.extend(text(Notation::Taskset).map(|taskset| format!("{taskset} {command}")));
        lines.extend(text(Notation::Systemd).map(|unit| format!("{unit}    (systemd)")));
    }
    lines.extend(text(Notation::Windows).map(|start| format!("{start}    (Windows)")));
    lines.into_iter().map(|line| StyledLine::new().plain("    ").strong(line)).collect()
}

/// Returns the commands for a winner with a memory policy; other tools take cpus and nodes separately.
fn draw_memory_commands(arm: &PlacementArm, memory: &ArmMemory, command: &str) -> Vec<StyledLine> {
    let on = if arm.cpus.is_some() { arm.placement_text() } else { CpuSetName::All.word() };
    let mut lines = vec![suggestion::run_line(on, Some(&memory.policy), None, command)];
    let numactl = memory.policy_mode().map(|mode| match mode {
        MemoryMode::Local => "--localalloc".to_owned(),
        MemoryMode::Bind => format!("--membind={}", memory.nodes),
        MemoryMode::Preferred if memory.nodes.len() == 1 => format!("--preferred={}", memory.nodes),
        MemoryMode::Preferred => format!("--preferred-many={}", memory.nodes),
        MemoryMode::Interleave => format!("--interleave={}", memory.nodes),
        MemoryMode::Weighted => format!("--weighted-interleave={}", memory.nodes),
    });
    let cpus = arm.cpus.as_ref().map_or_else(String::new, |cpus| format!("--physcpubind={cpus} "));
    lines.extend(numactl.map(|memory| format!("numactl {cpus}{memory} {command}")));
    lines.into_iter().map(|line| StyledLine::new().plain("    ").strong(line)).collect()
}

/// Returns the commands for running processes: a rule for future ones, and commands that place the present ones.
fn draw_live_commands(shown: ShownExperiment<'_>, live: &LiveWorkload, cpus: &CpuSet) -> Vec<StyledLine> {
    let rule = shown
        .stored
        .map(|number| suggestion::format_typed(&suggested_command::keep_add_winner_for(number, &live.matches)));
    let units = live.matches.iter().filter_map(|text| text.strip_prefix("unit="));
    let units = units.map(|unit| format!("systemctl set-property {} AllowedCPUs={cpus}", quote_word(unit)));
    let now =
        live.processes.iter().map(|process| format!("taskset --all-tasks --cpu-list --pid {cpus} {}", process.id));
    rule.into_iter().chain(units).chain(now).map(|line| StyledLine::new().plain("    ").strong(line)).collect()
}

/// Returns the command that continues the experiment, if more runs may decide it.
pub(super) fn draw_resume(shown: ShownExperiment<'_>) -> Option<StyledLine> {
    if shown.all_failed() || !shown.is_any_alive() {
        return None;
    }
    let number = shown.resumable()?;
    let command = match &shown.experiment.suite {
        Some(_) => suggested_command::try_suite_resume(),
        None => suggested_command::try_resume(number),
    };
    Some(StyledLine::new().plain("    ").strong(suggestion::format_typed(&command)))
}
