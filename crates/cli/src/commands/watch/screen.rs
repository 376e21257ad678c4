//! Rendering of a view: lines of a width, from the title to the keys.

use corewise_machine::Machine;
use corewise_model::watch::Sight;

use super::keys::HELP;
use super::row::Row;
use super::rows::{Rows, tail_of};
use super::view::{Bottom, View};
use crate::draw::machine::model_name;
use crate::draw::number::{brief, count};
use crate::draw::printable::{named, printable};
use crate::draw::text::{Line, Screen};

/// Maximum number of rows of the machine in text.
const PRINTED_ROWS: usize = 100;
/// Minimum number of rows of the machine on the screen.
const LEAST_CPU_ROWS: usize = 3;
/// Number of lines besides rows: the title, the program, and the keys.
const FRAME_LINES: usize = 3;

/// Returns the whole screen, one line for each row of the terminal, with the index of the selected line.
pub fn lines(view: &mut View, width: usize, height: usize) -> (Vec<Line>, Option<usize>) {
    if view.is_help {
        return (help(width, height), None);
    }
    let room = height.saturating_sub(FRAME_LINES).max(1);
    view.fit(room_of_machine(view, room));
    view.scroll(room);
    let rows = view.rows();
    let selected = view.selected(&rows);
    let drawn = Rows::new(view, width);
    let mut lines = vec![title(view, width), subject(view, width)];
    lines.extend(rows.iter().skip(view.first).take(room).map(|row| drawn.line(row)));
    lines.resize(height.saturating_sub(1).max(1), Line::new());
    lines.push(bottom(view, width));
    lines.truncate(height.max(1));
    (lines, Some(2 + selected - view.first).filter(|line| *line + 1 < height))
}

/// Returns the number of rows for the machine that leaves room for threads and interrupts.
fn room_of_machine(view: &View, room: usize) -> usize {
    let threads =
        if view.header.program.is_some() { 1 + view.frame.threads.len().clamp(1, (room / 3).max(1)) } else { 0 };
    let interrupts = 1 + view.frame.interrupts.len().min(3);
    room.saturating_sub(1 + threads + interrupts).max(LEAST_CPU_ROWS)
}

/// Returns one moment as text, complete.
pub fn whole(view: &mut View, width: usize) -> Screen {
    view.fit(PRINTED_ROWS);
    let mut screen = Screen::new();
    let mut block = vec![title(view, width), subject(view, width)];
    let drawn = Rows::new(view, width);
    for row in view.rows() {
        if matches!(row, Row::Title(_)) {
            screen.block(std::mem::take(&mut block));
        }
        block.push(drawn.line(&row));
    }
    screen.block(block);
    screen.block(crate::draw::wrap::wrap(&Line::new().faint(&view.header.speeds), width, 0));
    screen
}

fn title(view: &View, width: usize) -> Line {
    let machine: &Machine = &view.header.machine;
    let frame = &view.frame;
    let mut line = Line::new().strong(format!("{} watch", env!("CARGO_PKG_NAME")));
    match view.place {
        Some((place, all)) => line = line.plain(format!("  moment {place} of {all}")),
        None if view.is_frozen => line = line.strong("  frozen"),
        None => {}
    }
    let busy = frame.cpus.iter().filter_map(|cpu| Some(cpu.shares?.busy)).sum::<f32>();
    line = line.faint(" · ").plain(printable(&model_name(machine)));
    line = line.faint(" · ").plain(count(machine.online.len(), "cpu"));
    if frame.cpus.iter().any(|cpu| cpu.shares.is_some()) {
        line = line.faint(" · ").plain(format!("{} busy", brief(f64::from(busy))));
    }
    if !frame.interrupts.is_empty() {
        let all: f32 = frame.interrupts.iter().map(|source| source.per_second).sum();
        line = line.faint(" · ").plain(format!("{} interrupts/s", brief(f64::from(all))));
    }
    line.cut(width)
}

/// Describes the program: its end, or its threads and the source of their data.
fn subject(view: &View, width: usize) -> Line {
    let Some(program) = &view.header.program else {
        return Line::new().faint("No program chosen: --pid, --match or a command shows its threads").cut(width);
    };
    let frame = &view.frame;
    let mut line = Line::new();
    match &frame.end {
        Some(end) => line = line.strong(named(end)),
        None => {
            line = line.strong(named(program)).plain("  ").plain(count(frame.threads.len(), "thread"));
            let moves: f32 = frame.threads.iter().filter_map(|thread| thread.moves_per_s).sum();
            line = line.plain(format!(", {} moves/s", brief(f64::from(moves))));
        }
    }
    if let Some(output) = &view.output {
        line = line.faint(" · ").plain(format!("its output: {output}"));
    }
    line = line.faint(" · ");
    line = match &frame.sight {
        Sight::Events { source, switches_per_s, lost } => {
            let line = line.plain(format!("by {source}, {} switches/s", brief(f64::from(*switches_per_s))));
            if *lost > 0 { line.plain(format!(", {lost} events lost")) } else { line }
        }
        Sight::Sampling { why } => line.plain(format!("by sampling: {}", printable(why))),
    };
    line.cut(width)
}

fn bottom(view: &View, width: usize) -> Line {
    let key = |line: Line, key: &str, what: &str| line.strong(key).plain(format!(" {what}  "));
    let line = match &view.bottom {
        Bottom::Message(text) => Line::new().strong(text),
        Bottom::Typing(text) => Line::new().strong("/").plain(tail_of(text, width.saturating_sub(2))).plain("_"),
        Bottom::MayEnd => {
            let line = Line::new().plain("The command runs.  ");
            key(key(key(line, "q", "end it too"), "d", "leave it running"), "other keys", "go on")
        }
        Bottom::Keys => {
            let mut line = key(key(key(Line::new(), "q", "quit"), "?", "help"), "/", "find");
            if view.header.program.is_some() {
                line = key(line, "s", &format!("sort: {}", view.sort.word()));
            }
            let freeze = if view.is_frozen { "go on" } else { "freeze" };
            line = key(key(line, "space", freeze), "e", "examine");
            if view.place.is_some() { key(line, ", .", "step") } else { line }
        }
    };
    line.cut(width)
}

fn help(width: usize, height: usize) -> Vec<Line> {
    let mut lines = vec![Line::new().strong("Keys"), Line::new()];
    for (keys, what) in HELP {
        lines.push(Line::new().plain("  ").strong(format!("{keys:<15}")).plain(format!(" {what}")).cut(width));
    }
    lines.push(Line::new());
    lines.push(
        Line::new()
            .faint("* is a thread of this corewise. docs/watch.md explains the columns. Any key closes this.")
            .cut(width),
    );
    lines.resize(height.max(1), Line::new());
    lines
}
