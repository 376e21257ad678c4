//! The screen of `corewise topology --devices`: devices by the part of the machine that they are attached to.

use corewise_machine::facts::PcieLink;
use corewise_machine::interrupt::device::DeviceInterrupt;
use corewise_machine::placement::describe_cpus;
use corewise_machine::suggested_command;
use corewise_machine::{CpuSet, Level, Machine};
use corewise_model::finding::Finding;

use super::document::PlacedDevice;
use crate::draw::findings::compose_numbered;
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::machine::compose_headline;
use crate::draw::number::{ABSENT, format_decimal};
use crate::draw::story::draw_parts;
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::{glue_words, wrap_line};

/// Maximum number of devices shown; virtual functions can be thousands.
const MOST_ROWS: usize = 64;
/// Maximum number of names shown of a device.
const MOST_NAMES: usize = 4;

/// Returns the devices by place, doubts about the places, and suggested changes.
pub fn draw_screen(machine: &Machine, devices: &[PlacedDevice<'_>], findings: &[Finding], width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    screen.extend(draw_parts(&[compose_headline(machine, &[])], width));
    screen.add_block(draw_table(machine, devices, width));
    screen.add_block(draw_doubts(devices, width));
    screen.add_block(draw_worth_changing(findings, width));
    screen.add_block(draw_next(machine, devices, width));
    screen
}

/// Returns the part of the machine that a device is near to.
fn describe_place(device: &PlacedDevice<'_>, machine: &Machine) -> String {
    if !device.near.is_known {
        return "unknown".to_owned();
    }
    let cpus = &device.near.cpus;
    let node = machine.nodes.iter().position(|node| node.cpus == *cpus);
    match (node, describe_cpus(cpus, machine)) {
        _ if *cpus == machine.online => "all cpus".to_owned(),
        (Some(index), _) => format!("{}:{index} ({cpus})", Level::Node),
        (None, name) if name == cpus.to_string() => format!("cpus {cpus}"),
        (None, name) => format!("{name} ({cpus})"),
    }
}

fn draw_table(machine: &Machine, devices: &[PlacedDevice<'_>], width: usize) -> Vec<StyledLine> {
    let mut grid = TextGrid::new(vec![
        GridColumn::text("near", 0).shrinking_to(10),
        GridColumn::text("device", 0).shrinking_to(16),
        GridColumn::text("kind", 2),
        GridColumn::text("address", 4),
        GridColumn::text("driver", 5).shrinking_to(9),
        GridColumn::text("link", 6),
        GridColumn::number("queues", "", 3),
        GridColumn::number("irqs", "", 3),
        GridColumn::text("now on", 1).shrinking_to(6),
    ])
    .with_indent(2);
    let mut rows: Vec<(String, &PlacedDevice<'_>)> =
        devices.iter().map(|device| (describe_place(device, machine), device)).collect();
    rows.sort_by_key(|(_, device)| (!device.near.is_known, device.near.cpus.lowest(), device.near.cpus.len()));
    let mut above = String::new();
    for (place, device) in rows.iter().take(MOST_ROWS) {
        let shown = if *place == above { String::new() } else { place.clone() };
        above.clone_from(place);
        grid.add_row(draw_row(shown, device));
    }
    let mut lines = wrap_line(&StyledLine::new().strong("Devices, by the cpus near them"), width, 2);
    lines.extend(grid.draw_lines(width));
    if rows.len() > MOST_ROWS {
        let more = format!("  and {} more: --json has all", rows.len() - MOST_ROWS);
        lines.extend(wrap_line(&StyledLine::new().faint(more), width, 2));
    }
    lines
}

pub(super) fn draw_row(place: String, placed: &PlacedDevice<'_>) -> Vec<StyledLine> {
    let PlacedDevice { device, interrupts, .. } = placed;
    let mut names: Vec<&str> = device.names.iter().take(MOST_NAMES).map(String::as_str).collect();
    names.extend((device.names.len() > MOST_NAMES).then_some("…"));
    let title = if names.is_empty() { device.title() } else { names.join(", ") };
    // Interrupts that never came, as of errors and changes of settings, say nothing beside others that did.
    let has_come = |interrupt: &&DeviceInterrupt| interrupt.total_count() > 0;
    let some_came = interrupts.iter().copied().any(|interrupt| has_come(&interrupt));
    let shown = interrupts.iter().copied().filter(|interrupt| !some_came || has_come(interrupt));
    let go = shown.filter_map(|interrupt| interrupt.struck_cpus().or_else(|| interrupt.allowed.clone()));
    let go = go.fold(CpuSet::new(), |all, cpus| all.union(&cpus));
    let absent = || ABSENT.to_owned();
    let cells = [
        device.kind.word().to_owned(),
        device.address.clone().unwrap_or_else(absent),
        device.driver.clone().unwrap_or_else(absent),
        device.link.as_ref().map(format_link).unwrap_or_default(),
        device.queues.map_or_else(absent, |queues| queues.to_string()),
        if interrupts.is_empty() { absent() } else { interrupts.len().to_string() },
        if go.is_empty() { absent() } else { go.to_string() },
    ];
    let head = [StyledLine::new().plain(place), StyledLine::new().strong(title)];
    head.into_iter().chain(cells.iter().map(|text| StyledLine::new().plain(text))).collect()
}

/// Formats the link as "8 GT/s x4", or, if it could be faster, with the maximum: "2.5/16 GT/s x4/16".
fn format_link(link: &PcieLink) -> String {
    let speed = |speed: f64| format_decimal(speed, usize::from(speed.fract() != 0.0));
    let both = |now: Option<String>, most: Option<String>| match (now, most) {
        (Some(now), Some(most)) if now != most => Some(format!("{now}/{most}")),
        (now, most) => now.or(most),
    };
    let speeds = both(link.speed_gt_s.map(speed), link.most_speed_gt_s.map(speed)).map(|text| format!("{text} GT/s"));
    let lanes = |lanes: Option<u32>| lanes.map(|lanes| lanes.to_string());
    let lanes = both(lanes(link.lanes), lanes(link.most_lanes)).map(|text| format!("x{text}"));
    speeds.into_iter().chain(lanes).collect::<Vec<_>>().join(" ")
}

/// Returns doubts about the places of devices; devices with the same doubt share a line.
fn draw_doubts(devices: &[PlacedDevice<'_>], width: usize) -> Vec<StyledLine> {
    let mut doubts: Vec<(&str, Vec<String>)> = Vec::new();
    for placed in devices {
        let Some(doubt) = placed.near.doubt.as_deref() else { continue };
        match doubts.iter_mut().find(|(known, _)| *known == doubt) {
            Some((_, titles)) => titles.push(placed.device.title()),
            None => doubts.push((doubt, vec![placed.device.title()])),
        }
    }
    let line = |(doubt, titles): (&str, Vec<String>)| {
        let shown = titles.iter().take(MOST_NAMES).map(String::as_str);
        let shown: Vec<&str> = shown.chain((titles.len() > MOST_NAMES).then_some("…")).collect();
        wrap_line(&StyledLine::new().plain(" ?  ").strong(shown.join(", ")).plain(format!(": {doubt}")), width, 4)
    };
    doubts.into_iter().flat_map(line).collect()
}

fn draw_worth_changing(findings: &[Finding], width: usize) -> Vec<StyledLine> {
    if findings.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![StyledLine::new().strong("Worth changing")];
    for (index, finding) in findings.iter().enumerate() {
        lines.extend(crate::draw::story::draw_parts(&compose_numbered(index + 1, finding), width));
    }
    lines
}

/// Suggests to try whether nearness matters to a program, if some device is not near all cpus.
fn draw_next(machine: &Machine, devices: &[PlacedDevice<'_>], width: usize) -> Vec<StyledLine> {
    let is_apart = |placed: &&PlacedDevice<'_>| placed.near.is_known && placed.near.cpus != machine.online;
    let Some(first) = devices.iter().find(is_apart) else { return Vec::new() };
    let command = suggestion::format_typed(&suggested_command::try_near(&first.device.title()));
    let line =
        StyledLine::new().plain("Next, to measure whether near matters to a program:  ").strong(glue_words(&command));
    wrap_line(&line, width, 2)
}
