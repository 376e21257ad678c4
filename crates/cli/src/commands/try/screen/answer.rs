//! The verdict in one sentence, and the commands that apply it.

use corewise_machine::CpuSet;
use corewise_machine::placement::CpuSetName;
use corewise_machine::placement::memory::MemoryMode;
use corewise_machine::placement::notation::{Notation, print_notation};
use corewise_machine::suggested_command;
use corewise_model::experiment::{
    ArmStanding, ArmState, ArmVerdict, BaselineEffect, ExperimentDoubt, GuardStanding, GuardVerdict, OutReason,
    QuestionKind, Verdict,
};
use corewise_model::quantity::QuotedQuantity;
use corewise_model::trial::{ArmMemory, LiveWorkload, PlacementArm};

use super::gain::{
    format_gain_in, format_interval, format_interval_in, format_percent, format_size, format_size_in, interval_words,
};
use super::open_points;
use super::parts;
use super::questions::{describe_doubts, describe_slow_run, place_of};
use super::standings::format_significant;
use super::{ShownExperiment, format_command};
use crate::draw::number::format_count;
use crate::draw::printable::{make_printable, printable_name};
use crate::draw::suggestion;
use crate::draw::suggestion::quote_word;
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::glue_numbers;

/// Largest permitted margin.
const MOST_MARGIN: f64 = 0.5;

/// Returns the verdict in words.
pub fn draw_verdict(shown: ShownExperiment<'_>) -> StyledLine {
    let answer = match &shown.standing.verdict {
        Verdict::Wins { .. } => draw_winner(shown),
        Verdict::RealButBelowMargin { .. } => draw_below_margin(shown),
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
                Verdict::Undecided { .. } => ("", ""),
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
        format_at_least(shown, standing.effect.as_ref()),
        shown.runs_and_boots(),
        format_percent(shown.experiment.policy.error_rate),
    );
    let but = describe_doubts(shown, standing);
    let points = &shown.standing.open_points;
    let said = match () {
        () if !but.is_empty() => (TextTone::Warn, "It depends on what counts.".to_owned()),
        () if !points.is_empty() => (TextTone::Warn, glue_numbers(&open_points::head_sentence(points))),
        () => (TextTone::Good, "Pin it.".to_owned()),
    };
    let open = open_points::describe_points(points);
    StyledLine::new().with(said.0, said.1).plain(glue_numbers(&format!("{sentence}{but}{open}")))
}

/// Describes an effect, such as "at least 1.9x faster than the OS default in its typical run, about 2.4x".
///
/// Only the lower end is proven: the estimate at the moment when an experiment stops is slightly too large.
fn format_at_least(shown: ShownExperiment<'_>, effect: Option<&BaselineEffect>) -> String {
    let (what, word) = (shown.experiment.policy.what, better_word(shown));
    let Some(effect) = effect else { return format!("{word} than the OS default") };
    let low = effect.low.filter(|low| *low > 0.0);
    let least = low.map_or(String::new(), |low| format!("at least {} ", format_size_in(what, low)));
    match what {
        QuestionKind::Tail => format!(
            "better: {least}of 100 runs fewer are slow ({}) than with the OS default, about {}",
            describe_slow_run(shown),
            format_size_in(what, effect.estimate)
        ),
        _ => {
            format!("{least}{word} than the OS default {}, about {}", place_of(what), format_size(effect.estimate))
        }
    }
}

/// Returns "faster", or "better in fps".
fn better_word(shown: ShownExperiment<'_>) -> String {
    if shown.is_time() {
        "faster".to_owned()
    } else {
        format!("better in {}", printable_name(&shown.experiment.workload.metric.name))
    }
}

/// Formats an effect as "2.4x [1.9, 3.0] faster".
pub(super) fn format_better(shown: ShownExperiment<'_>, effect: Option<&BaselineEffect>) -> String {
    let (what, word) = (shown.experiment.policy.what, better_word(shown));
    match effect {
        Some(effect) if what == QuestionKind::Tail => {
            let (size, interval) = (format_size_in(what, effect.estimate), format_interval_in(what, effect));
            format!("better: {size} {interval} of 100 runs fewer are slow ({})", describe_slow_run(shown))
        }
        Some(effect) => format!("{} {} {word}", format_size(effect.estimate), format_interval(effect)),
        None => word,
    }
}

fn draw_below_margin(shown: ShownExperiment<'_>) -> StyledLine {
    let Some((arm, standing)) = shown.find_winner() else { return StyledLine::new() };
    let sentence = format!(
        " {} is {}, which is proven but less than the margin of {} (after {}).",
        printable_name(&arm.spoken_name()),
        format_better(shown, standing.effect.as_ref()),
        format_percent(shown.experiment.policy.margin),
        shown.runs_and_boots(),
    );
    draw_leave_it(&sentence)
}

fn draw_leave_it(sentence: &str) -> StyledLine {
    StyledLine::new().with(TextTone::Good, "Leave it to the operating system.").plain(glue_numbers(sentence))
}

fn draw_no_difference(shown: ShownExperiment<'_>) -> StyledLine {
    let what_decides = shown.experiment.policy.what;
    let word = match what_decides {
        QuestionKind::Tail => format!("better (fewer runs that take {})", describe_slow_run(shown)),
        _ if shown.is_time() => format!("faster {}", place_of(what_decides)),
        _ => format!("better {}", place_of(what_decides)),
    };
    let (margin, runs) = (format_percent(shown.experiment.policy.margin), shown.runs_and_boots());
    let candidates = &shown.standing.arms[1..];
    let of = |is: fn(ArmVerdict) -> bool| candidates.iter().filter(|arm| arm.verdict.is_some_and(is)).count();
    let failed = of(|verdict| verdict == ArmVerdict::Failed);
    let is_barred = |arm: &&ArmStanding| matches!(arm.state, ArmState::Out { why: OutReason::GuardWorse, .. });
    let barred = candidates.iter().filter(is_barred).count();
    let proven = candidates.len() - failed - barred;
    let mut what = match candidates.len() {
        1 => {
            let (name, effect) = (printable_name(&shown.experiment.arms[1].spoken_name()), candidates[0].effect);
            match effect.filter(|effect| effect.estimate < -shown.experiment.policy.margin_of(what_decides)) {
                Some(effect) if what_decides == QuestionKind::Tail => {
                    let more = format_size_in(what_decides, effect.estimate);
                    format!(" {name} looks worse, {more} of 100 runs more are slow; it cannot be {margin} {word}")
                }
                Some(effect) => {
                    let opposite = if shown.is_time() { "slower" } else { "worse" };
                    format!(" {name} looks {} {opposite}; it cannot be {margin} {word}", format_size(effect.estimate))
                }
                None => format!(" {name} is not {margin} {word}"),
            }
        }
        all if proven == all => format!(" None of {all} placements is {margin} {word}"),
        all => {
            let verb = if proven == 1 { "is" } else { "are" };
            format!(" {proven} of {all} placements {verb} proven not to be {margin} {word}")
        }
    };
    let most = candidates.iter().filter_map(|arm| arm.effect?.high).reduce(f64::max);
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
    draw_leave_it(&format!("{what} ({runs})."))
}

fn draw_undecided(shown: ShownExperiment<'_>, more_runs: Option<u32>) -> StyledLine {
    if shown.all_failed() {
        return draw_leave_it(" The command failed on every other placement.");
    }
    let runs = shown.format_runs(shown.standing.runs as usize);
    let alive = shown.standing.arms.iter().skip(1).filter(|arm| arm.state == ArmState::Alive);
    let best = alive
        .filter_map(|arm| Some((arm.arm, arm.effect.as_ref()?)))
        .max_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate));
    if let Some(open) = open_guards(shown) {
        return StyledLine::new()
            .with(TextTone::Warn, "Not decided")
            .plain(glue_numbers(&format!(" after {runs}: {open}")));
    }
    let best = best.map_or(String::new(), |(arm, effect)| {
        if effect.estimate <= 0.0 {
            return format!(" Best so far: the {}.", shown.experiment.arms[0].spoken_name());
        }
        let name = printable_name(&shown.experiment.arms[arm].spoken_name());
        let what = shown.experiment.policy.what;
        format!(" Best so far: {name}, {} {}.", format_gain_in(what, effect.estimate), interval_words(what, effect))
    });
    let more = more_runs.map_or(String::new(), |more| {
        format!(
            " About {} would decide it.",
            format_count(
                more as usize,
                if shown.experiment.workload.live.is_some() { "more slot" } else { "more run" }
            )
        )
    });
    StyledLine::new()
        .with(TextTone::Warn, "Not decided")
        .plain(glue_numbers(&format!(" after {runs}; until it is, leave it to the operating system.{best}{more}")))
}

/// Describes a candidate that would win, but for guards that may still be worse.
fn open_guards(shown: ShownExperiment<'_>) -> Option<String> {
    let best = shown.standing.arms.iter().find(|arm| arm.verdict == Some(ArmVerdict::Wins))?;
    let guards = &shown.experiment.workload.guards;
    let is_open = |found: &&GuardStanding| found.arm == best.arm && found.verdict == GuardVerdict::Open;
    let open = shown.standing.guards.iter().filter(is_open).filter_map(|found| guards.get(found.guard));
    let open: Vec<String> = open.map(|guard| printable_name(&guard.name)).collect();
    (!open.is_empty()).then(|| {
        let name = printable_name(&shown.experiment.arms[best.arm].spoken_name());
        let margin = format_percent(shown.experiment.policy.guard_margin);
        format!(
            "{name} is {}, but it is not proven that {} is less than {margin} worse there. Until it is, leave it to the operating system.",
            format_at_least(shown, best.effect.as_ref()),
            open.join(" and "),
        )
    })
}

fn draw_unsound(shown: ShownExperiment<'_>, why: &[ExperimentDoubt]) -> StyledLine {
    let doubts: Vec<String> = why.iter().map(|doubt| describe_doubt(shown, doubt)).collect();
    // The runs themselves are sound in this case.
    if let [ExperimentDoubt::CoarseMetric { .. }] = why {
        let sentence = format!(" {} Until then, leave it to the operating system.", doubts.join(" "));
        return StyledLine::new().with(TextTone::Warn, "Not decided.").plain(glue_numbers(&sentence));
    }
    let sentence = format!(" {} Leave it to the operating system.", doubts.join(" "));
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
    let name =
        |arm: usize| shown.experiment.arms.get(arm).map_or_else(String::new, |arm| printable_name(&arm.spoken_name()));
    match doubt {
        ExperimentDoubt::BaselineFails { failures } => {
            format!(
                "The OS default failed {}, so there is nothing to compare with.",
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
                "Runs{whose} after {} are {} {}: {} leaves an effect behind, such as heat or a full cache.",
                after.as_deref().unwrap_or("another placement"),
                format_size(carry.slower),
                if carry.slower > 0.0 { "worse" } else { "better" },
                if after.is_some() { "it" } else { "that one" },
            )
        }
        ExperimentDoubt::GuardWorse { guard, arm, estimate } => {
            let guards = &shown.experiment.workload.guards;
            let guard = guards.get(*guard).map_or_else(String::new, |guard| printable_name(&guard.name));
            // An increase from zero has no ratio.
            let worse = if estimate.abs() < 100.0 { format!(" {}", format_size(*estimate)) } else { String::new() };
            let is_better = shown.standing.arms.get(*arm).is_some_and(|arm| arm.verdict == Some(ArmVerdict::Wins));
            format!("{} {}makes {guard}{worse} worse.", name(*arm), if is_better { "is better, but " } else { "" })
        }
    }
}

/// Returns the quoted output line of a run after a joint; empty if no line is known.
fn quote_line(joint: &str, run: &QuotedQuantity) -> String {
    if run.line.is_empty() { String::new() } else { format!("{joint}\"{}\"", make_printable(&run.line)) }
}

/// Returns the commands that apply a winner, one line each, and the one that tries it again if it is a winner only so far.
pub fn draw_commands(shown: ShownExperiment<'_>) -> Vec<StyledLine> {
    let again = open_points::draw_next_command(shown);
    draw_winners_commands(shown).into_iter().chain(again).collect()
}

fn draw_winners_commands(shown: ShownExperiment<'_>) -> Vec<StyledLine> {
    let (Verdict::Wins { .. }, Some((arm, _))) = (&shown.standing.verdict, shown.find_winner()) else {
        let is_open = matches!(shown.standing.verdict, Verdict::Undecided { .. });
        return draw_resume(shown).filter(|_| is_open).into_iter().collect();
    };
    let command = format_command(&shown.experiment.workload.command);
    if let Some(parts) = &shown.experiment.workload.parts {
        return parts::draw_commands(shown, parts, arm);
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
    let number = shown.stored?;
    let command = match &shown.experiment.suite {
        Some(_) => suggested_command::try_suite_resume(),
        None => suggested_command::try_resume(number),
    };
    Some(StyledLine::new().plain("    ").strong(suggestion::format_typed(&command)))
}
