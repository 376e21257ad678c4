//! The screen of `corewise irq --away-from` and `--near`: the result for each interrupt, and how to undo it.

use corewise_machine::interrupt::plan::StayingInterrupt;
use corewise_machine::placement::format_list;
use corewise_machine::suggested_command;

use super::super::document::{AwayReport, InterruptListing, MoveFate, MoveKind, MoveReport};
use super::groups::{InterruptGroup, NamedInterrupt, group_interrupts};
use super::{describe_mobilities, format_cpus};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{ABSENT, format_count};
use crate::draw::printable;
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen, TextTone};
use crate::draw::wrap::{glue_words, wrap_line};

impl MoveReport {
    /// Returns why it was refused, or else why it gets cpus that it did not have.
    const fn why_not(&self) -> Option<&String> {
        if self.why.is_some() { self.why.as_ref() } else { self.planned.reason.as_ref() }
    }
}

impl MoveFate {
    const fn fate_word(self) -> (&'static str, TextTone) {
        match self {
            Self::WouldMove => ("would move", TextTone::Plain),
            Self::Moved => ("moved", TextTone::Good),
            Self::Waits => ("waits", TextTone::Plain),
            Self::Elsewhere => ("did not go", TextTone::Warn),
            Self::Untold => ("sent", TextTone::Plain),
            Self::Refused => ("refused", TextTone::Warn),
        }
    }

    const fn describe_fate(self) -> Option<&'static str> {
        match self {
            Self::Waits => Some("it moves when it next occurs, because the controller is changed then."),
            Self::Elsewhere => Some("the kernel accepted the change, but it still goes to other cpus."),
            Self::Untold => Some("the kernel accepted the change, but does not report where it goes."),
            _ => None,
        }
    }

    /// Returns true if other cpus are in force for it.
    pub const fn is_in_force(self) -> bool {
        matches!(self, Self::Moved | Self::Waits | Self::Elsewhere | Self::Untold)
    }
}

/// Returns the results, the reasons why some interrupts stay, and the command that undoes the moves.
pub fn draw_screen(listing: &InterruptListing, report: &AwayReport, width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    screen.extend(wrap_line(&draw_title(report), width, 2));
    if let Some(near) = &report.near {
        let doubt = near.doubt.as_ref().map(|doubt| format!("; {doubt}")).unwrap_or_default();
        screen.extend(wrap_line(&StyledLine::new().faint(format!("{}{doubt}", near.reason)).indent_by(2), width, 4));
    }
    for out in &report.left_out {
        let text = format!("{} left out: {}", out.cpus, out.reason.reason_words());
        screen.extend(wrap_line(&StyledLine::new().faint(text).indent_by(2), width, 4));
    }
    screen.add_block(draw_table(listing, report, width));
    screen.add_block(draw_remarks(report, width));
    screen.add_block(draw_summary(report, width));
    screen.extend(listing.irqbalance.map_or_else(Vec::new, |process| describe_irqbalance(process, report, width)));
    screen
}

fn draw_title(report: &AwayReport) -> StyledLine {
    let noun = if report.cpus.len() == 1 { "cpu" } else { "cpus" };
    let cpus = format!("{noun} {}", report.cpus);
    let each = if report.aim == MoveKind::Spread { ", one each" } else { "" };
    if let Some(device) = &report.device {
        return StyledLine::new()
            .strong(format!("Interrupts of {}", printable::printable_name(device)))
            .plain(format!(" to {cpus}{each}"));
    }
    if report.aim == MoveKind::Named {
        return StyledLine::new().strong("Interrupts").plain(format!(" to {cpus}"));
    }
    let line = StyledLine::new().strong("Interrupts away from").plain(format!(" {cpus}"));
    let is_written = report.expression != report.cpus.to_string();
    if is_written { line.faint(format!("  ({})", report.expression)) } else { line }
}

fn draw_table(listing: &InterruptListing, report: &AwayReport, width: usize) -> Vec<StyledLine> {
    let mut grid = TextGrid::new(vec![
        GridColumn::number("irq", "", 0).shrinking_to(5),
        GridColumn::text("handler", 0).shrinking_to(9),
        GridColumn::text("from", 2).shrinking_to(6),
        GridColumn::text("to", 1).shrinking_to(6),
        GridColumn::text("", 0),
        GridColumn::text("now on", 3),
    ])
    .with_indent(2);
    let of_move = |moved: &MoveReport| name_interrupt(listing, moved.planned.number, &moved.planned.name, moved.fate);
    for group in group_interrupts(&report.moves.iter().map(of_move).collect::<Vec<_>>()) {
        grid.add_row(moved_row(report, &group));
    }
    let of_staying =
        |staying: &StayingInterrupt| name_interrupt(listing, staying.number, &staying.name, staying.mobility);
    for group in group_interrupts(&report.staying.iter().map(of_staying).collect::<Vec<_>>()) {
        grid.add_row(staying_row(report, &group));
    }
    if report.moves.is_empty() && report.staying.is_empty() { Vec::new() } else { grid.draw_lines(width) }
}

fn name_interrupt<K>(listing: &InterruptListing, number: u32, name: &str, key: K) -> NamedInterrupt<K> {
    let interrupt = listing.interrupts.iter().find(|interrupt| interrupt.number == number);
    let device = interrupt.and_then(|interrupt| interrupt.device.clone());
    NamedInterrupt { number, name: name.to_owned(), device, key }
}

fn moved_row(report: &AwayReport, group: &InterruptGroup) -> Vec<StyledLine> {
    let members = || group.members.iter().map(|&index| &report.moves[index]);
    let (word, tone) = members().map(|moved| moved.fate.fate_word()).next().unwrap_or((ABSENT, TextTone::Plain));
    let now = if members().all(|moved| moved.effective.is_none()) {
        String::new()
    } else {
        format_cpus(members().map(|moved| moved.effective.as_ref()))
    };
    vec![
        StyledLine::new().plain(&group.numbers),
        StyledLine::new().strong(&group.name),
        StyledLine::new().plain(format_cpus(members().map(|moved| Some(&moved.planned.from)))),
        StyledLine::new().plain(format_cpus(members().map(|moved| Some(&moved.planned.to)))),
        StyledLine::new().with(tone, word),
        StyledLine::new().plain(now),
    ]
}

fn staying_row(report: &AwayReport, group: &InterruptGroup) -> Vec<StyledLine> {
    let members = || group.members.iter().map(|&index| &report.staying[index]);
    let word = members().map(|staying| staying.mobility.word()).next().unwrap_or(ABSENT);
    vec![
        StyledLine::new().plain(&group.numbers),
        StyledLine::new().strong(&group.name),
        StyledLine::new().plain(format_cpus(members().map(|staying| Some(&staying.cpus)))),
        StyledLine::new().plain(ABSENT),
        StyledLine::new().faint(word),
        StyledLine::new(),
    ]
}

/// Explains the words, the cpus that some interrupts newly got, and the refusals.
fn draw_remarks(report: &AwayReport, width: usize) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for fate in [MoveFate::Waits, MoveFate::Elsewhere, MoveFate::Untold] {
        let is_there = report.moves.iter().any(|moved| moved.fate == fate);
        let line = |meaning| StyledLine::new().strong(fate.fate_word().0).plain(format!(": {meaning}"));
        lines.extend(fate.describe_fate().filter(|_| is_there).map(line));
    }
    let mut reasons: Vec<(&String, Vec<u32>)> = Vec::new();
    for (moved, why) in report.moves.iter().filter_map(|moved| Some((moved, moved.why_not()?))) {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, numbers)) => numbers.push(moved.planned.number),
            None => reasons.push((why, vec![moved.planned.number])),
        }
    }
    let of_reason = |(why, numbers): (&String, Vec<u32>)| {
        StyledLine::new().strong(format_list(&numbers)).plain(format!(": {why}."))
    };
    lines.extend(reasons.into_iter().map(of_reason));
    let mut lines: Vec<StyledLine> = lines.iter().flat_map(|line| wrap_line(line, width, 2)).collect();
    lines.extend(describe_mobilities(report.staying.iter().map(|staying| staying.mobility), width));
    lines
}

fn draw_summary(report: &AwayReport, width: usize) -> Vec<StyledLine> {
    let with = |is_wanted: fn(&MoveReport) -> bool| report.moves.iter().filter(|moved| is_wanted(moved)).count();
    if report.moves.is_empty() && report.staying.is_empty() {
        let why = match report.device {
            Some(_) => "Nothing to move: all of its interrupts go to these cpus.",
            None if report.aim == MoveKind::Named => "Nothing to move: they go there.",
            None => "Nothing to move: no device interrupt goes there.",
        };
        return wrap_line(&StyledLine::new().plain(why), width, 2);
    }
    let changed = with(|moved| moved.planned.is_change() && moved.fate != MoveFate::Refused);
    let waiting = with(|moved| !moved.planned.is_change());
    let staying = report.staying.len() + with(|moved| moved.fate == MoveFate::Refused);
    let interrupts = format_count(changed, "interrupt");
    let rest =
        format_fate_count(waiting, "waits already", "wait already") + &format_fate_count(staying, "stays", "stay");
    let line = match (report.dry_run, changed) {
        (true, 0) => StyledLine::new().plain(format!("Nothing would be moved{rest}.")),
        (true, _) => StyledLine::new()
            .plain(format!("{interrupts} would be moved{rest}; nothing was changed. Next:  "))
            .strong(glue_words(&report.command)),
        (false, 0) => StyledLine::new().plain(format!("None was moved{rest}.")),
        (false, _) => StyledLine::new()
            .plain(format!("{interrupts} moved until the next boot{rest}. To move them back:  "))
            .strong(glue_words(&suggestion::format_typed(&suggested_command::undo()))),
    };
    wrap_line(&line, width, 2)
}

/// Returns ", 1 stays" or ", 2 stay"; empty for 0.
fn format_fate_count(number: usize, one: &str, several: &str) -> String {
    match number {
        0 => String::new(),
        1 => format!(", 1 {one}"),
        _ => format!(", {number} {several}"),
    }
}

/// Warns of irqbalance, which only its own settings keep off the cpus. Once it has a list of cpus, it no longer
/// spares isolated ones by itself.
fn describe_irqbalance(process: u32, report: &AwayReport, width: usize) -> Vec<StyledLine> {
    if report.moves.is_empty() {
        return Vec::new();
    }
    let warned = |text: String| StyledLine::new().with(TextTone::Warn, "irqbalance").plain(text);
    let first = report.moves.iter().map(|moved| moved.planned.number).next().unwrap_or_default();
    if report.aim != MoveKind::AwayFrom {
        let text =
            format!(" (process {process}) is running and may move them back. To keep it from them, one option each:  ");
        return wrap_line(&warned(text).strong(glue_words(&format!("irqbalance --banirq={first}"))), width, 2);
    }
    let line = warned(format!(" (process {process}) is running and may move them back. To keep it off these cpus:  "))
        .strong(glue_words("systemctl edit irqbalance"))
        .plain(", with these lines:");
    let mut lines = wrap_line(&line, width, 2);
    for text in ["[Service]".to_owned(), format!("Environment=IRQBALANCE_BANNED_CPULIST={}", report.to_ban)] {
        lines.extend(wrap_line(&StyledLine::new().strong(text).indent_by(4), width, 6));
    }
    let text = format!("or keep it from single interrupts, with one option each: irqbalance --banirq={first}");
    lines.extend(wrap_line(&StyledLine::new().plain(text).indent_by(2), width, 4));
    lines
}
