//! The verdict in one sentence, and the commands that apply it.

use corewise_machine::CpuSet;
use corewise_machine::placement::Name;
use corewise_machine::placement::memory::Mode;
use corewise_machine::placement::notation::{Notation, print};
use corewise_machine::suggested_command;
use corewise_model::experiment::{
    ArmStanding, ArmState, ArmVerdict, Doubt, Effect, GuardStanding, GuardVerdict, OutReason, Verdict, What,
};
use corewise_model::quantity::QuotedQuantity;
use corewise_model::trial::{Arm, ArmMemory, Live};

use super::gain::{gain_in, interval, interval_in, interval_words, percent, size, size_in};
use super::parts;
use super::questions::{against, place_of, slow};
use super::standings::significant;
use super::{Shown, in_a_shell};
use crate::draw::number::count;
use crate::draw::printable::{named, printable};
use crate::draw::suggestion;
use crate::draw::suggestion::in_shell;
use crate::draw::text::{Line, Tone};
use crate::draw::wrap::glued;

/// Largest permitted margin.
const MOST_MARGIN: f64 = 0.5;

/// Returns the verdict in words.
pub fn in_words(shown: Shown<'_>) -> Line {
    let answer = match &shown.standing.verdict {
        Verdict::Wins { .. } => wins(shown),
        Verdict::RealButBelowMargin { .. } => below_margin(shown),
        Verdict::NoMaterialDifference => no_difference(shown),
        Verdict::Undecided { more_runs } => undecided(shown, *more_runs),
        Verdict::Unsound { why } => unsound(shown, why),
    };
    match (shown.experiment.stretch, &shown.standing.verdict) {
        (None, _) | (Some(_), Verdict::Undecided { .. }) => answer,
        (Some(_), Verdict::Wins { .. }) => Line::new().with(Tone::Good, "Confirmed.").plain(" ").then(answer),
        (Some(_), _) => Line::new().with(Tone::Warn, "Not confirmed.").plain(" ").then(answer),
    }
}

fn wins(shown: Shown<'_>) -> Line {
    let Some((arm, standing)) = shown.winner() else { return Line::new() };
    let sentence = format!(
        " {} is {}; proven after {} (error rate {}).",
        named(&arm.spoken()),
        at_least(shown, standing.effect.as_ref()),
        shown.runs_and_boots(),
        percent(shown.experiment.policy.error_rate),
    );
    let but = against(shown, standing);
    let said = if but.is_empty() { (Tone::Good, "Pin it.") } else { (Tone::Warn, "It depends on what counts.") };
    Line::new().with(said.0, said.1).plain(glued(&format!("{sentence}{but}")))
}

/// Describes an effect, such as "at least 1.9x faster than the OS default in its typical run, about 2.4x".
///
/// Only the lower end is proven: the estimate at the moment when an experiment stops is slightly too large.
fn at_least(shown: Shown<'_>, effect: Option<&Effect>) -> String {
    let (what, word) = (shown.experiment.policy.what, word(shown));
    let Some(effect) = effect else { return format!("{word} than the OS default") };
    let low = effect.low.filter(|low| *low > 0.0);
    let least = low.map_or(String::new(), |low| format!("at least {} ", size_in(what, low)));
    match what {
        What::Tail => format!(
            "better: {least}of 100 runs fewer are slow ({}) than with the OS default, about {}",
            slow(shown),
            size_in(what, effect.estimate)
        ),
        _ => {
            format!("{least}{word} than the OS default {}, about {}", place_of(what), size(effect.estimate))
        }
    }
}

/// Returns "faster", or "better in fps".
fn word(shown: Shown<'_>) -> String {
    if shown.is_time() {
        "faster".to_owned()
    } else {
        format!("better in {}", named(&shown.experiment.workload.metric.name))
    }
}

/// Formats an effect as "2.4x [1.9, 3.0] faster".
pub(super) fn better(shown: Shown<'_>, effect: Option<&Effect>) -> String {
    let (what, word) = (shown.experiment.policy.what, word(shown));
    match effect {
        Some(effect) if what == What::Tail => {
            let (size, interval) = (size_in(what, effect.estimate), interval_in(what, effect));
            format!("better: {size} {interval} of 100 runs fewer are slow ({})", slow(shown))
        }
        Some(effect) => format!("{} {} {word}", size(effect.estimate), interval(effect)),
        None => word,
    }
}

fn below_margin(shown: Shown<'_>) -> Line {
    let Some((arm, standing)) = shown.winner() else { return Line::new() };
    let sentence = format!(
        " {} is {}, which is proven but less than the margin of {} (after {}).",
        named(&arm.spoken()),
        better(shown, standing.effect.as_ref()),
        percent(shown.experiment.policy.margin),
        shown.runs_and_boots(),
    );
    leave_it(&sentence)
}

fn leave_it(sentence: &str) -> Line {
    Line::new().with(Tone::Good, "Leave it to the operating system.").plain(glued(sentence))
}

fn no_difference(shown: Shown<'_>) -> Line {
    let what_decides = shown.experiment.policy.what;
    let word = match what_decides {
        What::Tail => format!("better (fewer runs that take {})", slow(shown)),
        _ if shown.is_time() => format!("faster {}", place_of(what_decides)),
        _ => format!("better {}", place_of(what_decides)),
    };
    let (margin, runs) = (percent(shown.experiment.policy.margin), shown.runs_and_boots());
    let candidates = &shown.standing.arms[1..];
    let of = |is: fn(ArmVerdict) -> bool| candidates.iter().filter(|arm| arm.verdict.is_some_and(is)).count();
    let failed = of(|verdict| verdict == ArmVerdict::Failed);
    let is_barred = |arm: &&ArmStanding| matches!(arm.state, ArmState::Out { why: OutReason::GuardWorse, .. });
    let barred = candidates.iter().filter(is_barred).count();
    let proven = candidates.len() - failed - barred;
    let mut what = match candidates.len() {
        1 => {
            let (name, effect) = (named(&shown.experiment.arms[1].spoken()), candidates[0].effect);
            match effect.filter(|effect| effect.estimate < -shown.experiment.policy.margin_of(what_decides)) {
                Some(effect) if what_decides == What::Tail => {
                    let more = size_in(what_decides, effect.estimate);
                    format!(" {name} looks worse, {more} of 100 runs more are slow; it cannot be {margin} {word}")
                }
                Some(effect) => {
                    let opposite = if shown.is_time() { "slower" } else { "worse" };
                    format!(" {name} looks {} {opposite}; it cannot be {margin} {word}", size(effect.estimate))
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
            gain_in(what_decides, most),
            percent(1.0 - shown.experiment.policy.error_rate),
            if proven == 1 { "" } else { " each" }
        ));
    }
    if failed > 0 {
        what.push_str(&format!("; {failed} failed"));
    }
    if barred > 0 {
        what.push_str(&format!("; with {barred} a guard is worse"));
    }
    leave_it(&format!("{what} ({runs})."))
}

fn undecided(shown: Shown<'_>, more_runs: Option<u32>) -> Line {
    if shown.all_failed() {
        return leave_it(" The command failed on every other placement.");
    }
    let runs = shown.runs(shown.standing.runs as usize);
    let alive = shown.standing.arms.iter().skip(1).filter(|arm| arm.state == ArmState::Alive);
    let best = alive
        .filter_map(|arm| Some((arm.arm, arm.effect.as_ref()?)))
        .max_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate));
    if let Some(open) = open_guards(shown) {
        return Line::new().with(Tone::Warn, "Not decided").plain(glued(&format!(" after {runs}: {open}")));
    }
    let best = best.map_or(String::new(), |(arm, effect)| {
        if effect.estimate <= 0.0 {
            return format!(" Best so far: the {}.", shown.experiment.arms[0].spoken());
        }
        let name = named(&shown.experiment.arms[arm].spoken());
        let what = shown.experiment.policy.what;
        format!(" Best so far: {name}, {} {}.", gain_in(what, effect.estimate), interval_words(what, effect))
    });
    let more = more_runs.map_or(String::new(), |more| {
        format!(
            " About {} would decide it.",
            count(more as usize, if shown.experiment.workload.live.is_some() { "more slot" } else { "more run" })
        )
    });
    Line::new()
        .with(Tone::Warn, "Not decided")
        .plain(glued(&format!(" after {runs}; until it is, leave it to the operating system.{best}{more}")))
}

/// Describes a candidate that would win, but for guards that may still be worse.
fn open_guards(shown: Shown<'_>) -> Option<String> {
    let best = shown.standing.arms.iter().find(|arm| arm.verdict == Some(ArmVerdict::Wins))?;
    let guards = &shown.experiment.workload.guards;
    let is_open = |found: &&GuardStanding| found.arm == best.arm && found.verdict == GuardVerdict::Open;
    let open = shown.standing.guards.iter().filter(is_open).filter_map(|found| guards.get(found.guard));
    let open: Vec<String> = open.map(|guard| named(&guard.name)).collect();
    (!open.is_empty()).then(|| {
        let name = named(&shown.experiment.arms[best.arm].spoken());
        let margin = percent(shown.experiment.policy.guard_margin);
        format!(
            "{name} is {}, but it is not proven that {} is less than {margin} worse there. Until it is, leave it to the operating system.",
            at_least(shown, best.effect.as_ref()),
            open.join(" and "),
        )
    })
}

fn unsound(shown: Shown<'_>, why: &[Doubt]) -> Line {
    let doubts: Vec<String> = why.iter().map(|doubt| doubt_in_words(shown, doubt)).collect();
    // The runs themselves are sound in this case.
    if let [Doubt::CoarseMetric { .. }] = why {
        let sentence = format!(" {} Until then, leave it to the operating system.", doubts.join(" "));
        return Line::new().with(Tone::Warn, "Not decided.").plain(glued(&sentence));
    }
    let sentence = format!(" {} Leave it to the operating system.", doubts.join(" "));
    Line::new().with(Tone::Warn, "Nothing can be recommended.").plain(glued(&sentence))
}

/// Describes a coarse metric and its remedies: a finer metric, or a margin of at least two steps.
fn coarse(shown: Shown<'_>, step: f64) -> String {
    let name = named(&shown.experiment.workload.metric.name);
    let margin = shown.experiment.policy.margin;
    let enough = (2.0 * step * 1000.0).ceil() / 1000.0;
    let or = if enough <= MOST_MARGIN {
        format!(", or accept that smaller differences do not count: --margin {}", percent(enough).replace(' ', ""))
    } else {
        String::new()
    };
    format!(
        "The numbers of {name} are {} apart, too coarse to show a difference of {}. Use a metric with more digits{or}.",
        percent(step),
        percent(margin),
    )
}

pub(super) fn doubt_in_words(shown: Shown<'_>, doubt: &Doubt) -> String {
    let name = |arm: usize| shown.experiment.arms.get(arm).map_or_else(String::new, |arm| named(&arm.spoken()));
    match doubt {
        Doubt::BaselineFails { failures } => {
            format!("The OS default failed {}, so there is nothing to compare with.", count(*failures as usize, "time"))
        }
        Doubt::CoarseMetric { step } => coarse(shown, *step),
        Doubt::ConstantMetric { run } => format!(
            "{} is {} in every run, so it measures nothing here{}. Use a metric that the work changes.",
            named(&shown.experiment.workload.metric.name),
            run.quantity,
            quoted(": ", run),
        ),
        Doubt::FarApartMetric { times, least, greatest } => format!(
            "The values of {} are {}x apart in runs that took about the same time: {}{} and {}{}. Check that they say the same, and in one unit.",
            named(&shown.experiment.workload.metric.name),
            significant(*times),
            least.quantity,
            quoted(" in ", least),
            greatest.quantity,
            quoted(" in ", greatest),
        ),
        Doubt::CarryOver(carry) => format!(
            "Runs after {} are {} {}: it leaves an effect behind, such as heat or a full cache.",
            name(carry.after_arm),
            size(carry.slower),
            if carry.slower > 0.0 { "worse" } else { "better" },
        ),
        Doubt::GuardWorse { guard, arm, estimate } => {
            let guards = &shown.experiment.workload.guards;
            let guard = guards.get(*guard).map_or_else(String::new, |guard| named(&guard.name));
            // An increase from zero has no ratio.
            let worse = if estimate.abs() < 100.0 { format!(" {}", size(*estimate)) } else { String::new() };
            let is_better = shown.standing.arms.get(*arm).is_some_and(|arm| arm.verdict == Some(ArmVerdict::Wins));
            format!("{} {}makes {guard}{worse} worse.", name(*arm), if is_better { "is better, but " } else { "" })
        }
    }
}

/// Returns the quoted output line of a run after a joint; empty if no line is known.
fn quoted(joint: &str, run: &QuotedQuantity) -> String {
    if run.line.is_empty() { String::new() } else { format!("{joint}\"{}\"", printable(&run.line)) }
}

/// Returns the commands that apply a winner, one line each.
pub fn apply(shown: Shown<'_>) -> Vec<Line> {
    let (Verdict::Wins { .. }, Some((arm, _))) = (&shown.standing.verdict, shown.winner()) else {
        let is_open = matches!(shown.standing.verdict, Verdict::Undecided { .. });
        return resume(shown).filter(|_| is_open).into_iter().collect();
    };
    let command = in_a_shell(&shown.experiment.workload.command);
    if let Some(parts) = &shown.experiment.workload.parts {
        return parts::apply(shown, parts, arm);
    }
    if let Some(memory) = &arm.memory {
        return apply_with_memory(arm, memory, &command);
    }
    if arm.at_full_speed {
        return vec![
            Line::new()
                .plain("    ")
                .strong(format!("{} {command}", suggestion::typed(&suggested_command::run_at_full_speed(&[])))),
        ];
    }
    let Some(cpus) = &arm.cpus else { return Vec::new() };
    if let Some(live) = &shown.experiment.workload.live {
        return if arm.roles.is_empty() { apply_live(shown, live, cpus) } else { parts::apply_live(shown, live, arm) };
    }
    let machine = &shown.experiment.machine;
    let text = |notation| {
        let lines = print(notation, cpus, &cpus.iter().collect::<Vec<_>>(), machine);
        lines.into_iter().find_map(|line| line.text.filter(|_| !line.secondary))
    };
    let mut lines = vec![suggestion::run_line(&arm.name, None, None, &command)];
    if Notation::of_shell(machine) == Notation::Taskset {
        lines.extend(text(Notation::Taskset).map(|taskset| format!("{taskset} {command}")));
        lines.extend(text(Notation::Systemd).map(|unit| format!("{unit}    (systemd)")));
    }
    lines.extend(text(Notation::Windows).map(|start| format!("{start}    (Windows)")));
    lines.into_iter().map(|line| Line::new().plain("    ").strong(line)).collect()
}

/// Returns the commands for a winner with a memory policy; other tools take cpus and nodes separately.
fn apply_with_memory(arm: &Arm, memory: &ArmMemory, command: &str) -> Vec<Line> {
    let on = if arm.cpus.is_some() { arm.placement() } else { Name::All.word() };
    let mut lines = vec![suggestion::run_line(on, Some(&memory.policy), None, command)];
    let numactl = memory.mode().map(|mode| match mode {
        Mode::Local => "--localalloc".to_owned(),
        Mode::Bind => format!("--membind={}", memory.nodes),
        Mode::Preferred if memory.nodes.len() == 1 => format!("--preferred={}", memory.nodes),
        Mode::Preferred => format!("--preferred-many={}", memory.nodes),
        Mode::Interleave => format!("--interleave={}", memory.nodes),
        Mode::Weighted => format!("--weighted-interleave={}", memory.nodes),
    });
    let cpus = arm.cpus.as_ref().map_or_else(String::new, |cpus| format!("--physcpubind={cpus} "));
    lines.extend(numactl.map(|memory| format!("numactl {cpus}{memory} {command}")));
    lines.into_iter().map(|line| Line::new().plain("    ").strong(line)).collect()
}

/// Returns the commands for running processes: a rule for future ones, and commands that place the present ones.
fn apply_live(shown: Shown<'_>, live: &Live, cpus: &CpuSet) -> Vec<Line> {
    let rule =
        shown.stored.map(|number| suggestion::typed(&suggested_command::keep_add_winner_for(number, &live.matches)));
    let units = live.matches.iter().filter_map(|text| text.strip_prefix("unit="));
    let units = units.map(|unit| format!("systemctl set-property {} AllowedCPUs={cpus}", in_shell(unit)));
    let now =
        live.processes.iter().map(|process| format!("taskset --all-tasks --cpu-list --pid {cpus} {}", process.id));
    rule.into_iter().chain(units).chain(now).map(|line| Line::new().plain("    ").strong(line)).collect()
}

/// Returns the command that continues the experiment, if more runs may decide it.
pub(super) fn resume(shown: Shown<'_>) -> Option<Line> {
    if shown.all_failed() || !shown.is_any_alive() {
        return None;
    }
    let number = shown.stored?;
    let command = match &shown.experiment.suite {
        Some(_) => suggested_command::try_suite_resume(),
        None => suggested_command::try_resume(number),
    };
    Some(Line::new().plain("    ").strong(suggestion::typed(&command)))
}
