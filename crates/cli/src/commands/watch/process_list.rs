//! The list of processes to choose from: most cpu time first.

use std::time::Duration;

use super::keys::PressedKey;
use crate::app::tenants::CpuTenant;
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::printable::printable_name;
use crate::draw::text::StyledLine;

/// Number of lines besides the processes: the title, the columns' names, and the keys.
const FRAME_LINES: usize = 3;

/// The processes, and the selected one.
#[derive(Debug, Default)]
pub struct ProcessList {
    processes: Vec<CpuTenant>,
    /// Time between the two looks that their cpu time is of.
    look: Duration,
    selected: usize,
    first: usize,
    page: usize,
}

/// The effect of a key on the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListEffect {
    /// The list stays.
    Stay,
    /// It is made anew.
    LookAgain,
    /// It closes.
    Close,
    /// It closes, and the process of this number is followed.
    Follow(u32),
}

impl ProcessList {
    /// Creates a list of processes without the kernel's threads; the first is selected.
    pub fn new(mut processes: Vec<CpuTenant>, look: Duration) -> Self {
        processes.retain(|process| !process.is_kernel);
        Self { processes, look, page: 10, ..Self::default() }
    }

    /// Handles a key.
    pub fn press_key(&mut self, key: PressedKey) -> ListEffect {
        let last = self.processes.len().saturating_sub(1);
        self.selected = match key {
            PressedKey::Up | PressedKey::Character('k') => self.selected.saturating_sub(1),
            PressedKey::Down | PressedKey::Character('j') => self.selected + 1,
            PressedKey::PageUp => self.selected.saturating_sub(self.page),
            PressedKey::PageDown => self.selected + self.page,
            PressedKey::Home | PressedKey::Character('g') => 0,
            PressedKey::End | PressedKey::Character('G') => last,
            PressedKey::Character('p') => return ListEffect::LookAgain,
            PressedKey::Escape | PressedKey::Character('q') => return ListEffect::Close,
            PressedKey::Enter => {
                let chosen = self.processes.get(self.selected).map(|process| process.process);
                return chosen.map_or(ListEffect::Close, ListEffect::Follow);
            }
            _ => self.selected,
        }
        .min(last);
        ListEffect::Stay
    }

    /// Returns the whole screen, with the index of the selected line.
    pub fn draw_lines(&mut self, width: usize, height: usize) -> (Vec<StyledLine>, Option<usize>) {
        let room = height.saturating_sub(FRAME_LINES).max(1);
        self.first = self.first.min(self.selected).max((self.selected + 1).saturating_sub(room));
        self.page = room;
        let title = StyledLine::new().strong("Choose a process").faint("  most cpu time first").cut_to(width);
        let mut lines = vec![title];
        let grid = self.build_grid().fit_to(width).lines;
        let (names, processes) = grid.split_at(1.min(grid.len()));
        lines.extend(names.iter().cloned());
        lines.extend(processes.iter().skip(self.first).take(room).cloned());
        lines.resize(height.saturating_sub(1).max(1), StyledLine::new());
        let key = |line: StyledLine, key: &str, what: &str| line.strong(key).plain(format!(" {what}  "));
        let keys = key(key(key(StyledLine::new(), "Enter", "follow it"), "p", "look again"), "Esc", "back");
        lines.push(keys.cut_to(width));
        lines.truncate(height.max(1));
        let selected = (2 + self.selected - self.first).min(height);
        (lines, Some(selected).filter(|line| !self.processes.is_empty() && *line + 1 < height))
    }

    fn build_grid(&self) -> TextGrid {
        let mut grid = TextGrid::new(vec![
            GridColumn::text("name", 0).shrinking_to(12),
            GridColumn::number("pid", "", 0),
            GridColumn::number("threads", "", 3),
            GridColumn::number("cpu%", "", 1),
            GridColumn::text("where it ran", 2).shrinking_to(12),
        ]);
        for process in &self.processes {
            let share = process.ran_ms / (self.look.as_secs_f64() * 1e3);
            grid.add_row(
                [
                    printable_name(&process.name),
                    process.process.to_string(),
                    process.threads.to_string(),
                    format!("{:.0}", 100.0 * share),
                    process.seen_on.to_string(),
                ]
                .map(|cell| StyledLine::new().plain(cell))
                .to_vec(),
            );
        }
        grid
    }
}
