//! Tables of the report.

use corewise_model::fleet::conclude::{DeviatingNode, FleetConclusions, ProblemGroup};
use corewise_model::fleet::drift::{SettingDrift, SettingSpeed, SettingValue};
use corewise_model::fleet::evenness::{ModelLevel, ModelSummary, RackLevel};
use corewise_model::fleet::node_list::format_node_list;
use corewise_model::fleet::{FleetQuantity, ProblemKind};

use super::wording::{
    ChangeWording, describe_causes, describe_chance, describe_deviation, describe_interval, format_value,
};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{format_brief, format_whole};
use crate::draw::printable::{make_printable, printable_prefix};
use crate::draw::text::StyledLine;

/// Maximum columns of a cell that comes from another machine.
const LONGEST_CELL: usize = 60;

fn cell(text: impl AsRef<str>) -> StyledLine {
    StyledLine::new().plain(printable_prefix(&make_printable(text.as_ref()), LONGEST_CELL))
}

/// Draws nodes with their deviations, which `describe` writes.
pub fn draw_nodes(nodes: &[DeviatingNode], describe: ChangeWording, most: usize) -> TextGrid {
    let mut grid = TextGrid::new(vec![
        GridColumn::text("node", 0).shrinking_to(12),
        GridColumn::text("rack", 4).shrinking_to(8),
        GridColumn::text("quantity", 0),
        GridColumn::text("than its peers", 0),
        GridColumn::text("interval", 1),
        GridColumn::number("visits", "", 3),
        GridColumn::text("by chance", 1),
        GridColumn::text("what differs", 2).shrinking_to(16),
    ]);
    for node in nodes.iter().take(most) {
        grid.add_row(vec![
            StyledLine::new().strong(printable_prefix(&make_printable(&node.node), LONGEST_CELL)),
            cell(node.rack.as_deref().unwrap_or_default()),
            StyledLine::new().plain(node.quantity.word()),
            StyledLine::new().strong(describe(node.quantity, node.change)),
            StyledLine::new().plain(describe_interval(node)),
            StyledLine::new().plain(node.visits.to_string()),
            StyledLine::new().plain(describe_chance(node.log_evidence)),
            StyledLine::new().plain(describe_causes(&node.causes)),
        ]);
    }
    grid
}

/// Draws how even the nodes of each model are.
pub fn draw_models(found: &FleetConclusions, most: usize) -> TextGrid {
    let mut grid = TextGrid::new(vec![
        GridColumn::text("processor", 0).shrinking_to(16),
        GridColumn::number("nodes", "", 0),
        GridColumn::text("speed", 0),
        GridColumn::text("spread of 90 % of them", 0),
        GridColumn::text("memory", 2),
        GridColumn::text("compared", 1),
    ]);
    for model in found.models.iter().take(most) {
        let level = |quantity| model.quantities.iter().find(|level| level.quantity == quantity);
        let typical =
            |quantity| level(quantity).map_or_else(String::new, |level| format_value(quantity, level.typical));
        grid.add_row(vec![
            cell(model_name(model)),
            StyledLine::new().plain(format_whole(model.nodes as u64)),
            StyledLine::new().strong(typical(FleetQuantity::Speed)),
            StyledLine::new().plain(level(FleetQuantity::Speed).map_or_else(String::new, describe_evenness)),
            StyledLine::new().plain(typical(FleetQuantity::MemoryLatency)),
            StyledLine::new().plain(if model.is_judged { "yes" } else { "too few" }),
        ]);
    }
    grid
}

fn model_name(model: &ModelSummary) -> &str {
    model.processor.as_deref().unwrap_or(&model.fingerprint)
}

/// Describes how far nine in ten nodes are from the typical one: "-1.2 to +2.5 %".
fn describe_evenness(level: &ModelLevel) -> String {
    let percent = |value: f64| 100.0 * (value / level.typical - 1.0);
    let signed = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, format_brief(value));
    format!("{} to {} %", signed(percent(level.low)), signed(percent(level.high)))
}

/// Draws the racks at another speed.
pub fn draw_racks(found: &FleetConclusions, most: usize) -> TextGrid {
    let mut grid = TextGrid::new(vec![
        GridColumn::text("rack", 0).shrinking_to(12),
        GridColumn::text("processor", 1).shrinking_to(16),
        GridColumn::number("nodes", "", 0),
        GridColumn::text("than its model", 0),
    ]);
    let racks = found.models.iter().flat_map(|model| model.racks.iter().map(move |rack| (model, rack)));
    let mut racks: Vec<(&ModelSummary, &RackLevel)> = racks.collect();
    racks.sort_by(|one, other| other.1.change.abs().total_cmp(&one.1.change.abs()));
    for (model, rack) in racks.into_iter().take(most) {
        grid.add_row(vec![
            cell(&rack.rack),
            cell(model_name(model)),
            StyledLine::new().plain(format_whole(rack.nodes as u64)),
            StyledLine::new().strong(describe_deviation(FleetQuantity::Speed, rack.change)),
        ]);
    }
    grid
}

/// Draws the settings that differ, one row for each value but the most common one.
pub fn draw_drift(drift: &[SettingDrift], most: usize) -> TextGrid {
    let mut grid = TextGrid::new(vec![
        GridColumn::text("setting", 0).shrinking_to(12),
        GridColumn::text("odd value", 0).shrinking_to(12),
        GridColumn::number("nodes", "", 0),
        GridColumn::text("usual value", 0).shrinking_to(12),
        GridColumn::number("nodes", "", 1),
        GridColumn::text("odd nodes are", 0),
        GridColumn::text("names of odd nodes", 2).shrinking_to(12),
    ]);
    for setting in drift.iter().take(most) {
        let Some((usual, odd)) = setting.values.split_first() else { continue };
        for value in odd.iter().rev().take(3) {
            grid.add_row(vec![
                cell(&setting.setting),
                StyledLine::new().strong(printable_prefix(&make_printable(value_text(value)), LONGEST_CELL)),
                StyledLine::new().plain(format_whole(value.nodes as u64)),
                cell(value_text(usual)),
                StyledLine::new().plain(format_whole(usual.nodes as u64)),
                StyledLine::new().plain(describe_speed(value)),
                cell(format_node_list(value.names.iter().map(String::as_str))),
            ]);
        }
    }
    grid
}

fn value_text(value: &SettingValue) -> &str {
    value.value.as_deref().unwrap_or("not set")
}

fn describe_speed(value: &SettingValue) -> String {
    match value.speed {
        Some(SettingSpeed::Differs { change }) => describe_deviation(FleetQuantity::Speed, change),
        Some(SettingSpeed::NoDifference) => "no difference found".to_owned(),
        Some(SettingSpeed::Untested) | None => "not tested".to_owned(),
    }
}

/// Draws the nodes without a result, by reason.
pub fn draw_problems(problems: &[ProblemGroup], most: usize) -> TextGrid {
    let mut grid = TextGrid::new(vec![
        GridColumn::number("nodes", "", 0),
        GridColumn::text("which", 0).shrinking_to(12),
        GridColumn::text("problem", 1),
        GridColumn::text("reason", 0).shrinking_to(24),
    ]);
    for group in problems.iter().take(most) {
        grid.add_row(vec![
            StyledLine::new().plain(format_whole(group.nodes.len() as u64)),
            cell(format_node_list(group.nodes.iter().map(String::as_str))),
            StyledLine::new().plain(ProblemKind::meaning(group.kind).trim_end_matches('.')),
            cell(&group.reason),
        ]);
    }
    grid
}
