//! Figures of an experiment: the effect of each placement, every run over time, and the differences within blocks.

use std::collections::BTreeMap;

use corewise_model::trial::{Trial, TrialOutcome};
use corewise_statistics::experiment::{ArmStanding, QuestionKind};

use super::ShownExperiment;
use crate::draw::number::format_brief;
use crate::draw::plot::{AxisScale, FigurePlot, PlotAxis, PlotMark, PlotSeries};
use crate::draw::printable::{make_printable, printable_name};
use crate::draw::story::StoryFigure;

/// Maximum number of candidates, the best, with distinguishable differences in one figure.
const MOST_DIFFERENCES: usize = 3;
/// Ratio of the values from which the scale is logarithmic.
const WIDE: f64 = 8.0;

/// Returns the candidates with an estimate, the best first.
fn list_candidates(shown: ShownExperiment<'_>) -> Vec<&ArmStanding> {
    let estimate = |arm: &ArmStanding| arm.effect.map_or(f64::NEG_INFINITY, |effect| effect.estimate);
    let mut arms: Vec<&ArmStanding> = shown.standing.arms.iter().skip(1).filter(|arm| arm.effect.is_some()).collect();
    arms.sort_by(|a, b| estimate(b).total_cmp(&estimate(a)).then(a.arm.cmp(&b.arm)));
    arms
}

fn arm_name(shown: ShownExperiment<'_>, arm: usize) -> String {
    shown.experiment.arms.get(arm).map_or_else(String::new, |arm| match (arm.threads, &arm.cpus) {
        (Some(threads), Some(_)) => format!("{threads} threads, pinned"),
        (Some(threads), None) => format!("{threads} threads"),
        _ => printable_name(&arm.spoken_name()),
    })
}

/// Draws the effect of each candidate with its interval, with lines at no change and at the margin.
pub fn effects_figure(shown: ShownExperiment<'_>) -> Option<StoryFigure> {
    let what = shown.experiment.policy.what;
    let arms = list_candidates(shown);
    let value = |effect: f64| if what == QuestionKind::Tail { 100.0 * effect } else { 100.0 * (effect.exp() - 1.0) };
    let rows: Vec<(f64, &ArmStanding)> = arms.iter().rev().enumerate().map(|(row, arm)| (row as f64, *arm)).collect();
    let margin = shown.experiment.policy.margin_of(what);
    let marks = |of: &dyn Fn(f64, corewise_statistics::experiment::BaselineEffect) -> PlotMark| -> Vec<PlotMark> {
        rows.iter().filter_map(|(row, arm)| Some(of(*row, arm.effect?))).collect()
    };
    let plot = FigurePlot {
        title: format!("What each {} changes", shown.candidate_word()),
        subtitle: format!(
            "the estimate and its interval, each end of which holds with a probability of {} %",
            format_brief(100.0 * (1.0 - shown.experiment.policy.error_rate))
        ),
        across: PlotAxis::new(
            if what == QuestionKind::Tail {
                format!("fewer slow runs of 100 than with {}", shown.baseline_words())
            } else {
                format!("better than {}, %", shown.baseline_words())
            },
            AxisScale::Linear,
        ),
        up: PlotAxis::default().with_names(rows.iter().map(|(row, arm)| (*row, arm_name(shown, arm.arm))).collect()),
        series: vec![PlotSeries {
            name: String::new(),
            marks: [
                marks(&|row, effect| PlotMark::Interval {
                    along: 0,
                    at: row,
                    ends: [effect.low, effect.high].map(|end| end.map(value)),
                }),
                marks(&|row, effect| PlotMark::Dot([value(effect.estimate), row])),
            ]
            .concat(),
        }],
        across_rules: vec![(0.0, "equal".to_owned()), (value(margin), "margin".to_owned())],
        ..FigurePlot::default()
    };
    StoryFigure::from_plot(
        "effects",
        plot,
        "To the right is better. An interval wholly right of “equal” is proven to be better, by its left end at least; the dot is \
         an estimate. An interval that reaches the edge has no end yet, and needs more runs.",
    )
}

/// Returns the counted runs of an arm with their values; `None` for a failed run.
fn arm_values<'a>(shown: ShownExperiment<'a>, arm: usize) -> impl Iterator<Item = (&'a Trial, Option<f64>)> {
    let trials = shown.trials.iter().filter(move |trial| trial.block > 0 && trial.arm == arm);
    trials.map(|trial| match trial.outcome {
        TrialOutcome::Value(value) => (trial, Some(value)),
        TrialOutcome::Failed { .. } => (trial, None),
    })
}

/// Draws every run over time, which shows drift, modes and outliers.
pub fn runs_figure(shown: ShownExperiment<'_>) -> Option<StoryFigure> {
    let arms: Vec<usize> = match shown.threads {
        Some(_) => (0..shown.experiment.arms.len()).collect(),
        None => std::iter::once(0).chain(list_candidates(shown).iter().map(|arm| arm.arm)).collect(),
    };
    let begun = shown.trials.iter().map(|trial| trial.started_unix_ms).min()?;
    let all: Vec<f64> = arms.iter().flat_map(|arm| arm_values(shown, *arm)).filter_map(|(_, value)| value).collect();
    let (low, high) = (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(0.0, f64::max));
    let scale = if low > 0.0 && high / low > WIDE { AxisScale::Logarithmic } else { AxisScale::Linear };
    let last = shown.trials.iter().map(|trial| trial.started_unix_ms).max()?;
    let (unit, of_unit) = match (last - begun) as f64 / 1e3 {
        seconds if seconds < 180.0 => ("seconds", 1.0),
        seconds if seconds < 3.0 * 3600.0 => ("minutes", 60.0),
        _ => ("hours", 3600.0),
    };
    let at = |trial: &Trial| (trial.started_unix_ms - begun) as f64 / 1e3 / of_unit;
    let series = |arm: &usize| PlotSeries {
        name: arm_name(shown, *arm),
        marks: arm_values(shown, *arm)
            .map(|(trial, value)| {
                value.map_or(PlotMark::Cross([at(trial), high]), |value| PlotMark::Dot([at(trial), value]))
            })
            .collect(),
    };
    let metric = &shown.experiment.workload.metric;
    let of_metric = shown.metric_unit();
    let what = match () {
        () if metric.is_wall_time() => "seconds a run".to_owned(),
        () if of_metric.is_bare() => printable_name(&metric.name),
        () => format!("{}, {}", printable_name(&metric.name), make_printable(&of_metric.to_string())),
    };
    let plot = FigurePlot {
        title: "Every run over time".to_owned(),
        subtitle: format!("{what}; {} is better", if metric.higher_is_better { "more" } else { "less" }),
        across: PlotAxis::new(format!("{unit} since the first run"), AxisScale::Linear),
        up: PlotAxis::new(what, scale),
        series: arms.iter().map(series).collect(),
        ..FigurePlot::default()
    };
    StoryFigure::from_plot(
        "runs",
        plot,
        "A dot for each run that counts, a cross for one that failed. Dots that rise or fall together are drift of the machine, which \
                  blocks cancel; two bands of one placement are two modes of the program.",
    )
}

/// Draws the differences within each block for the best candidates, from which everything is computed.
pub fn differences_figure(shown: ShownExperiment<'_>) -> Option<StoryFigure> {
    let metric = &shown.experiment.workload.metric;
    let judged = |arm: usize| -> BTreeMap<u32, f64> {
        arm_values(shown, arm).filter_map(|(trial, value)| Some((trial.block, metric.judged_value(value?)?))).collect()
    };
    let baseline = judged(0);
    let series = |arm: &ArmStanding| {
        let of_block = |(block, x): (u32, f64)| {
            Some(PlotMark::Dot([f64::from(block), 100.0 * ((baseline.get(&block)? - x).exp() - 1.0)]))
        };
        PlotSeries { name: arm_name(shown, arm.arm), marks: judged(arm.arm).into_iter().filter_map(of_block).collect() }
    };
    let candidates = list_candidates(shown);
    let who = match candidates.len() {
        0..=MOST_DIFFERENCES => format!("each {}'s run", shown.candidate_word()),
        _ => format!("the runs of the best {MOST_DIFFERENCES} {}s", shown.candidate_word()),
    };
    let plot = FigurePlot {
        title: "Differences within each block".to_owned(),
        subtitle: format!("{who} beside {}'s run of the same block", shown.baseline_words()),
        across: PlotAxis::new("block", AxisScale::Linear),
        up: PlotAxis::new("better, %", AxisScale::Linear),
        // An empty series for the OS default keeps the candidates' colours as in the figure of all runs.
        series: std::iter::once(PlotSeries::default())
            .chain(candidates.iter().take(MOST_DIFFERENCES).map(|arm| series(arm)))
            .collect(),
        up_rules: vec![(0.0, "equal".to_owned())],
        ..FigurePlot::default()
    };
    StoryFigure::from_plot(
        "differences",
        plot,
        "Above “equal” the placement was better in that block. The verdict rests on these differences alone.",
    )
}
