//! The content of the screen, and the effects of keys: a value without a terminal.

use std::collections::HashSet;

use corewise_machine::suggested_command;
use corewise_model::watch::{ThreadNow, WatchFrame, WatchHeader};

use super::keys::{KeyEffect, PressedKey};
use super::process_list::{ListEffect, ProcessList};
use super::row::{RowName, ScreenPart, ThreadOrder, WatchRow};
use super::trails::ThreadTrails;
use super::tree::{TreeNode, build_nodes, labels_at, rows_at};
use crate::draw::suggestion;

/// The content of the bottom line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BottomLine {
    /// The keys.
    #[default]
    Keys,
    /// A message.
    Message(String),
    /// The text typed behind `/`.
    Typing(String),
    /// The question whether to end the started command too.
    MayEnd,
}

/// The content of the screen.
#[derive(Debug)]
pub struct WatchView {
    /// The header: machine, program, and speeds.
    pub header: WatchHeader,
    /// The machine.
    pub nodes: Vec<TreeNode>,
    /// The moment shown.
    pub frame: WatchFrame,
    /// The trails of threads.
    pub trails: ThreadTrails,
    /// The order of threads.
    pub sort: ThreadOrder,
    /// True if the moment is frozen.
    pub is_frozen: bool,
    /// True if help is shown instead.
    pub is_help: bool,
    /// The bottom line.
    pub bottom: BottomLine,
    /// The number of the moment in a recording, from 1, and the number of moments.
    pub place: Option<(usize, usize)>,
    /// The destination of the command's output.
    pub output: Option<String>,
    /// True while a command started here runs.
    pub owns_program: bool,
    /// True if the moments are written into a file, which is about one program.
    pub is_recorded: bool,
    /// The list of processes, while it is shown instead.
    pub list: Option<ProcessList>,
    /// The first row on the screen.
    pub first: usize,
    /// The number of moments to move in a recording.
    pub step: isize,
    /// The list or the process that a key asked for.
    pub request: Option<KeyEffect>,
    selected: Option<RowName>,
    selected_index: usize,
    folded: HashSet<String>,
    is_folded_by_hand: bool,
    found: String,
    page: usize,
}

impl WatchView {
    /// Creates a view without a moment.
    pub fn new(header: WatchHeader) -> Self {
        Self {
            nodes: build_nodes(&header.machine),
            header,
            frame: WatchFrame::default(),
            trails: ThreadTrails::default(),
            sort: ThreadOrder::default(),
            is_frozen: false,
            is_help: false,
            bottom: BottomLine::default(),
            place: None,
            output: None,
            owns_program: false,
            is_recorded: false,
            list: None,
            first: 0,
            step: 0,
            request: None,
            selected: None,
            selected_index: 0,
            folded: HashSet::new(),
            is_folded_by_hand: false,
            found: String::new(),
            page: 10,
        }
    }

    /// Adds a moment. While the screen is frozen, only the trails change.
    pub fn add_frame(&mut self, frame: WatchFrame) {
        self.trails.add_frame(&frame);
        if !self.is_frozen {
            self.frame = frame;
        }
    }

    /// Clears the trails, before the moments that lead to another one are added.
    pub fn begin_trails(&mut self) {
        self.trails = ThreadTrails::default();
    }

    /// Adds a moment to the trails without showing it.
    pub fn add_to_trails(&mut self, frame: &WatchFrame) {
        self.trails.add_frame(frame);
    }

    /// Shows a moment of a recording: its number from 1, and the number of moments.
    pub fn show_frame(&mut self, frame: WatchFrame, place: (usize, usize)) {
        self.trails.add_frame(&frame);
        self.frame = frame;
        self.place = Some(place);
    }

    /// Follows another program from its next moment on.
    pub fn follow_program(&mut self, name: String) {
        self.header.program = Some(name);
        self.begin_trails();
        (self.is_frozen, self.selected, self.selected_index, self.first) = (false, None, 0, 0);
    }

    /// Folds the machine to at most `rows` rows, unless a key has folded something.
    pub fn fold_to_fit(&mut self, rows: usize) {
        if self.is_folded_by_hand {
            return;
        }
        let deepest = (0..9).rev().find(|depth| rows_at(&self.nodes, *depth) <= rows).unwrap_or(0);
        let mut folded = Vec::new();
        labels_at(&self.nodes, deepest, &mut folded);
        self.folded = folded.into_iter().collect();
    }

    /// Returns true if the children of a node are hidden.
    pub fn is_folded(&self, node: &TreeNode) -> bool {
        self.folded.contains(&node.label)
    }

    /// Returns all rows, from top to bottom.
    pub fn list_rows(&self) -> Vec<WatchRow<'_>> {
        self.list_rows_with(&|node| self.is_folded(node))
    }

    fn list_rows_with(&self, is_folded: &dyn Fn(&TreeNode) -> bool) -> Vec<WatchRow<'_>> {
        let mut rows = vec![WatchRow::Title(ScreenPart::Cpus)];
        unfold_nodes(&self.nodes, 0, is_folded, &mut rows);
        if self.header.program.is_some() {
            rows.push(WatchRow::Title(ScreenPart::Threads));
            rows.extend(self.sorted_threads().into_iter().map(WatchRow::Thread));
        }
        rows.push(WatchRow::Title(ScreenPart::Interrupts));
        rows.extend(self.frame.interrupts.iter().map(WatchRow::Source));
        rows
    }

    fn sorted_threads(&self) -> Vec<&ThreadNow> {
        let mut threads: Vec<&ThreadNow> = self.frame.threads.iter().collect();
        let most = |of: fn(&ThreadNow) -> Option<f32>| {
            move |a: &&ThreadNow, b: &&ThreadNow| of(b).unwrap_or(-1.0).total_cmp(&of(a).unwrap_or(-1.0))
        };
        match self.sort {
            ThreadOrder::Start => {}
            ThreadOrder::Running => threads.sort_by(most(|thread| thread.running)),
            ThreadOrder::Waiting => threads.sort_by(most(|thread| thread.waiting)),
            ThreadOrder::Moves => threads.sort_by(most(|thread| thread.moves_per_s)),
            ThreadOrder::Name => threads.sort_by(|a, b| a.name.cmp(&b.name)),
        }
        threads
    }

    /// Returns the index of the selected row among these.
    pub fn selected_index(&self, rows: &[WatchRow<'_>]) -> usize {
        let known = self.selected.as_ref().and_then(|name| rows.iter().position(|row| row.row_name() == *name));
        known.unwrap_or(self.selected_index).min(rows.len().saturating_sub(1))
    }

    /// Scrolls the selected row into a screen of `room` rows.
    pub fn scroll_to_selected(&mut self, room: usize) {
        let rows = self.list_rows();
        let (selected, count) = (self.selected_index(&rows), rows.len());
        // The first line of a part that is scrolled is its title.
        let highest = selected.saturating_sub(usize::from(room > 1));
        let first = self.first.min(highest).max((selected + 1).saturating_sub(room));
        (self.first, self.page) = (first.min(count.saturating_sub(room.min(count))), room.max(1));
    }

    fn select_row(&mut self, index: usize) {
        let rows = self.list_rows();
        let index = index.min(rows.len().saturating_sub(1));
        let name = rows.get(index).map(WatchRow::row_name);
        (self.selected, self.selected_index) = (name, index);
    }

    /// Handles a key.
    pub fn press_key(&mut self, key: PressedKey) -> KeyEffect {
        match key {
            PressedKey::Interrupt => return self.ask_to_quit(),
            PressedKey::Stop => return KeyEffect::Stop,
            _ if self.is_help => {
                self.is_help = false;
                return KeyEffect::Draw;
            }
            _ => {}
        }
        if let Some(list) = &mut self.list {
            let effect = list.press_key(key);
            if matches!(effect, ListEffect::Close | ListEffect::Follow(_)) {
                self.list = None;
            }
            return match effect {
                ListEffect::LookAgain => KeyEffect::ListProcesses,
                ListEffect::Follow(number) => KeyEffect::Follow(number),
                ListEffect::Stay | ListEffect::Close => KeyEffect::Draw,
            };
        }
        match std::mem::take(&mut self.bottom) {
            BottomLine::Typing(text) => {
                self.handle_typing(text, key);
                KeyEffect::Draw
            }
            BottomLine::MayEnd => match key {
                PressedKey::Character('q') => KeyEffect::EndProgram,
                PressedKey::Character('d') => KeyEffect::Quit,
                _ => KeyEffect::Draw,
            },
            BottomLine::Keys | BottomLine::Message(_) => self.handle_command(key),
        }
    }

    fn ask_to_quit(&mut self) -> KeyEffect {
        if self.owns_program && self.bottom != BottomLine::MayEnd {
            (self.bottom, self.is_help) = (BottomLine::MayEnd, false);
            return KeyEffect::Draw;
        }
        if self.owns_program { KeyEffect::EndProgram } else { KeyEffect::Quit }
    }

    /// Returns why no other process can be followed; `None` if one can.
    fn refuse_list(&self) -> Option<&'static str> {
        match () {
            () if self.place.is_some() => Some("a recording has no other processes"),
            () if self.owns_program => Some("the command that was started here is watched until it ends"),
            () if self.is_recorded => Some("the file of moments is about one program"),
            () => None,
        }
    }

    fn handle_command(&mut self, key: PressedKey) -> KeyEffect {
        let at = self.selected_index(&self.list_rows());
        match key {
            PressedKey::Character('q') => return self.ask_to_quit(),
            PressedKey::Character('?' | 'h') => self.is_help = true,
            PressedKey::Character('/') => self.bottom = BottomLine::Typing(String::new()),
            PressedKey::Character('n') => self.find_next(),
            PressedKey::Character('p') => match self.refuse_list() {
                Some(why) => self.bottom = BottomLine::Message(why.to_owned()),
                None => return KeyEffect::ListProcesses,
            },
            PressedKey::Character('s') => self.sort = self.sort.next_order(),
            PressedKey::Character(' ') => self.is_frozen = !self.is_frozen,
            PressedKey::Character('e') => self.bottom = BottomLine::Message(self.examine_command(at)),
            PressedKey::Character('*') => self.is_folded_by_hand = false,
            PressedKey::Character('.') => return KeyEffect::Step(1),
            PressedKey::Character(',') => return KeyEffect::Step(-1),
            PressedKey::Up | PressedKey::Character('k') => self.select_row(at.saturating_sub(1)),
            PressedKey::Down | PressedKey::Character('j') => self.select_row(at + 1),
            PressedKey::PageUp => self.select_row(at.saturating_sub(self.page)),
            PressedKey::PageDown => self.select_row(at + self.page),
            PressedKey::Home | PressedKey::Character('g') => self.select_row(0),
            PressedKey::End | PressedKey::Character('G') => self.select_row(usize::MAX),
            PressedKey::Tab => self.select_row(self.next_part(at)),
            PressedKey::Right | PressedKey::Character('+') => self.set_folded(at, false),
            PressedKey::Left | PressedKey::Character('-') => self.fold_here_or_above(at),
            PressedKey::Enter => self.set_folded(at, !self.is_folded_at(at)),
            _ => {}
        }
        KeyEffect::Draw
    }

    fn next_part(&self, at: usize) -> usize {
        let rows = self.list_rows();
        let is_title = |index: &usize| matches!(rows[*index], WatchRow::Title(_));
        (at + 1..rows.len()).find(is_title).unwrap_or(0)
    }

    fn is_folded_at(&self, at: usize) -> bool {
        matches!(self.list_rows().get(at), Some(WatchRow::Node(node, _)) if self.is_folded(node))
    }

    fn set_folded(&mut self, at: usize, is_folded: bool) {
        let Some(WatchRow::Node(node, _)) = self.list_rows().get(at).cloned() else { return };
        let (label, is_cpu) = (node.label.clone(), node.is_cpu());
        self.select_row(at);
        if is_folded && !is_cpu {
            self.folded.insert(label);
        } else {
            self.folded.remove(&label);
        }
        self.is_folded_by_hand = true;
    }

    /// Folds a node; for a folded node or a cpu, folds its parent.
    fn fold_here_or_above(&mut self, at: usize) {
        let rows = self.list_rows();
        let Some(WatchRow::Node(node, depth)) = rows.get(at) else { return };
        if !node.is_cpu() && !self.is_folded(node) {
            return self.set_folded(at, true);
        }
        let depth = *depth;
        let above = (0..at).rev().find(|index| matches!(rows[*index], WatchRow::Node(_, other) if other < depth));
        if let Some(above) = above {
            self.set_folded(above, true);
        }
    }

    fn handle_typing(&mut self, mut text: String, key: PressedKey) {
        match key {
            PressedKey::Enter => {
                self.found = text.to_lowercase();
                return self.find_next();
            }
            PressedKey::Escape => return,
            PressedKey::Backspace => _ = text.pop(),
            PressedKey::Character(character) => text.push(character),
            _ => {}
        }
        self.bottom = BottomLine::Typing(text);
    }

    /// Selects the next row with the searched text, and unfolds its ancestors.
    fn find_next(&mut self) {
        if self.found.is_empty() {
            return;
        }
        let rows = self.list_rows_with(&|_| false);
        let at = self.selected_index(&rows);
        let around = (at + 1..rows.len()).chain(0..=at.min(rows.len() - 1));
        let found = around.into_iter().find(|index| rows[*index].search_text().contains(&self.found));
        let Some(name) = found.map(|index| rows[index].row_name()) else {
            self.bottom = BottomLine::Message(format!("\"{}\" is not found", self.found));
            return;
        };
        if let RowName::Node(label) = &name {
            let mut above = Vec::new();
            path_to(&self.nodes, label, &mut above);
            if above.iter().any(|label| self.folded.remove(label)) {
                above.iter().for_each(|label| _ = self.folded.remove(label));
                self.is_folded_by_hand = true;
            }
        }
        self.selected = Some(name);
        self.selected_index = self.selected_index(&self.list_rows());
    }

    fn examine_command(&self, at: usize) -> String {
        let rows = self.list_rows();
        match rows.get(at) {
            Some(WatchRow::Node(node, _)) => {
                suggestion::format_typed(&suggested_command::tail_explain_cpus(&node.cpus.to_string()))
            }
            Some(WatchRow::Title(ScreenPart::Cpus)) | None => suggestion::format_typed(&suggested_command::survey()),
            Some(WatchRow::Thread(ThreadNow { process, rule: Some(_), .. })) => {
                suggestion::format_typed(&suggested_command::keep_why(&process.to_string()))
            }
            Some(WatchRow::Thread(thread)) => suggestion::format_typed(&suggested_command::try_process(thread.process)),
            Some(WatchRow::Title(ScreenPart::Threads)) => match self.frame.threads.first() {
                Some(thread) => suggestion::format_typed(&suggested_command::try_process(thread.process)),
                None => suggestion::format_typed(&suggested_command::keep_plan()),
            },
            Some(WatchRow::Source(_) | WatchRow::Title(ScreenPart::Interrupts)) => {
                suggestion::format_typed(&suggested_command::irq())
            }
        }
    }
}

fn unfold_nodes<'a>(
    nodes: &'a [TreeNode],
    depth: usize,
    is_folded: &dyn Fn(&TreeNode) -> bool,
    rows: &mut Vec<WatchRow<'a>>,
) {
    for node in nodes {
        rows.push(WatchRow::Node(node, depth));
        if !is_folded(node) {
            unfold_nodes(&node.children, depth + 1, is_folded, rows);
        }
    }
}

/// Collects the labels of a node's ancestors. Returns true if the node is among `nodes` or below.
fn path_to(nodes: &[TreeNode], label: &str, above: &mut Vec<String>) -> bool {
    for node in nodes {
        if node.label == label {
            return true;
        }
        above.push(node.label.clone());
        if path_to(&node.children, label, above) {
            return true;
        }
        above.pop();
    }
    false
}
