//! The nodes of an experiment over many machines, those to look at first.

use corewise_model::fleet::experiment::{NodeArmConclusion, NodeConclusion};
use corewise_statistics::experiment::ArmVerdict;

use super::ShownFleet;
use crate::draw::gain::{format_gain_in, format_interval_in};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::format_count;
use crate::draw::printable::{printable_name, printable_prefix};
use crate::draw::story::StoryPart;
use crate::draw::text::{StyledLine, TextTone};

/// Number of rows on a screen.
const MOST_ROWS: usize = 20;
/// Maximum columns of a reason.
const LONGEST_REASON: usize = 100;

/// Composes the table of the nodes to look at first.
pub(super) fn compose_nodes(shown: ShownFleet<'_>) -> Vec<StoryPart> {
    compose_table(shown, MOST_ROWS)
}

/// Composes the table of all nodes, if the other one lacks some.
pub(super) fn compose_all(shown: ShownFleet<'_>) -> Vec<StoryPart> {
    if shown.found.nodes.len() > MOST_ROWS { compose_table(shown, usize::MAX) } else { Vec::new() }
}

fn compose_table(shown: ShownFleet<'_>, most: usize) -> Vec<StoryPart> {
    let Some(arm) = shown.shown_arm() else { return Vec::new() };
    let mut grid = TextGrid::new(vec![
        GridColumn::text("node", 0).shrinking_to(8),
        GridColumn::text("processor", 2).shrinking_to(10),
        GridColumn::number("blocks", "", 1),
        GridColumn::text(shown.name(arm), 0).shrinking_to(8),
        GridColumn::text("interval", 0),
        GridColumn::text("proven", 0).shrinking_to(10),
    ]);
    let mut nodes: Vec<&NodeConclusion> = shown.found.nodes.iter().collect();
    nodes.sort_by(|one, other| {
        order_of(one, arm).total_cmp(&order_of(other, arm)).then_with(|| one.name.cmp(&other.name))
    });
    for node in nodes.iter().take(most) {
        grid.add_row(draw_row(shown, node, arm));
    }
    let mut parts = vec![grid.into()];
    if nodes.len() > most {
        let left = format!("and {}", format_count(nodes.len() - most, "more node"));
        parts.push(StyledLine::new().faint(left).into_paragraph(2));
    }
    parts
}

/// Returns the place of a node in the table: those with a problem first, then by their effect.
fn order_of(node: &NodeConclusion, arm: usize) -> f64 {
    match node.problem {
        Some(_) => f64::NEG_INFINITY,
        None => find_arm(node, arm).and_then(|arm| arm.effect).map_or(f64::MIN, |effect| effect.estimate),
    }
}

fn find_arm(node: &NodeConclusion, arm: usize) -> Option<&NodeArmConclusion> {
    node.arms.iter().find(|found| found.arm == arm)
}

fn draw_row(shown: ShownFleet<'_>, node: &NodeConclusion, arm: usize) -> Vec<StyledLine> {
    let what = shown.experiment.policy.what;
    let plain = |text: String| StyledLine::new().plain(text);
    let effect = find_arm(node, arm).and_then(|found| found.effect);
    vec![
        StyledLine::new().strong(printable_name(&node.name)),
        plain(printable_name(&node.model)),
        plain(node.blocks.to_string()),
        plain(effect.map_or_else(String::new, |effect| format_gain_in(what, effect.estimate))),
        plain(effect.map_or_else(String::new, |effect| format_interval_in(what, &effect))),
        describe_proof(node, arm),
    ]
}

/// Returns what is proven of a placement on a node, or why nothing can be.
fn describe_proof(node: &NodeConclusion, arm: usize) -> StyledLine {
    let guards = node.worse_guards.iter().filter(|guard| guard.arm == arm);
    let worse: Vec<String> = guards.map(|guard| printable_name(&guard.guard)).collect();
    match (&node.problem, find_arm(node, arm)) {
        (Some(reason), _) => {
            StyledLine::new().with(TextTone::Warn, printable_prefix(&printable_name(reason), LONGEST_REASON))
        }
        (None, _) if !worse.is_empty() => {
            StyledLine::new().with(TextTone::Warn, format!("{} is worse", worse.join(", ")))
        }
        (None, Some(found)) => StyledLine::new().plain(verdict_word(found.verdict)),
        (None, None) if node.blocks > 0 => StyledLine::new().plain("not tried there"),
        (None, None) => StyledLine::new().plain("no result yet"),
    }
}

fn verdict_word(verdict: ArmVerdict) -> &'static str {
    match verdict {
        ArmVerdict::Better | ArmVerdict::Wins | ArmVerdict::FailsMore => "better",
        ArmVerdict::RealButBelowMargin => "better by less than the margin",
        ArmVerdict::NotBetterByMargin | ArmVerdict::NoMaterialDifference => "not better by the margin",
        ArmVerdict::Worse => "worse",
        ArmVerdict::Failed => "failed",
        ArmVerdict::Undecided => "open",
    }
}

/// Returns the names of the nodes on which a placement is proven not to be better by the margin, fails, or makes a guard worse.
pub(super) fn exceptions(shown: ShownFleet<'_>, arm: usize) -> Vec<&str> {
    let is_exception = |node: &&NodeConclusion| {
        let is_not = |found: &NodeArmConclusion| {
            matches!(found.verdict, ArmVerdict::NotBetterByMargin | ArmVerdict::Worse | ArmVerdict::Failed)
        };
        find_arm(node, arm).is_some_and(is_not) || node.worse_guards.iter().any(|guard| guard.arm == arm)
    };
    shown.found.nodes.iter().filter(is_exception).map(|node| node.name.as_str()).collect()
}

/// Returns the sentence about nodes without a result.
pub(super) fn problem_sentence(shown: ShownFleet<'_>) -> Option<String> {
    let failed: Vec<&NodeConclusion> = shown.found.nodes.iter().filter(|node| node.problem.is_some()).collect();
    let first = failed.first()?;
    let reason = printable_prefix(&printable_name(first.problem.as_deref()?), LONGEST_REASON);
    let count = format_count(failed.len(), "node");
    Some(format!("{count} gave no result, or no further one; {}: {reason}", printable_name(&first.name)))
}
