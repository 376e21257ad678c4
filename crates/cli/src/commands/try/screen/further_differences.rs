//! Further differences between the winner and the OS default, and warnings about the runs.

use corewise_machine::suggested_command;
use corewise_model::trial::{
    ConfirmationStretch, FirstRun, LiveWorkload, SessionTrend, StretchLength, Trial, TrialMetric, TrialObservations,
    TrialOutcome, compare_first_run, find_trend, worse_s,
};
use corewise_statistics::experiment::{GuardStanding, GuardVerdict, QuestionKind, Verdict};
use corewise_statistics::order::{are_apart, median, median_interval};

use super::ShownExperiment;
use super::answer::list_questions;
use super::partial::format_probability;
use super::questions;
use super::standings::format_significant;
use crate::draw::gain::{EffectScale, format_gain, format_interval, format_percent, format_size};
use crate::draw::number::{format_bytes, format_count, format_duration};
use crate::draw::printable::{last_lines, printable_name};
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::glue_numbers;

/// Share of the machine used by other programs from which a warning is shown.
const MUCH: f64 = 0.25;
/// Share of the machine above which they are the likely cause of changes in the course of a session.
const MOST: f64 = 0.5;
/// Ratio of a first run to later ones that other programs do not explain.
const BEYOND_LOAD: f64 = 30.0;
/// Ratio of two numbers of threads from which a program is said to have set itself up differently.
const OTHER_THREADS: f64 = 1.5;
/// Number of threads below which such a difference may be one of looking at the right moment.
const FEW_THREADS: f64 = 4.0;
/// Maximum number of output lines shown of a failed run.
const SHOWN_LINES: usize = 5;

struct BesideQuantity {
    name: &'static str,
    of: fn(&Trial) -> Option<f64>,
    /// Smallest ratio that counts as a difference.
    ratio: f64,
    /// Values below this are ignored, whatever the ratio.
    least: f64,
    /// If true, the medians' intervals must also lie apart, because chance produces such ratios.
    is_close: bool,
    words: fn(f64) -> String,
    is_estimate: fn(&Trial) -> bool,
}

const USUAL: BesideQuantity = BesideQuantity {
    name: "",
    of: |_| None,
    ratio: 1.3,
    least: 0.0,
    is_close: false,
    words: format_significant,
    is_estimate: |_| false,
};

/// Returns a count per run.
fn per_run(trial: &Trial, count: u64) -> Option<f64> {
    Some(count as f64 / f64::from(trial.repeats.max(1)))
}

const QUANTITIES: [BesideQuantity; 7] = [
    BesideQuantity {
        name: "moves to another cpu",
        of: |trial| per_run(trial, trial.observed.migrations?),
        least: 3.0,
        ..USUAL
    },
    BesideQuantity {
        name: "waits",
        of: |trial| per_run(trial, trial.observed.voluntary_switches),
        least: 10.0,
        ..USUAL
    },
    BesideQuantity {
        name: "preemptions",
        of: |trial| per_run(trial, trial.observed.involuntary_switches),
        least: 10.0,
        ..USUAL
    },
    BesideQuantity {
        name: "cpu time in seconds",
        of: |trial| Some((trial.observed.user_s + trial.observed.system_s) / f64::from(trial.repeats.max(1))),
        least: 0.01,
        ..USUAL
    },
    // Placements change these by a few percent at most, which is within the variation of single runs.
    BesideQuantity {
        name: "GHz",
        of: |trial| trial.observed.gigahertz,
        ratio: 1.02,
        least: 0.02,
        is_close: true,
        is_estimate: |trial| trial.observed.gigahertz_is_estimate,
        ..USUAL
    },
    BesideQuantity { name: "watts", of: Trial::mean_watts, ratio: 1.05, least: 0.5, is_close: true, ..USUAL },
    BesideQuantity {
        name: "peak memory",
        of: |trial| Some(trial.observed.peak_memory_bytes as f64),
        least: (8 << 20) as f64,
        words: |value| format_bytes(value as u64),
        ..USUAL
    },
];

/// Returns the lines.
pub fn draw_lines(shown: ShownExperiment<'_>) -> Vec<StyledLine> {
    let mut lines = if shown.threads.is_none() { questions::draw_lines(shown) } else { Vec::new() };
    lines.extend(draw_differences(shown).into_iter().chain(draw_guards(shown)));
    lines.extend(draw_failures(shown));
    lines.extend(draw_warnings(shown));
    lines
}

fn draw_differences(shown: ShownExperiment<'_>) -> Option<StyledLine> {
    let (_, winner) = shown.find_winner()?;
    let values =
        |quantity: &BesideQuantity, arm: usize| shown.counted_trials(arm).filter_map(quantity.of).collect::<Vec<f64>>();
    let of = |quantity: &BesideQuantity, arm: usize| {
        let values = values(quantity, arm);
        (!values.is_empty()).then(|| median(&values))
    };
    let lie_apart = |quantity: &BesideQuantity| {
        let [before, after] = [0, winner.arm].map(|arm| median_interval(&values(quantity, arm), 0.95));
        before.zip(after).is_some_and(|(before, after)| are_apart(before, after))
    };
    let differing = QUANTITIES.iter().filter_map(|quantity| {
        let (before, after) = (of(quantity, 0)?, of(quantity, winner.arm)?);
        let (low, high) = (before.min(after), before.max(after));
        let is_far = high > quantity.ratio * low && high - low >= quantity.least;
        let is_other = is_far && (!quantity.is_close || lie_apart(quantity));
        let words = |arm: usize, value: f64| {
            let mark = if shown.counted_trials(arm).any(quantity.is_estimate) { "~" } else { "" };
            format!("{mark}{}", (quantity.words)(value))
        };
        is_other.then(|| format!("{} {} → {}", quantity.name, words(0, before), words(winner.arm, after)))
    });
    let differing: Vec<String> = differing.collect();
    let text = format!("Also different, per run: {}", differing.join(" · "));
    (!differing.is_empty()).then(|| StyledLine::new().plain(glue_numbers(&text)))
}

/// Lists each guard on each candidate, such as "Guard p99: cpu 1 -1.2 % [-4.0, 2.0], not 10 % worse: typical run and slow
/// runs proven, mean -0.3 %".
pub fn draw_guards(shown: ShownExperiment<'_>) -> Vec<StyledLine> {
    let margin = format_percent(shown.experiment.policy.guard_margin);
    let one = |found: &GuardStanding| {
        let name = printable_name(&shown.experiment.arms.get(found.arm)?.spoken_name());
        let effect_on = |what| found.find_answer(what)?.effect.filter(|effect| effect.estimate.abs() < 100.0);
        let effect = effect_on(QuestionKind::Typical)
            .map_or(String::new(), |effect| format!(" {} {}", format_gain(effect.estimate), format_interval(&effect)));
        let size = effect_on(QuestionKind::Typical).map_or(0.0, |effect| effect.estimate);
        let scale = EffectScale::from_estimate(QuestionKind::Typical, size);
        let mean = effect_on(QuestionKind::Mean)
            .map_or(String::new(), |effect| format!("mean {}", scale.format_gain(effect.estimate)));
        let questions = list_questions(found, found.verdict);
        let verdict = match found.verdict {
            GuardVerdict::NotWorse => format!("not {margin} worse: {questions} proven, {mean}"),
            GuardVerdict::Worse => format!("more than {margin} worse: {questions}"),
            GuardVerdict::LikelyWorse => format!("looks worse: {mean}"),
            GuardVerdict::Open => format!("not decided: {questions} open"),
        };
        Some(format!("{name}{effect}, {}", verdict.trim_end_matches(", ")))
    };
    let of_guard = |(place, guard): (usize, &TrialMetric)| {
        let found = shown.standing.guards.iter().filter(|found| found.guard == place).filter_map(one);
        let text = format!("Guard {}: {}", printable_name(&guard.name), found.collect::<Vec<_>>().join(" · "));
        StyledLine::new().plain(glue_numbers(&text))
    };
    if shown.standing.guards.is_empty() {
        return Vec::new();
    }
    shown.experiment.workload.guards.iter().enumerate().map(of_guard).collect()
}

/// Returns the first failure of each arm that failed. Those of the warm-up count only if there is no other.
fn draw_failures(shown: ShownExperiment<'_>) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for (arm, described) in shown.experiment.arms.iter().enumerate() {
        let failed = shown.trials.iter().filter(|trial| trial.arm == arm).filter_map(|trial| match &trial.outcome {
            TrialOutcome::Failed { why, output } => Some((trial.block > 0, why, output)),
            TrialOutcome::Value(_) => None,
        });
        let (counted, of_warm_up): (Vec<_>, Vec<_>) = failed.partition(|(is_counted, ..)| *is_counted);
        let failed = if counted.is_empty() { of_warm_up } else { counted };
        let Some((_, why, output)) = failed.first() else { continue };
        let text = format!(" of {}: {why}", printable_name(&described.spoken_name()));
        let all = failed.len();
        let what = if shown.experiment.workload.live.is_some() { "failed slot" } else { "failed run" };
        lines.push(StyledLine::new().with(TextTone::Warn, format_count(all, what)).plain(text));
        let last = last_lines(output, SHOWN_LINES);
        lines.extend(last.iter().map(|line| StyledLine::new().faint(format!("    {line}"))));
    }
    lines
}

fn draw_warnings(shown: ShownExperiment<'_>) -> Vec<StyledLine> {
    let counted: Vec<&Trial> = shown.trials.iter().filter(|trial| trial.block > 0).collect();
    let how_many = |is: fn(&TrialObservations) -> bool| counted.iter().filter(|trial| is(&trial.observed)).count();
    let warn = |text: &str| StyledLine::new().with(TextTone::Warn, "Note: ").plain(glue_numbers(text));
    let mut lines = Vec::new();
    // A program that receives its cpus is expected to place its threads on them.
    let is_own = |trial: &&&Trial| {
        let given =
            shown.experiment.arms[trial.arm].cpus.as_ref().filter(|_| !shown.experiment.workload.pins_as.is_empty());
        trial.observed.own_mask.as_ref().is_some_and(|mask| !given.is_some_and(|given| mask.is_subset(given)))
    };
    let own = counted.iter().filter(is_own).count();
    // Programs are compared: nothing is placed that could be moved away.
    let is_placed = shown.experiment.arms.iter().any(|arm| arm.cpus.is_some() || !arm.roles.is_empty());
    if own > 0 && is_placed {
        lines.push(warn(&format!(
            "the program set its own cpus in {}, so the placement did not hold there ({} resets it).",
            format_count(own, "run"),
            suggestion::format_mention(&suggested_command::run_enforced())
        )));
    }
    let stopped = how_many(|observed| observed.quota_stops.is_some_and(|stops| stops > 0));
    if stopped > 0 {
        let threads = counted.iter().map(|trial| trial.observed.most_threads).max().unwrap_or_default();
        lines.push(warn(&format!(
            "a quota of processor time stopped the program in {} of {} (it had up to {}). That limits it more than its cpus do: {} names the quota.",
            stopped,
            format_count(counted.len(), "run"),
            format_count(threads, "thread"),
            suggestion::format_mention(&suggested_command::doctor()),
        )));
    }
    let left = how_many(|observed| observed.left_behind > 0);
    if left > 0 {
        lines.push(warn(&format!("{} left processes behind; corewise ended them.", format_count(left, "run"))));
    }
    let shares: Vec<f64> = counted.iter().filter_map(|trial| trial.observed.others_busy).collect();
    let others = if shares.is_empty() { 0.0 } else { median(&shares) };
    if others >= MUCH {
        let share = format_percent((others * 100.0).round() / 100.0);
        lines
            .push(warn(&format!("other programs used {share} of the machine meanwhile, which makes intervals wider.")));
    }
    if let Some(live) = &shown.experiment.workload.live {
        lines.extend(describe_slots(shown, live).iter().map(|text| warn(text)));
        return lines;
    }
    let least_ratio = if others <= MOST { 1.0 } else { BEYOND_LOAD };
    lines.extend(describe_first_run(shown, least_ratio).iter().map(|text| warn(text)));
    if others <= MOST {
        lines.extend(describe_trend(shown).iter().map(|text| warn(text)));
    }
    lines.extend(describe_own_threads(shown).iter().map(|text| warn(text)));
    if let Some(stretch) = shown.experiment.stretch {
        let of = stretch.of.map_or(String::new(), |number| format!(" It confirms experiment {number}."));
        lines.push(warn(&format!(
            "each trial is {} in a row. The first {} do not count, so that effects of the other placement wear off.{of}",
            format_count(stretch.runs as usize, "run"),
            stretch.skipped
        )));
    } else if let Some(repeats) = shown.describe_repeats() {
        lines.push(warn(&format!("the command is short, so each trial is the mean of {repeats} in a row.")));
    }
    lines
}

/// Warns that the first run of a placement took much longer or shorter than the later ones, by `least_ratio` or more, and so probably did
/// other work.
fn describe_first_run(shown: ShownExperiment<'_>, least_ratio: f64) -> Option<String> {
    let found = compare_first_run(shown.trials).filter(|found| found.ratio.max(found.ratio.recip()) >= least_ratio);
    let FirstRun { arm, is_first_of_all, ratio } = found?;
    let place = match shown.experiment.arms.get(arm) {
        Some(placement) if !is_first_of_all => format!(" with {}", printable_name(&placement.spoken_name())),
        _ => String::new(),
    };
    Some(match ratio >= 1.0 {
        true => format!(
            "the first run{place} took {}x as long as the later ones. It may have left them nothing to do, as a build does; if so, let the command undo that: \
                -- sh -c 'make clean && make'.",
            format_significant(ratio)
        ),
        false => format!(
            "the later runs{place} took {}x as long as the first one. It may have had nothing to do, or the program may do more each time; if so, let the \
                command begin anew in each run.",
            format_significant(ratio.recip())
        ),
    })
}

/// Warns if the runs become slower or faster in the course of the session.
fn describe_trend(shown: ShownExperiment<'_>) -> Option<String> {
    let SessionTrend { worse, p_value } = find_trend(shown.trials, &shown.experiment.workload.metric)?;
    let word = match (worse > 0.0, shown.is_time()) {
        (true, true) => "slower",
        (false, true) => "faster",
        (true, false) => "worse",
        (false, false) => "better",
    };
    Some(format!(
        "the runs with {} became {} {word} from the first third of the session to the last (p {}): one run may change what the next one does, \
         or the machine has changed meanwhile. Runs are compared within blocks, so the answer holds for the mixture; if it is the runs, --prepare \
         can begin each one anew.",
        shown.baseline_words(),
        format_size(worse),
        format_probability(p_value),
    ))
}

/// Warns that a winner with fewer cpus was run with another number of threads: the program set itself up by what it saw.
fn describe_own_threads(shown: ShownExperiment<'_>) -> Option<String> {
    let (arm, standing) = shown.find_winner()?;
    let fewer = arm
        .cpus
        .as_ref()
        .filter(|cpus| arm.threads.is_none() && cpus.len() < shown.experiment.machine.allowed.len())?;
    let threads = |arm: usize| {
        let seen: Vec<f64> = shown.counted_trials(arm).map(|trial| trial.observed.most_threads as f64).collect();
        Some(median(&seen)).filter(|threads| !seen.is_empty() && *threads > 0.0)
    };
    let (before, after) = (threads(0)?, threads(standing.arm)?);
    (before.max(after) >= (OTHER_THREADS * before.min(after)).max(FEW_THREADS)).then(|| {
        format!(
            "with {} the program had {} threads, with {} {}. It sets itself up by the number of cpus, and may win because of that. To hold it: give \
             it its number of threads, or compare it with {} elsewhere (--on).",
            shown.baseline_words(),
            format_significant(before),
            printable_name(&arm.spoken_name()),
            format_significant(after),
            format_count(fewer.len(), "cpu"),
        )
    })
}

/// Describes the limits of slots of running processes, and their cost.
fn describe_slots(shown: ShownExperiment<'_>, live: &LiveWorkload) -> Vec<String> {
    let slot_s = shown.slot_s(live);
    let seconds = |seconds: f64| format_duration(seconds * 1e9);
    let mut notes = Vec::new();
    let is_said = !matches!(shown.standing.verdict, Verdict::Undecided { .. } | Verdict::Unsound { .. });
    if is_said && shown.experiment.stretch.is_none() {
        let what = format!(
            "this holds for slots of {}: slower effects (heat, caches, connections) were not seen.",
            seconds(slot_s)
        );
        let next = match shown.standing.verdict {
            Verdict::Wins { .. } => {
                format!(
                    " `--confirm` tries slots that are {} times as long.",
                    ConfirmationStretch::of_runs(StretchLength::Long, live.slot_s).runs
                )
            }
            _ => String::new(),
        };
        notes.push(format!("{what}{next}"));
    }
    if shown.experiment.workload.metric.reading.as_ref().is_some_and(|reading| reading.kind.is_proxy()) {
        let name = printable_name(&shown.experiment.workload.metric.name);
        notes.push(format!("{name} measures time, not work done; confirm with your own metric."));
    }
    let [worse_s, all_s] = worse_s(shown.trials, shown.standing);
    if worse_s > 0.0 {
        notes.push(format!(
            "{} of {} of slots were spent on placements that look worse.",
            seconds(worse_s),
            seconds(all_s)
        ));
    }
    notes
}
