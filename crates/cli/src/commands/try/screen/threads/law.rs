//! The scaling of a program: the law in two lines, the load of one thread, and remarks on untested pairs.

use corewise_model::trial::{ThreadOccupancy, ThreadsReport, trial_blocks};
use corewise_statistics::experiment::{
    CellStanding, LawFit, OpenInterval, RunBlock, ScalingLaw, ValueInterval, Verdict,
};
use corewise_statistics::order::median;

use super::answer::{choose_cell, is_pinned, threads_of_arm};
use super::{format_list, format_threads};
use crate::commands::r#try::screen::ShownExperiment;
use crate::commands::r#try::screen::standings::format_significant;
use crate::draw::gain::{format_percent, format_size};
use crate::draw::number::{format_count, format_decimal};
use crate::draw::printable::printable_name;
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::glue_numbers;

/// Share of its time below which a computing thread counts as waiting.
const BUSY: f64 = 0.95;
/// Minimum number of common blocks for a comparison of two cells.
const FEWEST_BLOCKS: usize = 4;
/// Share of its time below which a thread hardly needs a cpu.
const WAITING: f64 = 0.1;
/// Load above which a program has several threads.
const MORE_THAN_ONE: f64 = 1.05;

/// Returns the lines.
pub fn draw_lines(shown: ShownExperiment<'_>, report: &ThreadsReport) -> Vec<StyledLine> {
    let mut sentences = match &report.law {
        // A single number of threads has no scaling.
        _ if report.standing.counts.is_none() => Vec::new(),
        LawFit::Fitted(law) => describe_fit(shown, report, law),
        LawFit::TooFewCounts { counts } => vec![format!(
            "How it scales: no law is fitted, because that needs four numbers of threads up to the number of cpus \
                ({}); there {}.",
            report.standing.cpus,
            if *counts == 1 { "is 1".to_owned() } else { format!("are {counts}") }
        )],
        LawFit::TooFewBlocks { blocks } => {
            vec![format!(
                "How it scales: no law is fitted, because that needs 8 whole blocks; so far there {}.",
                if *blocks == 1 { "is 1".to_owned() } else { format!("are {blocks}") }
            )]
        }
    };
    sentences.extend(report.occupancy.as_ref().map(|occupancy| describe_busy(shown, report, occupancy)));
    let mut lines: Vec<StyledLine> =
        sentences.into_iter().map(|sentence| StyledLine::new().plain(glue_numbers(&sentence))).collect();
    lines.extend(draw_faster_elsewhere(shown, report));
    lines
}

fn describe_fit(shown: ShownExperiment<'_>, report: &ThreadsReport, law: &ScalingLaw) -> Vec<String> {
    let place = if is_pinned(report) { "pinned" } else { "OS default" };
    let most = law.counts.last().copied().unwrap_or_default();
    let mut first = format!(
        "How it scales (Universal Scalability Law, {} threads, {place}): contention {}, coherency {}; {}.",
        format_list(&law.counts),
        format_share(&law.contention),
        format_share(&law.coherency),
        describe_peak(law, most),
    );
    if law.misfit > shown.experiment.policy.margin_ln() {
        first += &format!(
            " The law differs from the measurements by {}: it fits this program badly, and its intervals hold only for programs that follow it.",
            format_size(law.misfit)
        );
    }
    let more =
        report.standing.cells.iter().map(|cell| cell.cell.threads).filter(|threads| *threads > report.standing.cpus);
    if more.max().is_some() {
        first += &format!(
            " With more than {} threads, threads wait for cpus, which the law does not cover.",
            report.standing.cpus
        );
    }
    vec![first]
}

/// Formats a share as "3.1 % [2.4, 4.0]".
fn format_share(interval: &ValueInterval) -> String {
    let [estimate, low, high] =
        [interval.estimate, interval.low, interval.high].map(|share| format_significant(100.0 * share));
    format!("{estimate} % [{low}, {high}]")
}

/// Describes the number of threads with the highest throughput; `most` is the largest number that was fitted.
fn describe_peak(law: &ScalingLaw, most: u32) -> String {
    let no_peak = format!("no peak up to {}", format_threads(most));
    let speed_up = format_multiple(&law.peak_speed_up);
    match law.peak_threads.estimate {
        None if law.peak_speed_up.estimate.is_none() => no_peak,
        None => format!("{no_peak}, and at most {speed_up} the throughput of one thread"),
        Some(peak) if peak > f64::from(most) => format!(
            "{no_peak}; extrapolated, the peak is at {} threads, with {speed_up} the throughput of one thread",
            format_ends(&law.peak_threads, "", 0),
        ),
        Some(_) => {
            format!(
                "peak at {} threads, with {speed_up} the throughput of one thread",
                format_ends(&law.peak_threads, "", 1)
            )
        }
    }
}

/// Formats a multiple as "9.6x [8.8, 10.9]".
fn format_multiple(interval: &OpenInterval) -> String {
    format_ends(interval, "x", 1)
}

fn format_ends(interval: &OpenInterval, unit: &str, decimals: usize) -> String {
    let text = |value: Option<f64>| value.map_or_else(|| "…".to_owned(), |value| format_decimal(value, decimals));
    format!("{}{unit} [{}, {}]", text(interval.estimate), text(interval.low), text(interval.high))
}

/// Describes whether more threads than cpus can gain, the measurement first.
fn describe_busy(shown: ShownExperiment<'_>, report: &ThreadsReport, occupancy: &ThreadOccupancy) -> String {
    let cpus = report.standing.cpus;
    let of = |share: f64| format_percent((share * 100.0).round() / 100.0);
    let range = format!("{} to {} in {}", of(occupancy.least), of(occupancy.most), format_count(occupancy.runs, "run"));
    let measured = find_best_beyond_cpus(shown, report).map_or_else(String::new, |best| {
        format!("As measured, {best} threads are better on {}. ", format_count(cpus as usize, "cpu"))
    });
    if occupancy.median < WAITING {
        return format!(
            "{measured}One thread computes {} of the time ({range}) and waits for the rest: more cpus would not help.",
            of(occupancy.median)
        );
    }
    if occupancy.median < BUSY {
        let each = 1.0 / occupancy.median;
        let all = (f64::from(cpus) * each).round();
        return format!(
            "{measured}One thread computes {} of the time ({range}) and waits for the rest: about {} threads per cpu \
                could keep the cpus busy ({} threads on {}).",
            of(occupancy.median),
            format_decimal(each, 1),
            format_decimal(all, 0),
            format_count(cpus as usize, "cpu")
        );
    }
    if occupancy.median > MORE_THAN_ONE {
        return format!(
            "{measured}With one requested thread, the program computes on {} cpus at a time ({range}).",
            format_decimal(occupancy.median, 1)
        );
    }
    let gain = if measured.is_empty() {
        "more threads than cpus cannot gain by filling waits"
    } else {
        "the gain does not come from filling waits"
    };
    format!("{measured}One thread keeps its cpu busy ({}; {range}): {gain}.", of(occupancy.median))
}

/// Returns the proven best number of threads, if it is above the number of cpus.
fn find_best_beyond_cpus(shown: ShownExperiment<'_>, report: &ThreadsReport) -> Option<u32> {
    let Verdict::Wins { arm } = report.standing.counts.as_ref()?.standing.verdict else { return None };
    Some(threads_of_arm(shown, arm)).filter(|threads| *threads > report.standing.cpus)
}

/// Names a cell that was better than the recommended one by the margin, in their common blocks. The questions do not
/// test such pairs, for example another number of threads, pinned.
fn draw_faster_elsewhere(shown: ShownExperiment<'_>, report: &ThreadsReport) -> Option<StyledLine> {
    let wanted = report.standing.find_cell(choose_cell(shown, report)?)?;
    let margin = shown.experiment.policy.margin_ln();
    // Arm 0 is compared with its whole column, and each number with itself.
    let is_asked = |cell: &CellStanding| {
        cell.cell.threads == wanted.cell.threads || (wanted.arm == 0 && cell.cell.pinned == wanted.cell.pinned)
    };
    let cells = report.standing.cells.iter().filter(|cell| !is_asked(cell)).map(|cell| cell.arm);
    let better = cells.filter_map(|arm| Some((arm, median_lead(shown, arm, wanted.arm)?)));
    let better = better.filter(|(_, lead)| *lead >= margin);
    let (arm, lead) = better.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let text = format!(
        "{} was better than that by {} in the blocks that had both, but this experiment does not test that pair.",
        printable_name(&shown.experiment.arms.get(arm)?.spoken_name()),
        format_size(lead)
    );
    Some(StyledLine::new().with(TextTone::Warn, "Note: ").plain(glue_numbers(&text)))
}

/// Returns the lead of an arm over another: the median over the blocks with a value of both.
fn median_lead(shown: ShownExperiment<'_>, arm: usize, other: usize) -> Option<f64> {
    let blocks = trial_blocks(shown.trials, &shown.experiment.workload.metric);
    let of = |block: &RunBlock, arm: usize| {
        let values: Vec<f64> = block.runs.iter().filter(|run| run.arm == arm).filter_map(|run| run.x).collect();
        (!values.is_empty()).then(|| median(&values))
    };
    let leads: Vec<f64> = blocks.iter().filter_map(|block| Some(of(block, other)? - of(block, arm)?)).collect();
    (leads.len() >= FEWEST_BLOCKS).then(|| median(&leads))
}
