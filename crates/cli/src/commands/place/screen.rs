//! The screen of `corewise place`: the cpus on the machine's picture, counts, cpus left out, every notation.

use corewise_machine::placement::ExcludedCpus;
use corewise_machine::placement::notation::{self, Notation, NotationLine};
use corewise_machine::{CpuSet, Level, Machine};

use super::document::{ShownPlacement, describe_warnings};
use crate::app::placement::shorten_message;
use crate::draw::machine::{compose_headline, draw_numbering};
use crate::draw::number::format_count;
use crate::draw::picture::{draw_chosen, wrap_lists};
use crate::draw::story::draw_parts;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::{glue_words, wrap_line};

/// The width of the labels before facts.
const LABEL_WIDTH: usize = 10;
/// Machines with more objects than this show equal objects on one line.
const FEW_OBJECTS: usize = 24;
/// Maximum number of lines shown of a notation.
const MOST_LINES: usize = 4;
/// Maximum length of a text to paste, in widths of the terminal.
const LONGEST_WIDTHS: usize = 3;

/// Returns the whole screen of a placement.
pub fn draw_screen(placed: &ShownPlacement<'_>, width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    screen.extend(draw_parts(&[compose_headline(placed.machine, &[])], width));
    screen.add_block(draw_answer(placed, width));
    screen.add_block(draw_chosen(placed.machine, &placed.resolution.cpus, width, FEW_OBJECTS));
    screen.add_block(placed.description.map_or_else(Vec::new, |description| draw_numbering(description, width)));
    screen.add_block(draw_facts(placed, width));
    screen.add_block(draw_notations(placed, width));
    screen
}

/// Returns the cpus, and the meaning of another tool's notation.
fn draw_answer(placed: &ShownPlacement<'_>, width: usize) -> Vec<StyledLine> {
    let cpus = &placed.resolution.cpus;
    let text = shorten_message(&placed.text.lines().map(str::trim).collect::<Vec<_>>().join("; "));
    let line = StyledLine::new().strong(text).plain(format!("  selects {}: ", format_count(cpus.len(), "cpu")));
    let mut lines = wrap_lists(&line.strong(cpus.to_string()), width, 2);
    for remark in placed.read.into_iter().flat_map(|read| &read.remarks) {
        lines.extend(wrap_line(&StyledLine::new().plain(format!("  {remark}")), width, 2));
    }
    lines
}

/// Returns the share of each level, the order in which threads take the cpus, and the cpus left out.
fn draw_facts(placed: &ShownPlacement<'_>, width: usize) -> Vec<StyledLine> {
    let mut lines = draw_labelled("Uses", describe_levels(placed), width);
    let order = corewise_machine::placement::format_list(&placed.resolution.order);
    if order != placed.resolution.cpus.to_string() {
        lines.push(StyledLine::new().faint(format!("{:<LABEL_WIDTH$}", "Order")).plain(order).cut_to(width));
    }
    let out = placed.resolution.left_out.iter().map(format_left_out).collect();
    lines.extend(draw_labelled("Left out", out, width));
    lines.extend(draw_labelled("Note", describe_warnings(placed), width));
    lines
}

fn draw_labelled(label: &str, items: Vec<String>, width: usize) -> Vec<StyledLine> {
    if items.is_empty() {
        return Vec::new();
    }
    wrap_line(&StyledLine::new().faint(format!("{label:<LABEL_WIDTH$}")).plain(items.join(" · ")), width, LABEL_WIDTH)
}

/// Formats shares as "1 of 2 llcs"; leaves out a level with the same objects as another.
fn describe_levels(placed: &ShownPlacement<'_>) -> Vec<String> {
    let (machine, cpus) = (placed.machine, &placed.resolution.cpus);
    let same = |level: Level, other: Level| machine.objects_of(level) == machine.objects_of(other);
    let part = |level: Level| {
        let objects = machine.objects_of(level);
        let repeats = match level {
            Level::Core => return Some(describe_cores(machine, cpus)),
            Level::Drawer => machine.drawers.is_empty() || same(level, Level::Book),
            Level::Book => machine.books.is_empty() || same(level, Level::Package),
            Level::Group => machine.groups.is_empty() || same(level, Level::Llc),
            Level::Cluster => same(level, Level::Core) || same(level, Level::Llc),
            Level::Die => same(level, Level::Llc) || same(level, Level::Node),
            _ => false,
        };
        let touched = objects.iter().filter(|object| !object.is_disjoint(cpus)).count();
        (objects.len() > 1 && !repeats).then(|| format!("{touched} of {}", format_count(objects.len(), level.word())))
    };
    Level::ALL.into_iter().filter_map(part).map(|part| glue_words(&part)).collect()
}

/// Formats cores as "8 of 16 cores: 7 whole, 1 in part", or only their number on a machine without siblings.
fn describe_cores(machine: &Machine, cpus: &CpuSet) -> String {
    let touched: Vec<&CpuSet> =
        machine.cores.iter().map(|core| &core.cpus).filter(|core| !core.is_disjoint(cpus)).collect();
    let text = format!("{} of {}", touched.len(), format_count(machine.cores.len(), "core"));
    let whole = touched.iter().filter(|core| core.is_subset(cpus)).count();
    match touched.len() - whole {
        _ if machine.cores.iter().all(|core| core.cpus.len() == 1) => text,
        0 => format!("{text}, with all their threads"),
        in_part if whole == 0 => format!("{text}{}", if in_part == 1 { ", in part" } else { ", each in part" }),
        in_part => format!("{text}: {whole} whole, {in_part} in part"),
    }
}

fn format_left_out(out: &ExcludedCpus) -> String {
    let named = if out.named.is_empty() { "" } else { ", though named" };
    format!("{} {}{named}", out.cpus, out.reason.reason_words())
}

fn draw_notations(placed: &ShownPlacement<'_>, width: usize) -> Vec<StyledLine> {
    let remark = "  --as NAME prints one in full, with its remarks";
    let mut lines = wrap_line(&StyledLine::new().strong("Other notations").faint(remark), width, 2);
    let label = Notation::ALL.map(|notation| notation.word().len()).into_iter().max().unwrap_or(0) + 2;
    let mut said = Vec::new();
    for notation in Notation::ALL {
        let printed =
            notation::print_notation(notation, &placed.resolution.cpus, &placed.resolution.order, placed.machine);
        for (place, line) in printed.iter().take(MOST_LINES).enumerate() {
            let name = if place == 0 { notation.word() } else { "" };
            lines.extend(draw_pasted(name, label, line, width));
        }
        if printed.len() > MOST_LINES {
            let more = printed.len() - MOST_LINES;
            lines.push(
                StyledLine::new()
                    .plain(" ".repeat(label + 2))
                    .faint(format!("… and {}", format_count(more, "more line"))),
            );
        }
        // Windows may number cpus differently, which the remark explains.
        if matches!(notation, Notation::Windows | Notation::PowerShell) {
            for remark in remaining_remarks(&printed, &mut said) {
                lines.extend(wrap_line(
                    &StyledLine::new().plain(" ".repeat(label + 2)).faint(remark),
                    width,
                    label + 2,
                ));
            }
        }
    }
    lines
}

/// Returns the remarks of pasteable lines, each once on the whole page.
fn remaining_remarks(printed: &[NotationLine], said: &mut Vec<String>) -> Vec<String> {
    let remarks = printed.iter().filter(|line| line.text.is_some()).flat_map(|line| &line.remarks);
    let before = said.len();
    for remark in remarks {
        if !said.contains(remark) {
            said.push(remark.clone());
        }
    }
    said[before..].to_vec()
}

/// Returns a text to paste, never broken into lines: a terminal wraps it and still copies it whole.
fn draw_pasted(name: &str, label: usize, line: &NotationLine, width: usize) -> Vec<StyledLine> {
    let head = StyledLine::new().faint(format!("  {name:<label$}"));
    match &line.text {
        Some(text) => vec![head.plain(text).cut_to(LONGEST_WIDTHS * width)],
        None => wrap_line(&head.faint(format!("- {}", line.remarks.join(" "))), width, label + 2),
    }
}

#[cfg(test)]
mod tests {
    use corewise_machine::placement::notation::NotationReading;
    use corewise_machine::placement::parse;

    use super::super::document::PlaceDocument;
    use super::*;
    use crate::app::placement::point_at;
    use crate::app::placing::resolve_elsewhere;
    use crate::draw::fixtures::fabricated::{hybrid, ryzen_9950x3d};
    use crate::draw::fixtures::hostile;

    /// What is pasted has numbers of cpus and words of ours, whatever the machine and the expression are called.
    #[test]
    fn no_machine_and_no_text_steers_or_hides() {
        let resolution = resolve_elsewhere(&parse("all - core:0").unwrap(), &ryzen_9950x3d()).unwrap();
        let usual = |machine: &Machine| {
            let print = |notation| notation::print_notation(notation, &resolution.cpus, &resolution.order, machine);
            Notation::ALL.into_iter().flat_map(print).map(|line| line.text).collect::<Vec<_>>()
        };
        let pasted = usual(&ryzen_9950x3d());
        for machine in hostile::copies(&ryzen_9950x3d()) {
            assert_eq!(usual(&machine), pasted);
        }
        let machine = hybrid();
        let resolution = resolve_elsewhere(&parse("all - core:0").unwrap(), &machine).unwrap();
        for text in hostile::names() {
            let (cpus, order) = (resolution.cpus.clone(), resolution.order.clone());
            let read = NotationReading { cpus, order, remarks: vec![text.clone()] };
            let (read, description) = (Some(&read), None);
            let placed = ShownPlacement { machine: &machine, text: &text, resolution: &resolution, read, description };
            for line in [40, 80].map(|width| draw_screen(&placed, width)) {
                // What is pasted is never broken.
                hostile::check_screen(&line, LONGEST_WIDTHS * 80);
            }
            [40, 80].into_iter().for_each(|width| wide(&draw_answer(&placed, width), width));
            hostile::check_json(&PlaceDocument::new(&placed));
            let length = text.chars().count();
            let marked = point_at("here", &text, &(length / 2..length));
            assert!(marked.lines().count() >= 3, "{marked}");
            hostile::check_text(marked.split_once('\n').unwrap().1);
        }
    }

    fn wide(lines: &[StyledLine], width: usize) {
        assert!(lines.iter().all(|line| line.width() <= width), "{lines:?}");
    }
}
