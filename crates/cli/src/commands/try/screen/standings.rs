//! The table of the placements: runs, median, effect, interval, verdict.

use corewise_model::trial::TrialMetric;
use corewise_statistics::experiment::{
    ArmStanding, ArmState, ArmVerdict, ExperimentDoubt, JudgingPolicy, OutReason, QuestionKind, Verdict,
};
use corewise_statistics::quantity::QuantityUnit;

use super::ShownExperiment;
use crate::draw::gain::{format_gain_in, format_interval_in, format_percent};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{ABSENT, format_digits, format_duration, format_duration_digits};
use crate::draw::printable::{make_printable, printable_name, printable_prefix};
use crate::draw::text::{StyledLine, TextTone};

/// Width of an interval's bar in columns.
const BAR: usize = 13;
/// Largest effect at the end of a bar; a single arm that is ten times slower would flatten the other bars.
const WIDEST: f64 = 1.1;
const NARROWEST: f64 = 0.02;
/// Minimum width of a placement's name; narrower terminals lose other columns first.
const SHORTEST_NAME: usize = 12;
const SHORTEST_NAME_OF_ROLES: usize = 34;
/// Maximum width of a metric's name above its medians.
const LONGEST_UNIT: usize = 14;
/// Maximum number of significant digits of a value.
const MOST_DIGITS: i32 = 5;
/// Maximum width of a unit behind a number, including the space in front.
const LONGEST_SUFFIX: usize = 11;

/// Returns the table, the best first.
pub fn draw_standings(shown: ShownExperiment<'_>) -> TextGrid {
    let what = shown.experiment.policy.what;
    let of_what = match what {
        QuestionKind::Typical => None,
        QuestionKind::Mean => Some(GridColumn::number("mean", "", 0)),
        QuestionKind::Tail => Some(GridColumn::number("slow", "", 0)),
    };
    let first = [
        GridColumn::text(shown.candidate_word(), 0).shrinking_to(shortest_name(shown)),
        GridColumn::number("cpus", "", 6),
        GridColumn::text("cpu list", 0).for_documents(),
        GridColumn::number(if shown.experiment.workload.live.is_some() { "slots" } else { "runs" }, "", 3),
        GridColumn::number("median", metric_name(shown), 2),
    ];
    let rest = [
        GridColumn::number(against_words(shown), if what == QuestionKind::Tail { "of 100" } else { "paired" }, 0),
        GridColumn::text("", 1),
        GridColumn::number("interval", "", 2).with_name("interval"),
        GridColumn::text("", 5).with_name("its picture"),
        GridColumn::text("verdict", 1).shrinking_to(10),
    ];
    let mut grid = TextGrid::new(first.into_iter().chain(of_what).chain(rest).collect());
    let reach = bar_reach(shown);
    let medians = format_medians(shown);
    for standing in order_standings(shown) {
        grid.add_row(draw_row(shown, standing, &medians[standing.arm], reach));
    }
    grid
}

/// Returns the title of the effects: "vs OS" or "vs old".
fn against_words(shown: ShownExperiment<'_>) -> String {
    match shown.has_variants() {
        true => format!("vs {}", printable_prefix(&shown.experiment.arms[0].name, LONGEST_UNIT)),
        false => "vs OS".to_owned(),
    }
}

/// Returns the minimum width of names. Placements of roles begin alike, and differ only at their ends.
fn shortest_name(shown: ShownExperiment<'_>) -> usize {
    let arms = &shown.experiment.arms;
    if arms.iter().any(|arm| !arm.roles.is_empty()) { SHORTEST_NAME_OF_ROLES } else { SHORTEST_NAME }
}

/// Returns the name of the metric; empty for wall time.
pub fn metric_name(shown: ShownExperiment<'_>) -> String {
    if shown.is_time() { String::new() } else { printable_prefix(&shown.experiment.workload.metric.name, LONGEST_UNIT) }
}

/// Sorts the arms: the baseline first, then by estimate, the best first, and arms without an estimate last.
fn order_standings(shown: ShownExperiment<'_>) -> Vec<&ArmStanding> {
    let mut arms: Vec<&ArmStanding> = shown.standing.arms.iter().collect();
    let rank = |arm: &ArmStanding| arm.effect.as_ref().map_or(f64::NEG_INFINITY, |effect| effect.estimate);
    arms[1..].sort_by(|a, b| rank(b).total_cmp(&rank(a)).then(a.arm.cmp(&b.arm)));
    arms
}

fn draw_row(shown: ShownExperiment<'_>, standing: &ArmStanding, median: &str, reach: f64) -> Vec<StyledLine> {
    let arm = &shown.experiment.arms[standing.arm];
    let plain = |text: String| StyledLine::new().plain(text);
    let what = shown.experiment.policy.what;
    let cpus = arm.cpus.as_ref().map_or_else(String::new, |cpus| cpus.len().to_string());
    let list = arm
        .cpus
        .as_ref()
        .map_or_else(|| if arm.roles.is_empty() { "all".to_owned() } else { String::new() }, ToString::to_string);
    let (against, low_high, bar) = match &standing.effect {
        _ if standing.arm == 0 && what == QuestionKind::Tail => (String::new(), String::new(), String::new()),
        _ if standing.arm == 0 => ("1.00".to_owned(), String::new(), String::new()),
        None => (ABSENT.to_owned(), String::new(), String::new()),
        Some(effect) => {
            (format_gain_in(what, effect.estimate), format_interval_in(what, effect), draw_bar(standing, reach))
        }
    };
    let is_chosen = matches!(shown.standing.verdict, Verdict::Wins { arm } if arm == standing.arm);
    let name = printable_name(&arm.spoken_name());
    let first = [
        if is_chosen { StyledLine::new().strong(name) } else { plain(name) },
        plain(cpus),
        plain(list),
        plain(standing.runs.to_string()),
        plain(median.to_owned()),
    ];
    let of_what = (what != QuestionKind::Typical)
        .then(|| plain(format_cost(shown, standing).unwrap_or_else(|| ABSENT.to_owned())));
    let rest = [
        plain(against),
        draw_arrow(&shown.experiment.policy, standing),
        plain(low_high),
        StyledLine::new().faint(bar),
        draw_verdict(shown, standing, is_chosen),
    ];
    first.into_iter().chain(of_what).chain(rest).collect()
}

/// Returns the medians of all arms, with enough digits that no difference of half of the margin is hidden.
fn format_medians(shown: ShownExperiment<'_>) -> Vec<String> {
    let medians: Vec<f64> = shown.standing.arms.iter().filter_map(|arm| arm.median).collect();
    let digits = needed_digits(shown, &medians, 2, shown.experiment.policy.margin_of(QuestionKind::Typical) / 2.0);
    let text = |arm: &ArmStanding| arm.median.map_or_else(|| ABSENT.to_owned(), |x| format_to_digits(shown, x, digits));
    shown.standing.arms.iter().map(text).collect()
}

/// Returns the fewest significant digits, `least` or more, with which judged values that differ by `difference` or more
/// look different.
pub(super) fn needed_digits(shown: ShownExperiment<'_>, values: &[f64], least: i32, difference: f64) -> i32 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let are_told_apart = |digits: i32| {
        let hides = |pair: &[f64]| {
            pair[1] - pair[0] >= difference
                && format_to_digits(shown, pair[0], digits) == format_to_digits(shown, pair[1], digits)
        };
        !sorted.windows(2).any(hides)
    };
    (least..MOST_DIGITS).find(|digits| are_told_apart(*digits)).unwrap_or(MOST_DIGITS)
}

/// Formats a judged value with at least this many significant digits; with two, as briefly as elsewhere.
pub(super) fn format_to_digits(shown: ShownExperiment<'_>, x: f64, digits: i32) -> String {
    let metric = &shown.experiment.workload.metric;
    let value = metric.metric_value(x);
    match metric.is_wall_time() {
        _ if digits <= 2 => format_value(shown, x),
        true => format_duration_digits(value * 1e9, digits),
        false => format_digits(value, digits) + &shown_unit(&shown.metric_unit()),
    }
}

/// Returns the mean of an arm's runs, or its share of slow runs, by the deciding question. The baseline's value is
/// from the first candidate's blocks.
fn format_cost(shown: ShownExperiment<'_>, standing: &ArmStanding) -> Option<String> {
    let what = shown.experiment.policy.what;
    let (arms, is_baseline) = (&shown.standing.arms, standing.arm == 0);
    let answers = if is_baseline { &arms.get(1)?.answers } else { &standing.answers };
    let [candidate, baseline] = answers.iter().find(|answer| answer.what == what)?.costs?;
    let cost = if is_baseline { baseline } else { candidate };
    match what {
        QuestionKind::Tail => Some(format_percent(cost)),
        _ => Some(format_value(shown, arms[0].median? + cost.ln())),
    }
}

/// Formats a judged value of the experiment's metric.
pub fn format_value(shown: ShownExperiment<'_>, x: f64) -> String {
    metric_value(&shown.experiment.workload.metric, &shown.metric_unit(), x)
}

/// Formats a judged value of a metric.
pub fn metric_value(metric: &TrialMetric, unit: &QuantityUnit, x: f64) -> String {
    let value = metric.metric_value(x);
    if metric.is_wall_time() { format_duration(value * 1e9) } else { format_significant(value) + &shown_unit(unit) }
}

/// Returns the suffix of a unit. A long label is left out, as the metric's name is usually enough.
fn shown_unit(unit: &QuantityUnit) -> String {
    let text = make_printable(&unit.unit_suffix());
    if text.chars().count() > LONGEST_SUFFIX { String::new() } else { text }
}

/// Formats a value with at least three significant digits.
pub fn format_significant(value: f64) -> String {
    format_digits(value, 3)
}

/// Returns the mark of a standing: an arrow only if the effect is proven and reaches the margin.
pub fn draw_arrow(policy: &JudgingPolicy, standing: &ArmStanding) -> StyledLine {
    let reaches = standing.effect.as_ref().is_some_and(|effect| effect.estimate.abs() >= policy.margin_of(policy.what));
    match standing.verdict {
        None => StyledLine::new(),
        Some(ArmVerdict::Wins) if reaches => StyledLine::new().with(TextTone::Good, "↑"),
        Some(ArmVerdict::Worse) if reaches => StyledLine::new().with(TextTone::Warn, "↓"),
        Some(ArmVerdict::NoMaterialDifference | ArmVerdict::RealButBelowMargin) => StyledLine::new().faint("≈"),
        _ => StyledLine::new().faint("?"),
    }
}

fn draw_verdict(shown: ShownExperiment<'_>, standing: &ArmStanding, is_chosen: bool) -> StyledLine {
    let margin = format_percent(shown.experiment.policy.margin);
    let Some(verdict) = standing.verdict else { return StyledLine::new() };
    if matches!(standing.state, ArmState::Out { why: OutReason::GuardWorse, .. }) {
        return StyledLine::new().with(TextTone::Warn, "a guard is worse");
    }
    let text = match verdict {
        ArmVerdict::Wins if is_chosen => return StyledLine::new().with(TextTone::Good, "wins"),
        ArmVerdict::Wins => "better too".to_owned(),
        ArmVerdict::RealButBelowMargin => format!("better by less than {margin}"),
        ArmVerdict::Better => format!("better; {margin} is open"),
        ArmVerdict::FailsMore => return StyledLine::new().with(TextTone::Warn, "better, but fails more"),
        ArmVerdict::NoMaterialDifference => "no difference".to_owned(),
        ArmVerdict::Worse => return StyledLine::new().with(TextTone::Warn, "worse"),
        ArmVerdict::NotBetterByMargin => format!("not {margin} better"),
        ArmVerdict::Failed => return StyledLine::new().with(TextTone::Warn, "failed"),
        ArmVerdict::Undecided if is_constant(shown) => "no measurement".to_owned(),
        ArmVerdict::Undecided => match standing.state {
            ArmState::Out { why: OutReason::BehindLeader, .. } => "behind, given up".to_owned(),
            ArmState::Out { why: OutReason::NotBetterByMargin, .. } => "numbers too coarse".to_owned(),
            _ => "undecided".to_owned(),
        },
    };
    StyledLine::new().faint(text)
}

fn is_constant(shown: ShownExperiment<'_>) -> bool {
    shown.standing.checks.doubts.iter().any(|doubt| matches!(doubt, ExperimentDoubt::ConstantMetric { .. }))
}

/// Returns the effect at either end of the bars.
fn bar_reach(shown: ShownExperiment<'_>) -> f64 {
    let ends = shown
        .standing
        .arms
        .iter()
        .filter_map(|arm| arm.effect.as_ref())
        .flat_map(|effect| [Some(effect.estimate), effect.low, effect.high].into_iter().flatten().map(f64::abs));
    ends.fold(NARROWEST, f64::max).min(WIDEST)
}

/// Draws the interval, such as "    ├──●───┤", with "│" at no difference.
fn draw_bar(standing: &ArmStanding, reach: f64) -> String {
    let Some(effect) = &standing.effect else { return String::new() };
    let last = BAR - 1;
    let column = |effect: f64| (((effect / reach).clamp(-1.0, 1.0) + 1.0) / 2.0 * last as f64).round() as usize;
    let mut cells = vec![' '; BAR];
    let (low, high) = (effect.low.map_or(0, column), effect.high.map_or(last, column));
    cells[last / 2] = '│';
    cells[low..=high].fill('─');
    if effect.low.is_some() {
        cells[low] = '├';
    }
    if effect.high.is_some() {
        cells[high] = '┤';
    }
    cells[column(effect.estimate)] = '●';
    cells.into_iter().collect::<String>().trim_end().to_owned()
}
