//! The screen of `corewise irq --away-from` and `--near`: the result for each interrupt, and how to undo it.

use corewise_machine::interrupt::away::Staying;
use corewise_machine::placement::list;
use corewise_machine::suggested_command;

use super::super::document::{AwayReport, Fate, Listing, MoveReport};
use super::groups::{Group, Named, groups};
use super::{cpus, meanings_of};
use crate::draw::grid::{Column, Grid};
use crate::draw::number::{ABSENT, count};
use crate::draw::printable;
use crate::draw::suggestion;
use crate::draw::text::{Line, Screen, Tone};
use crate::draw::wrap::{unbroken, wrap};

impl MoveReport {
    /// Returns why it was refused, or else why it gets cpus that it did not have.
    const fn reason(&self) -> Option<&String> {
        if self.why.is_some() { self.why.as_ref() } else { self.planned.reason.as_ref() }
    }
}

impl Fate {
    const fn word(self) -> (&'static str, Tone) {
        match self {
            Self::WouldMove => ("would move", Tone::Plain),
            Self::Moved => ("moved", Tone::Good),
            Self::Waits => ("waits", Tone::Plain),
            Self::Elsewhere => ("did not go", Tone::Warn),
            Self::Untold => ("sent", Tone::Plain),
            Self::Refused => ("refused", Tone::Warn),
        }
    }

    const fn meaning(self) -> Option<&'static str> {
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
pub fn screen(listing: &Listing, report: &AwayReport, width: usize) -> Screen {
    let mut screen = Screen::new();
    screen.extend(wrap(&title(report), width, 2));
    if let Some(near) = &report.near {
        let doubt = near.doubt.as_ref().map(|doubt| format!("; {doubt}")).unwrap_or_default();
        screen.extend(wrap(&Line::new().faint(format!("{}{doubt}", near.reason)).indented(2), width, 4));
    }
    for out in &report.left_out {
        let text = format!("{} left out: {}", out.cpus, out.reason.words());
        screen.extend(wrap(&Line::new().faint(text).indented(2), width, 4));
    }
    screen.block(table(listing, report, width));
    screen.block(remarks(report, width));
    screen.block(summary(report, width));
    screen.extend(listing.irqbalance.map_or_else(Vec::new, |process| balanced(process, report, width)));
    screen
}

fn title(report: &AwayReport) -> Line {
    let noun = if report.cpus.len() == 1 { "cpu" } else { "cpus" };
    let cpus = format!("{noun} {}", report.cpus);
    if let Some(device) = &report.device {
        return Line::new().strong(format!("Interrupts of {}", printable::named(device))).plain(format!(" to {cpus}"));
    }
    let line = Line::new().strong("Interrupts away from").plain(format!(" {cpus}"));
    let is_written = report.expression != report.cpus.to_string();
    if is_written { line.faint(format!("  ({})", report.expression)) } else { line }
}

fn table(listing: &Listing, report: &AwayReport, width: usize) -> Vec<Line> {
    let mut grid = Grid::new(vec![
        Column::number("irq", "", 0).shrinking_to(5),
        Column::text("handler", 0).shrinking_to(9),
        Column::text("from", 2).shrinking_to(6),
        Column::text("to", 1).shrinking_to(6),
        Column::text("", 0),
        Column::text("now on", 3),
    ])
    .indented(2);
    let of_move = |moved: &MoveReport| named(listing, moved.planned.number, &moved.planned.name, moved.fate);
    for group in groups(&report.moves.iter().map(of_move).collect::<Vec<_>>()) {
        grid.row(moved_row(report, &group));
    }
    let of_staying = |staying: &Staying| named(listing, staying.number, &staying.name, staying.mobility);
    for group in groups(&report.staying.iter().map(of_staying).collect::<Vec<_>>()) {
        grid.row(staying_row(report, &group));
    }
    if report.moves.is_empty() && report.staying.is_empty() { Vec::new() } else { grid.lines(width) }
}

fn named<K>(listing: &Listing, number: u32, name: &str, key: K) -> Named<K> {
    let interrupt = listing.interrupts.iter().find(|interrupt| interrupt.number == number);
    let device = interrupt.and_then(|interrupt| interrupt.device.clone());
    Named { number, name: name.to_owned(), device, key }
}

fn moved_row(report: &AwayReport, group: &Group) -> Vec<Line> {
    let members = || group.members.iter().map(|&index| &report.moves[index]);
    let (word, tone) = members().map(|moved| moved.fate.word()).next().unwrap_or((ABSENT, Tone::Plain));
    let now = if members().all(|moved| moved.effective.is_none()) {
        String::new()
    } else {
        cpus(members().map(|moved| moved.effective.as_ref()))
    };
    vec![
        Line::new().plain(&group.numbers),
        Line::new().strong(&group.name),
        Line::new().plain(cpus(members().map(|moved| Some(&moved.planned.from)))),
        Line::new().plain(cpus(members().map(|moved| Some(&moved.planned.to)))),
        Line::new().with(tone, word),
        Line::new().plain(now),
    ]
}

fn staying_row(report: &AwayReport, group: &Group) -> Vec<Line> {
    let members = || group.members.iter().map(|&index| &report.staying[index]);
    let word = members().map(|staying| staying.mobility.word()).next().unwrap_or(ABSENT);
    vec![
        Line::new().plain(&group.numbers),
        Line::new().strong(&group.name),
        Line::new().plain(cpus(members().map(|staying| Some(&staying.cpus)))),
        Line::new().plain(ABSENT),
        Line::new().faint(word),
        Line::new(),
    ]
}

/// Explains the words, the cpus that some interrupts newly got, and the refusals.
fn remarks(report: &AwayReport, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for fate in [Fate::Waits, Fate::Elsewhere, Fate::Untold] {
        let is_there = report.moves.iter().any(|moved| moved.fate == fate);
        let line = |meaning| Line::new().strong(fate.word().0).plain(format!(": {meaning}"));
        lines.extend(fate.meaning().filter(|_| is_there).map(line));
    }
    let mut reasons: Vec<(&String, Vec<u32>)> = Vec::new();
    for (moved, why) in report.moves.iter().filter_map(|moved| Some((moved, moved.reason()?))) {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, numbers)) => numbers.push(moved.planned.number),
            None => reasons.push((why, vec![moved.planned.number])),
        }
    }
    let of_reason = |(why, numbers): (&String, Vec<u32>)| Line::new().strong(list(&numbers)).plain(format!(": {why}."));
    lines.extend(reasons.into_iter().map(of_reason));
    let mut lines: Vec<Line> = lines.iter().flat_map(|line| wrap(line, width, 2)).collect();
    lines.extend(meanings_of(report.staying.iter().map(|staying| staying.mobility), width));
    lines
}

fn summary(report: &AwayReport, width: usize) -> Vec<Line> {
    let with = |is_wanted: fn(&MoveReport) -> bool| report.moves.iter().filter(|moved| is_wanted(moved)).count();
    if report.moves.is_empty() && report.staying.is_empty() {
        let why = match report.device {
            Some(_) => "Nothing to move: all of its interrupts go to these cpus.",
            None => "Nothing to move: no device interrupt goes there.",
        };
        return wrap(&Line::new().plain(why), width, 2);
    }
    let changed = with(|moved| moved.planned.is_change() && moved.fate != Fate::Refused);
    let waiting = with(|moved| !moved.planned.is_change());
    let staying = report.staying.len() + with(|moved| moved.fate == Fate::Refused);
    let interrupts = count(changed, "interrupt");
    let rest = counted(waiting, "waits already", "wait already") + &counted(staying, "stays", "stay");
    let line = match (report.dry_run, changed) {
        (true, 0) => Line::new().plain(format!("Nothing would be moved{rest}.")),
        (true, _) => Line::new()
            .plain(format!("{interrupts} would be moved{rest}; nothing was changed. Next:  "))
            .strong(unbroken(&report.command)),
        (false, 0) => Line::new().plain(format!("None was moved{rest}.")),
        (false, _) => Line::new()
            .plain(format!("{interrupts} moved until the next boot{rest}. To move them back:  "))
            .strong(unbroken(&suggestion::typed(&suggested_command::undo()))),
    };
    wrap(&line, width, 2)
}

/// Returns ", 1 stays" or ", 2 stay"; empty for 0.
fn counted(number: usize, one: &str, several: &str) -> String {
    match number {
        0 => String::new(),
        1 => format!(", 1 {one}"),
        _ => format!(", {number} {several}"),
    }
}

/// Warns of irqbalance, which only its own settings keep off the cpus. Once it has a list of cpus, it no longer
/// spares isolated ones by itself.
fn balanced(process: u32, report: &AwayReport, width: usize) -> Vec<Line> {
    if report.moves.is_empty() {
        return Vec::new();
    }
    let warned = |text: String| Line::new().with(Tone::Warn, "irqbalance").plain(text);
    let first = report.moves.iter().map(|moved| moved.planned.number).next().unwrap_or_default();
    if report.device.is_some() {
        let text =
            format!(" (process {process}) is running and may move them back. To keep it from them, one option each:  ");
        return wrap(&warned(text).strong(unbroken(&format!("irqbalance --banirq={first}"))), width, 2);
    }
    let line = warned(format!(" (process {process}) is running and may move them back. To keep it off these cpus:  "))
        .strong(unbroken("systemctl edit irqbalance"))
        .plain(", with these lines:");
    let mut lines = wrap(&line, width, 2);
    for text in ["[Service]".to_owned(), format!("Environment=IRQBALANCE_BANNED_CPULIST={}", report.to_ban)] {
        lines.extend(wrap(&Line::new().strong(text).indented(4), width, 6));
    }
    let text = format!("or keep it from single interrupts, with one option each: irqbalance --banirq={first}");
    lines.extend(wrap(&Line::new().plain(text).indented(2), width, 4));
    lines
}
