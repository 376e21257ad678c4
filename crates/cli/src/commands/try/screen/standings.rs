//! The table of the placements: runs, median, effect, interval, verdict.

use corewise_model::experiment::{ArmStanding, ArmState, ArmVerdict, Doubt, OutReason, Policy, Verdict, What};
use corewise_model::quantity::QuantityUnit;
use corewise_model::trial::Metric;

use super::Shown;
use super::gain::{gain_in, interval_in, percent};
use crate::draw::grid::{Column, Grid};
use crate::draw::number::{ABSENT, decimal, duration};
use crate::draw::printable::{bounded, named, printable};
use crate::draw::text::{Line, Tone};

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
/// Maximum width of a unit behind a number, including the space in front.
const LONGEST_SUFFIX: usize = 11;

/// Returns the table, the best first.
pub fn standings(shown: Shown<'_>) -> Grid {
    let what = shown.experiment.policy.what;
    let of_what = match what {
        What::Typical => None,
        What::Mean => Some(Column::number("mean", "", 0)),
        What::Tail => Some(Column::number("slow", "", 0)),
    };
    let first = [
        Column::text("placement", 0).shrinking_to(shortest_name(shown)),
        Column::number("cpus", "", 6),
        Column::text("cpu list", 0).for_documents(),
        Column::number(if shown.experiment.workload.live.is_some() { "slots" } else { "runs" }, "", 3),
        Column::number("median", metric_name(shown), 2),
    ];
    let rest = [
        Column::number("vs OS", if what == What::Tail { "of 100" } else { "paired" }, 0),
        Column::text("", 1),
        Column::number("interval", "", 2).named("interval"),
        Column::text("", 5).named("its picture"),
        Column::text("verdict", 1).shrinking_to(10),
    ];
    let mut grid = Grid::new(first.into_iter().chain(of_what).chain(rest).collect());
    let reach = reach(shown);
    for standing in in_order(shown) {
        grid.row(row(shown, standing, reach));
    }
    grid
}

/// Returns the minimum width of names. Placements of roles begin alike, and differ only at their ends.
fn shortest_name(shown: Shown<'_>) -> usize {
    let arms = &shown.experiment.arms;
    if arms.iter().any(|arm| !arm.roles.is_empty()) { SHORTEST_NAME_OF_ROLES } else { SHORTEST_NAME }
}

/// Returns the name of the metric; empty for wall time.
pub fn metric_name(shown: Shown<'_>) -> String {
    if shown.is_time() { String::new() } else { bounded(&shown.experiment.workload.metric.name, LONGEST_UNIT) }
}

/// Sorts the arms: the baseline first, then by estimate, the best first, and arms without an estimate last.
fn in_order(shown: Shown<'_>) -> Vec<&ArmStanding> {
    let mut arms: Vec<&ArmStanding> = shown.standing.arms.iter().collect();
    let rank = |arm: &ArmStanding| arm.effect.as_ref().map_or(f64::NEG_INFINITY, |effect| effect.estimate);
    arms[1..].sort_by(|a, b| rank(b).total_cmp(&rank(a)).then(a.arm.cmp(&b.arm)));
    arms
}

fn row(shown: Shown<'_>, standing: &ArmStanding, reach: f64) -> Vec<Line> {
    let arm = &shown.experiment.arms[standing.arm];
    let plain = |text: String| Line::new().plain(text);
    let what = shown.experiment.policy.what;
    let cpus = arm.cpus.as_ref().map_or_else(String::new, |cpus| cpus.len().to_string());
    let list = arm
        .cpus
        .as_ref()
        .map_or_else(|| if arm.roles.is_empty() { "all".to_owned() } else { String::new() }, ToString::to_string);
    let (against, low_high, bar) = match &standing.effect {
        _ if standing.arm == 0 && what == What::Tail => (String::new(), String::new(), String::new()),
        _ if standing.arm == 0 => ("1.00".to_owned(), String::new(), String::new()),
        None => (ABSENT.to_owned(), String::new(), String::new()),
        Some(effect) => (gain_in(what, effect.estimate), interval_in(what, effect), bar(standing, reach)),
    };
    let is_chosen = matches!(shown.standing.verdict, Verdict::Wins { arm } if arm == standing.arm);
    let name = named(&arm.spoken());
    let first = [
        if is_chosen { Line::new().strong(name) } else { plain(name) },
        plain(cpus),
        plain(list),
        plain(standing.runs.to_string()),
        plain(standing.median.map_or_else(|| ABSENT.to_owned(), |x| value(shown, x))),
    ];
    let of_what = (what != What::Typical).then(|| plain(cost(shown, standing).unwrap_or_else(|| ABSENT.to_owned())));
    let rest = [
        plain(against),
        arrow(&shown.experiment.policy, standing),
        plain(low_high),
        Line::new().faint(bar),
        verdict(shown, standing, is_chosen),
    ];
    first.into_iter().chain(of_what).chain(rest).collect()
}

/// Returns the mean of an arm's runs, or its share of slow runs, by the deciding question. The baseline's value is
/// from the first candidate's blocks.
fn cost(shown: Shown<'_>, standing: &ArmStanding) -> Option<String> {
    let what = shown.experiment.policy.what;
    let (arms, is_baseline) = (&shown.standing.arms, standing.arm == 0);
    let answers = if is_baseline { &arms.get(1)?.answers } else { &standing.answers };
    let [candidate, baseline] = answers.iter().find(|answer| answer.what == what)?.costs?;
    let cost = if is_baseline { baseline } else { candidate };
    match what {
        What::Tail => Some(percent(cost)),
        _ => Some(value(shown, arms[0].median? + cost.ln())),
    }
}

/// Formats a judged value of the experiment's metric.
pub fn value(shown: Shown<'_>, x: f64) -> String {
    metric_value(&shown.experiment.workload.metric, &shown.unit(), x)
}

/// Formats a judged value of a metric.
pub fn metric_value(metric: &Metric, unit: &QuantityUnit, x: f64) -> String {
    let value = metric.value(x);
    if metric.is_wall_time() { duration(value * 1e9) } else { significant(value) + &shown_unit(unit) }
}

/// Returns the suffix of a unit. A long label is left out, as the metric's name is usually enough.
fn shown_unit(unit: &QuantityUnit) -> String {
    let text = printable(&unit.suffix());
    if text.chars().count() > LONGEST_SUFFIX { String::new() } else { text }
}

/// Formats a value with at least three significant digits.
pub fn significant(value: f64) -> String {
    let decimals = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i32).clamp(0, 9) };
    decimal(value, decimals.unsigned_abs() as usize)
}

/// Returns the mark of a standing: an arrow only if the effect is proven and reaches the margin.
pub fn arrow(policy: &Policy, standing: &ArmStanding) -> Line {
    let reaches = standing.effect.as_ref().is_some_and(|effect| effect.estimate.abs() >= policy.margin_of(policy.what));
    match standing.verdict {
        None => Line::new(),
        Some(ArmVerdict::Wins) if reaches => Line::new().with(Tone::Good, "↑"),
        Some(ArmVerdict::Worse) if reaches => Line::new().with(Tone::Warn, "↓"),
        Some(ArmVerdict::NoMaterialDifference | ArmVerdict::RealButBelowMargin) => Line::new().faint("≈"),
        _ => Line::new().faint("?"),
    }
}

fn verdict(shown: Shown<'_>, standing: &ArmStanding, is_chosen: bool) -> Line {
    let margin = percent(shown.experiment.policy.margin);
    let Some(verdict) = standing.verdict else { return Line::new() };
    if matches!(standing.state, ArmState::Out { why: OutReason::GuardWorse, .. }) {
        return Line::new().with(Tone::Warn, "a guard is worse");
    }
    let text = match verdict {
        ArmVerdict::Wins if is_chosen => return Line::new().with(Tone::Good, "wins"),
        ArmVerdict::Wins => "better too".to_owned(),
        ArmVerdict::RealButBelowMargin => format!("better by less than {margin}"),
        ArmVerdict::NoMaterialDifference => "no difference".to_owned(),
        ArmVerdict::Worse => return Line::new().with(Tone::Warn, "worse"),
        ArmVerdict::NotBetterByMargin => format!("not {margin} better"),
        ArmVerdict::Failed => return Line::new().with(Tone::Warn, "failed"),
        ArmVerdict::Undecided if is_constant(shown) => "no measurement".to_owned(),
        ArmVerdict::Undecided => match standing.state {
            ArmState::Out { why: OutReason::BehindLeader, .. } => "behind, given up".to_owned(),
            ArmState::Out { why: OutReason::NotBetterByMargin, .. } => "numbers too coarse".to_owned(),
            _ => "undecided".to_owned(),
        },
    };
    Line::new().faint(text)
}

fn is_constant(shown: Shown<'_>) -> bool {
    shown.standing.checks.doubts.iter().any(|doubt| matches!(doubt, Doubt::ConstantMetric { .. }))
}

/// Returns the effect at either end of the bars.
fn reach(shown: Shown<'_>) -> f64 {
    let ends = shown
        .standing
        .arms
        .iter()
        .filter_map(|arm| arm.effect.as_ref())
        .flat_map(|effect| [Some(effect.estimate), effect.low, effect.high].into_iter().flatten().map(f64::abs));
    ends.fold(NARROWEST, f64::max).min(WIDEST)
}

/// Draws the interval, such as "    ├──●───┤", with "│" at no difference.
fn bar(standing: &ArmStanding, reach: f64) -> String {
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
