//! Rendering of a view: lines of a width, from the title to the keys.

use corewise_machine::Machine;
use corewise_machine::suggested_command::PROGRAM;
use corewise_model::watch::ThreadSight;

use super::keys::HELP;
use super::row::WatchRow;
use super::row_layout::{LOAD_LEGEND, RowLayout, cut_tail};
use super::view::{BottomLine, WatchView};
use crate::draw::machine::model_name;
use crate::draw::number::{format_brief, format_count};
use crate::draw::printable::{make_printable, printable_name};
use crate::draw::text::{StyledLine, TextScreen};

/// Maximum number of rows of the machine in text.
const PRINTED_ROWS: usize = 100;
/// Minimum number of rows of the machine on the screen.
const LEAST_CPU_ROWS: usize = 3;
/// Number of lines besides rows: the title, the program, and the keys.
const FRAME_LINES: usize = 3;
/// How to choose a program on the command line.
const NAMED: &str = "--pid, --match or a command shows its threads";

/// Returns the whole screen, one line for each row of the terminal, with the index of the selected line.
pub fn draw_lines(view: &mut WatchView, width: usize, height: usize) -> (Vec<StyledLine>, Option<usize>) {
    if view.is_help {
        return (draw_help(width, height), None);
    }
    if let Some(list) = &mut view.list {
        return list.draw_lines(width, height);
    }
    let room = height.saturating_sub(FRAME_LINES).max(1);
    view.fold_to_fit(machine_room(view, room));
    view.scroll_to_selected(room);
    let rows = view.list_rows();
    let selected = view.selected_index(&rows);
    let drawn = RowLayout::new(view, width);
    let chooser = if view.place.is_none() { "p lists the processes to choose from" } else { NAMED };
    let mut lines = vec![draw_title(view, width), draw_subject(view, chooser, width)];
    lines.extend(rows.iter().skip(view.first).take(room).map(|row| drawn.draw_row(row)));
    // The legend stays while the rows of a part are scrolled.
    let title = rows[..=view.first].iter().rfind(|row| matches!(row, WatchRow::Title(_)));
    if let Some(title) = title.filter(|_| room > 1) {
        lines[2] = drawn.draw_row(title);
    }
    lines.resize(height.saturating_sub(1).max(1), StyledLine::new());
    lines.push(draw_bottom(view, width));
    lines.truncate(height.max(1));
    (lines, Some(2 + selected - view.first).filter(|line| *line + 1 < height))
}

/// Returns the number of rows for the machine that leaves room for threads and interrupts.
fn machine_room(view: &WatchView, room: usize) -> usize {
    let threads =
        if view.header.program.is_some() { 1 + view.frame.threads.len().clamp(1, (room / 3).max(1)) } else { 0 };
    let interrupts = 1 + view.frame.interrupts.len().min(3);
    room.saturating_sub(1 + threads + interrupts).max(LEAST_CPU_ROWS)
}

/// Returns one moment as text, complete.
pub fn draw_whole(view: &mut WatchView, width: usize) -> TextScreen {
    view.fold_to_fit(PRINTED_ROWS);
    let mut screen = TextScreen::new();
    let mut block = vec![draw_title(view, width), draw_subject(view, NAMED, width)];
    let drawn = RowLayout::new(view, width);
    for row in view.list_rows() {
        if matches!(row, WatchRow::Title(_)) {
            screen.add_block(std::mem::take(&mut block));
        }
        block.push(drawn.draw_row(&row));
    }
    screen.add_block(block);
    screen.add_block(crate::draw::wrap::wrap_line(&StyledLine::new().faint(&view.header.speeds), width, 0));
    screen
}

fn draw_title(view: &WatchView, width: usize) -> StyledLine {
    let machine: &Machine = &view.header.machine;
    let frame = &view.frame;
    let mut line = StyledLine::new().strong(format!("{PROGRAM} watch"));
    match view.place {
        Some((place, all)) => line = line.plain(format!("  moment {place} of {all}")),
        None if view.is_frozen => line = line.strong("  frozen"),
        None => {}
    }
    let busy = frame.cpus.iter().filter_map(|cpu| Some(cpu.shares?.busy)).sum::<f32>();
    line = line.faint(" · ").plain(make_printable(&model_name(machine)));
    line = line.faint(" · ").plain(format_count(machine.online.len(), "cpu"));
    if frame.cpus.iter().any(|cpu| cpu.shares.is_some()) {
        line = line.faint(" · ").plain(format!("{} busy", format_brief(f64::from(busy))));
    }
    if !frame.interrupts.is_empty() {
        let all: f32 = frame.interrupts.iter().map(|source| source.per_second).sum();
        line = line.faint(" · ").plain(format!("{} interrupts/s", format_brief(f64::from(all))));
    }
    line.cut_to(width)
}

/// Describes the program: its end, or its threads and the source of their data; `chooser` says how to choose one.
fn draw_subject(view: &WatchView, chooser: &str, width: usize) -> StyledLine {
    let Some(program) = &view.header.program else {
        return StyledLine::new().faint(format!("No program chosen: {chooser}")).cut_to(width);
    };
    let frame = &view.frame;
    let mut line = StyledLine::new();
    match &frame.end {
        Some(end) => line = line.strong(printable_name(end)),
        None => {
            line = line.strong(printable_name(program)).plain("  ").plain(format_count(frame.threads.len(), "thread"));
            let moves: f32 = frame.threads.iter().filter_map(|thread| thread.moves_per_s).sum();
            line = line.plain(format!(", {} moves/s", format_brief(f64::from(moves))));
        }
    }
    if let Some(output) = &view.output {
        line = line.faint(" · ").plain(format!("its output: {output}"));
    }
    line = line.faint(" · ");
    line = match &frame.sight {
        ThreadSight::Events { source, switches_per_s, lost } => {
            let line = line.plain(format!("by {source}, {} switches/s", format_brief(f64::from(*switches_per_s))));
            if *lost > 0 { line.plain(format!(", {lost} events lost")) } else { line }
        }
        ThreadSight::Sampling { why } => line.plain(format!("by sampling: {}", make_printable(why))),
    };
    line.cut_to(width)
}

fn draw_bottom(view: &WatchView, width: usize) -> StyledLine {
    let key = |line: StyledLine, key: &str, what: &str| line.strong(key).plain(format!(" {what}  "));
    let line = match &view.bottom {
        BottomLine::Message(text) => StyledLine::new().strong(text),
        BottomLine::Typing(text) => {
            StyledLine::new().strong("/").plain(cut_tail(text, width.saturating_sub(2))).plain("_")
        }
        BottomLine::MayEnd => {
            let line = StyledLine::new().plain("The command runs.  ");
            key(key(key(line, "q", "end it too"), "d", "leave it running"), "other keys", "go on")
        }
        BottomLine::Keys => {
            let mut line = key(key(key(StyledLine::new(), "q", "quit"), "?", "help"), "/", "find");
            if view.header.program.is_some() {
                line = key(line, "s", &format!("sort: {}", view.sort.order_word()));
            }
            let freeze = if view.is_frozen { "go on" } else { "freeze" };
            line = key(key(line, "space", freeze), "e", "examine");
            if view.place.is_some() { key(line, ", .", "step") } else { key(line, "p", "processes") }
        }
    };
    line.cut_to(width)
}

fn draw_help(width: usize, height: usize) -> Vec<StyledLine> {
    let mut lines = vec![StyledLine::new().strong("Keys"), StyledLine::new()];
    for (keys, what) in HELP {
        lines.push(StyledLine::new().plain("  ").strong(format!("{keys:<15}")).plain(format!(" {what}")).cut_to(width));
    }
    lines.push(StyledLine::new());
    lines.push(StyledLine::new().plain(format!("  {LOAD_LEGEND}")).cut_to(width));
    lines.push(
        StyledLine::new()
            .faint("* is a thread of this corewise. docs/watch.md explains the columns. Any key closes this.")
            .cut_to(width),
    );
    lines.resize(height.max(1), StyledLine::new());
    lines
}
