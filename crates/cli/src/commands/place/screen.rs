//! The screen of `corewise place`: the cpus on the machine's picture, counts, cpus left out, every notation.

use corewise_machine::placement::notation::{self, Notation, NotationLine};
use corewise_machine::placement::{LeftOut, Reason};
use corewise_machine::{CpuSet, Level, Machine};

use super::document::Placed;
use crate::draw::machine::{headline, numbering};
use crate::draw::number::count;
use crate::draw::picture::{chosen, wrap_lists};
use crate::draw::story::lines;
use crate::draw::text::{Line, Screen};
use crate::draw::wrap::{unbroken, wrap};

/// The width of the labels before facts.
const LABEL_WIDTH: usize = 10;
/// Machines with more objects than this show equal objects on one line.
const FEW_OBJECTS: usize = 24;
/// Maximum number of lines shown of a notation.
const MOST_LINES: usize = 4;
/// Maximum length of a text to paste, in widths of the terminal.
const LONGEST_WIDTHS: usize = 3;

/// Returns the whole screen of a placement.
pub fn screen(placed: &Placed<'_>, width: usize) -> Screen {
    let mut screen = Screen::new();
    screen.extend(lines(&[headline(placed.machine, &[])], width));
    screen.block(answer(placed, width));
    screen.block(chosen(placed.machine, &placed.resolution.cpus, width, FEW_OBJECTS));
    screen.block(placed.description.map_or_else(Vec::new, |description| numbering(description, width)));
    screen.block(facts(placed, width));
    screen.block(notations(placed, width));
    screen
}

/// Returns the cpus, and the meaning of another tool's notation.
fn answer(placed: &Placed<'_>, width: usize) -> Vec<Line> {
    let cpus = &placed.resolution.cpus;
    let text = placed.text.lines().collect::<Vec<_>>().join("; ");
    let line = Line::new().strong(text).plain(format!("  selects {}: ", count(cpus.len(), "cpu")));
    let mut lines = wrap_lists(&line.strong(cpus.to_string()), width, 2);
    for remark in placed.read.into_iter().flat_map(|read| &read.remarks) {
        lines.extend(wrap(&Line::new().plain(format!("  {remark}")), width, 2));
    }
    lines
}

/// Returns the share of each level, the order in which threads take the cpus, and the cpus left out.
fn facts(placed: &Placed<'_>, width: usize) -> Vec<Line> {
    let mut lines = labelled("Uses", levels(placed), width);
    let order = corewise_machine::placement::list(&placed.resolution.order);
    if order != placed.resolution.cpus.to_string() {
        lines.push(Line::new().faint(format!("{:<LABEL_WIDTH$}", "Order")).plain(order).cut(width));
    }
    let out = placed.resolution.left_out.iter().map(left_out).collect();
    lines.extend(labelled("Left out", out, width));
    lines.extend(labelled("Note", warnings(placed), width));
    lines
}

fn labelled(label: &str, items: Vec<String>, width: usize) -> Vec<Line> {
    if items.is_empty() {
        return Vec::new();
    }
    wrap(&Line::new().faint(format!("{label:<LABEL_WIDTH$}")).plain(items.join(" · ")), width, LABEL_WIDTH)
}

/// Formats shares as "1 of 2 llcs"; leaves out a level with the same objects as another.
fn levels(placed: &Placed<'_>) -> Vec<String> {
    let (machine, cpus) = (placed.machine, &placed.resolution.cpus);
    let same = |level: Level, other: Level| machine.objects(level) == machine.objects(other);
    let part = |level: Level| {
        let objects = machine.objects(level);
        let repeats = match level {
            Level::Core => return Some(cores(machine, cpus)),
            Level::Drawer => machine.drawers.is_empty() || same(level, Level::Book),
            Level::Book => machine.books.is_empty() || same(level, Level::Package),
            Level::Group => machine.groups.is_empty() || same(level, Level::Llc),
            Level::Cluster => same(level, Level::Core) || same(level, Level::Llc),
            Level::Die => same(level, Level::Llc) || same(level, Level::Node),
            _ => false,
        };
        let touched = objects.iter().filter(|object| !object.is_disjoint(cpus)).count();
        (objects.len() > 1 && !repeats).then(|| format!("{touched} of {}", count(objects.len(), level.word())))
    };
    Level::ALL.into_iter().filter_map(part).map(|part| unbroken(&part)).collect()
}

/// Formats cores as "8 of 16 cores: 7 whole, 1 in part", or only their number on a machine without siblings.
fn cores(machine: &Machine, cpus: &CpuSet) -> String {
    let touched: Vec<&CpuSet> =
        machine.cores.iter().map(|core| &core.cpus).filter(|core| !core.is_disjoint(cpus)).collect();
    let text = format!("{} of {}", touched.len(), count(machine.cores.len(), "core"));
    let whole = touched.iter().filter(|core| core.is_subset(cpus)).count();
    match touched.len() - whole {
        _ if machine.cores.iter().all(|core| core.cpus.len() == 1) => text,
        0 => format!("{text}, with all their threads"),
        in_part if whole == 0 => format!("{text}{}", if in_part == 1 { ", in part" } else { ", each in part" }),
        in_part => format!("{text}: {whole} whole, {in_part} in part"),
    }
}

fn left_out(out: &LeftOut) -> String {
    let named = if out.named.is_empty() { "" } else { ", though named" };
    format!("{} {}{named}", out.cpus, out.reason.words())
}

fn warnings(placed: &Placed<'_>) -> Vec<String> {
    let (machine, cpus) = (placed.machine, &placed.resolution.cpus);
    let without = |allowed: bool| {
        let bare =
            machine.nodes.iter().filter(|node| (node.memory_bytes == Some(0)) != allowed && !machine.has_memory(node));
        bare.flat_map(|node| node.cpus.iter()).collect::<CpuSet>().intersection(cpus)
    };
    let (bare, denied) = (without(false), without(true));
    let isolated = machine.isolated.intersection(cpus);
    let mut warnings = placed.resolution.notes.clone();
    if !bare.is_empty() {
        warnings.push(format!("{bare} on nodes without memory: all their memory is remote"));
    }
    if !denied.is_empty() {
        warnings.push(format!("{denied} on nodes whose memory this process may not use: all their memory is remote"));
    }
    if !isolated.is_empty() {
        let what = "isolated: the scheduler does not spread threads over them, so pin each thread (--one-per-thread)";
        warnings.push(format!("{isolated} {what}"));
    }
    if placed.resolution.left_out.iter().any(|out| out.reason == Reason::NotInMask) {
        warnings.push("the inherited mask is not a hard limit: cpus named by number are used".to_owned());
    }
    warnings
}

fn notations(placed: &Placed<'_>, width: usize) -> Vec<Line> {
    let remark = "  --as NAME prints one in full, with its remarks";
    let mut lines = wrap(&Line::new().strong("Other notations").faint(remark), width, 2);
    let label = Notation::ALL.map(|notation| notation.word().len()).into_iter().max().unwrap_or(0) + 2;
    let mut said = Vec::new();
    for notation in Notation::ALL {
        let printed = notation::print(notation, &placed.resolution.cpus, &placed.resolution.order, placed.machine);
        for (place, line) in printed.iter().take(MOST_LINES).enumerate() {
            let name = if place == 0 { notation.word() } else { "" };
            lines.extend(pasted(name, label, line, width));
        }
        if printed.len() > MOST_LINES {
            let more = printed.len() - MOST_LINES;
            lines.push(Line::new().plain(" ".repeat(label + 2)).faint(format!("… and {}", count(more, "more line"))));
        }
        // Windows may number cpus differently, which the remark explains.
        if matches!(notation, Notation::Windows | Notation::PowerShell) {
            for remark in not_said(&printed, &mut said) {
                lines.extend(wrap(&Line::new().plain(" ".repeat(label + 2)).faint(remark), width, label + 2));
            }
        }
    }
    lines
}

/// Returns the remarks of pasteable lines, each once on the whole page.
fn not_said(printed: &[NotationLine], said: &mut Vec<String>) -> Vec<String> {
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
fn pasted(name: &str, label: usize, line: &NotationLine, width: usize) -> Vec<Line> {
    let head = Line::new().faint(format!("  {name:<label$}"));
    match &line.text {
        Some(text) => vec![head.plain(text).cut(LONGEST_WIDTHS * width)],
        None => wrap(&head.faint(format!("- {}", line.remarks.join(" "))), width, label + 2),
    }
}

#[cfg(test)]
mod tests {
    use corewise_machine::placement::notation::Read;
    use corewise_machine::placement::parse;

    use super::super::document::PlaceDocument;
    use super::*;
    use crate::app::placing::{pointed, resolve_elsewhere};
    use crate::draw::fixtures::fabricated::{hybrid, ryzen_9950x3d};
    use crate::draw::fixtures::hostile;

    /// What is pasted has numbers of cpus and words of ours, whatever the machine and the expression are called.
    #[test]
    fn no_machine_and_no_text_steers_or_hides() {
        let resolution = resolve_elsewhere(&parse("all - core:0").unwrap(), &ryzen_9950x3d()).unwrap();
        let usual = |machine: &Machine| {
            let print = |notation| notation::print(notation, &resolution.cpus, &resolution.order, machine);
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
            let read = Read { cpus, order, remarks: vec![text.clone()] };
            let (read, description) = (Some(&read), None);
            let placed = Placed { machine: &machine, text: &text, resolution: &resolution, read, description };
            for line in [40, 80].map(|width| screen(&placed, width)) {
                // What is pasted is never broken.
                hostile::check_screen(&line, LONGEST_WIDTHS * 80);
            }
            [40, 80].into_iter().for_each(|width| wide(&answer(&placed, width), width));
            hostile::check_json(&PlaceDocument::new(&placed));
            let length = text.chars().count();
            let marked = pointed("here", &text, &(length / 2..length));
            assert!(marked.lines().count() >= 3, "{marked}");
            hostile::check_text(marked.split_once('\n').unwrap().1);
        }
    }

    fn wide(lines: &[Line], width: usize) {
        assert!(lines.iter().all(|line| line.width() <= width), "{lines:?}");
    }
}
