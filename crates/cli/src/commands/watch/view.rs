//! The content of the screen, and the effects of keys: a value without a terminal.

use std::collections::HashSet;

use corewise_machine::suggested_command;
use corewise_model::watch::{Frame, Header, ThreadNow};

use super::keys::{Effect, Key};
use super::row::{Part, Row, RowName, Sort};
use super::trails::Trails;
use super::tree::{Node, labels_at, nodes, rows_at};
use crate::draw::suggestion;

/// The content of the bottom line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bottom {
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
pub struct View {
    /// The header: machine, program, and speeds.
    pub header: Header,
    /// The machine.
    pub nodes: Vec<Node>,
    /// The moment shown.
    pub frame: Frame,
    /// The trails of threads.
    pub trails: Trails,
    /// The order of threads.
    pub sort: Sort,
    /// True if the moment is frozen.
    pub is_frozen: bool,
    /// True if help is shown instead.
    pub is_help: bool,
    /// The bottom line.
    pub bottom: Bottom,
    /// The number of the moment in a recording, from 1, and the number of moments.
    pub place: Option<(usize, usize)>,
    /// The destination of the command's output.
    pub output: Option<String>,
    /// True while a command started here runs.
    pub owns_program: bool,
    /// The first row on the screen.
    pub first: usize,
    /// The number of moments to move in a recording.
    pub step: isize,
    selected: Option<RowName>,
    selected_index: usize,
    folded: HashSet<String>,
    is_folded_by_hand: bool,
    found: String,
    page: usize,
}

impl View {
    /// Creates a view without a moment.
    pub fn new(header: Header) -> Self {
        Self {
            nodes: nodes(&header.machine),
            header,
            frame: Frame::default(),
            trails: Trails::default(),
            sort: Sort::default(),
            is_frozen: false,
            is_help: false,
            bottom: Bottom::default(),
            place: None,
            output: None,
            owns_program: false,
            first: 0,
            step: 0,
            selected: None,
            selected_index: 0,
            folded: HashSet::new(),
            is_folded_by_hand: false,
            found: String::new(),
            page: 10,
        }
    }

    /// Adds a moment. While the screen is frozen, only the trails change.
    pub fn add(&mut self, frame: Frame) {
        self.trails.add(&frame);
        if !self.is_frozen {
            self.frame = frame;
        }
    }

    /// Clears the trails, before the moments that lead to another one are added.
    pub fn begin_trails(&mut self) {
        self.trails = Trails::default();
    }

    /// Adds a moment to the trails without showing it.
    pub fn add_to_trails(&mut self, frame: &Frame) {
        self.trails.add(frame);
    }

    /// Shows a moment of a recording: its number from 1, and the number of moments.
    pub fn show(&mut self, frame: Frame, place: (usize, usize)) {
        self.trails.add(&frame);
        self.frame = frame;
        self.place = Some(place);
    }

    /// Folds the machine to at most `rows` rows, unless a key has folded something.
    pub fn fit(&mut self, rows: usize) {
        if self.is_folded_by_hand {
            return;
        }
        let deepest = (0..9).rev().find(|depth| rows_at(&self.nodes, *depth) <= rows).unwrap_or(0);
        let mut folded = Vec::new();
        labels_at(&self.nodes, deepest, &mut folded);
        self.folded = folded.into_iter().collect();
    }

    /// Returns true if the children of a node are hidden.
    pub fn is_folded(&self, node: &Node) -> bool {
        self.folded.contains(&node.label)
    }

    /// Returns all rows, from top to bottom.
    pub fn rows(&self) -> Vec<Row<'_>> {
        self.rows_with(&|node| self.is_folded(node))
    }

    fn rows_with(&self, is_folded: &dyn Fn(&Node) -> bool) -> Vec<Row<'_>> {
        let mut rows = vec![Row::Title(Part::Cpus)];
        unfold(&self.nodes, 0, is_folded, &mut rows);
        if self.header.program.is_some() {
            rows.push(Row::Title(Part::Threads));
            rows.extend(self.threads().into_iter().map(Row::Thread));
        }
        rows.push(Row::Title(Part::Interrupts));
        rows.extend(self.frame.interrupts.iter().map(Row::Source));
        rows
    }

    fn threads(&self) -> Vec<&ThreadNow> {
        let mut threads: Vec<&ThreadNow> = self.frame.threads.iter().collect();
        let most = |of: fn(&ThreadNow) -> Option<f32>| {
            move |a: &&ThreadNow, b: &&ThreadNow| of(b).unwrap_or(-1.0).total_cmp(&of(a).unwrap_or(-1.0))
        };
        match self.sort {
            Sort::Start => {}
            Sort::Running => threads.sort_by(most(|thread| thread.running)),
            Sort::Waiting => threads.sort_by(most(|thread| thread.waiting)),
            Sort::Moves => threads.sort_by(most(|thread| thread.moves_per_s)),
            Sort::Name => threads.sort_by(|a, b| a.name.cmp(&b.name)),
        }
        threads
    }

    /// Returns the index of the selected row among these.
    pub fn selected(&self, rows: &[Row<'_>]) -> usize {
        let known = self.selected.as_ref().and_then(|name| rows.iter().position(|row| row.name() == *name));
        known.unwrap_or(self.selected_index).min(rows.len().saturating_sub(1))
    }

    /// Scrolls the selected row into a screen of `room` rows.
    pub fn scroll(&mut self, room: usize) {
        let rows = self.rows();
        let (selected, count) = (self.selected(&rows), rows.len());
        let first = self.first.min(selected).max((selected + 1).saturating_sub(room));
        (self.first, self.page) = (first.min(count.saturating_sub(room.min(count))), room.max(1));
    }

    fn select(&mut self, index: usize) {
        let rows = self.rows();
        let index = index.min(rows.len().saturating_sub(1));
        let name = rows.get(index).map(Row::name);
        (self.selected, self.selected_index) = (name, index);
    }

    /// Handles a key.
    pub fn press(&mut self, key: Key) -> Effect {
        match key {
            Key::Interrupt => return self.quit(),
            Key::Stop => return Effect::Stop,
            _ if self.is_help => {
                self.is_help = false;
                return Effect::Draw;
            }
            _ => {}
        }
        match std::mem::take(&mut self.bottom) {
            Bottom::Typing(text) => {
                self.typed(text, key);
                Effect::Draw
            }
            Bottom::MayEnd => match key {
                Key::Character('q') => Effect::EndProgram,
                Key::Character('d') => Effect::Quit,
                _ => Effect::Draw,
            },
            Bottom::Keys | Bottom::Message(_) => self.command(key),
        }
    }

    fn quit(&mut self) -> Effect {
        if self.owns_program && self.bottom != Bottom::MayEnd {
            (self.bottom, self.is_help) = (Bottom::MayEnd, false);
            return Effect::Draw;
        }
        if self.owns_program { Effect::EndProgram } else { Effect::Quit }
    }

    fn command(&mut self, key: Key) -> Effect {
        let at = self.selected(&self.rows());
        match key {
            Key::Character('q') => return self.quit(),
            Key::Character('?' | 'h') => self.is_help = true,
            Key::Character('/') => self.bottom = Bottom::Typing(String::new()),
            Key::Character('n') => self.find(),
            Key::Character('s') => self.sort = self.sort.next(),
            Key::Character(' ') => self.is_frozen = !self.is_frozen,
            Key::Character('e') => self.bottom = Bottom::Message(self.examination(at)),
            Key::Character('*') => self.is_folded_by_hand = false,
            Key::Character('.') => return Effect::Step(1),
            Key::Character(',') => return Effect::Step(-1),
            Key::Up | Key::Character('k') => self.select(at.saturating_sub(1)),
            Key::Down | Key::Character('j') => self.select(at + 1),
            Key::PageUp => self.select(at.saturating_sub(self.page)),
            Key::PageDown => self.select(at + self.page),
            Key::Home | Key::Character('g') => self.select(0),
            Key::End | Key::Character('G') => self.select(usize::MAX),
            Key::Tab => self.select(self.next_part(at)),
            Key::Right | Key::Character('+') => self.set_folded(at, false),
            Key::Left | Key::Character('-') => self.fold_here_or_above(at),
            Key::Enter => self.set_folded(at, !self.is_folded_at(at)),
            _ => {}
        }
        Effect::Draw
    }

    fn next_part(&self, at: usize) -> usize {
        let rows = self.rows();
        let is_title = |index: &usize| matches!(rows[*index], Row::Title(_));
        (at + 1..rows.len()).find(is_title).unwrap_or(0)
    }

    fn is_folded_at(&self, at: usize) -> bool {
        matches!(self.rows().get(at), Some(Row::Node(node, _)) if self.is_folded(node))
    }

    fn set_folded(&mut self, at: usize, is_folded: bool) {
        let Some(Row::Node(node, _)) = self.rows().get(at).cloned() else { return };
        let (label, is_cpu) = (node.label.clone(), node.is_cpu());
        self.select(at);
        if is_folded && !is_cpu {
            self.folded.insert(label);
        } else {
            self.folded.remove(&label);
        }
        self.is_folded_by_hand = true;
    }

    /// Folds a node; for a folded node or a cpu, folds its parent.
    fn fold_here_or_above(&mut self, at: usize) {
        let rows = self.rows();
        let Some(Row::Node(node, depth)) = rows.get(at) else { return };
        if !node.is_cpu() && !self.is_folded(node) {
            return self.set_folded(at, true);
        }
        let depth = *depth;
        let above = (0..at).rev().find(|index| matches!(rows[*index], Row::Node(_, other) if other < depth));
        if let Some(above) = above {
            self.set_folded(above, true);
        }
    }

    fn typed(&mut self, mut text: String, key: Key) {
        match key {
            Key::Enter => {
                self.found = text.to_lowercase();
                return self.find();
            }
            Key::Escape => return,
            Key::Backspace => _ = text.pop(),
            Key::Character(character) => text.push(character),
            _ => {}
        }
        self.bottom = Bottom::Typing(text);
    }

    /// Selects the next row with the searched text, and unfolds its ancestors.
    fn find(&mut self) {
        if self.found.is_empty() {
            return;
        }
        let rows = self.rows_with(&|_| false);
        let at = self.selected(&rows);
        let around = (at + 1..rows.len()).chain(0..=at.min(rows.len() - 1));
        let found = around.into_iter().find(|index| rows[*index].text().contains(&self.found));
        let Some(name) = found.map(|index| rows[index].name()) else {
            self.bottom = Bottom::Message(format!("\"{}\" is not found", self.found));
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
        self.selected_index = self.selected(&self.rows());
    }

    fn examination(&self, at: usize) -> String {
        let rows = self.rows();
        match rows.get(at) {
            Some(Row::Node(node, _)) => {
                suggestion::typed(&suggested_command::tail_explain_cpus(&node.cpus.to_string()))
            }
            Some(Row::Title(Part::Cpus)) | None => suggestion::typed(&suggested_command::survey()),
            Some(Row::Thread(ThreadNow { process, rule: Some(_), .. })) => {
                suggestion::typed(&suggested_command::keep_why(&process.to_string()))
            }
            Some(Row::Thread(thread)) => suggestion::typed(&suggested_command::try_process(thread.process)),
            Some(Row::Title(Part::Threads)) => match self.frame.threads.first() {
                Some(thread) => suggestion::typed(&suggested_command::try_process(thread.process)),
                None => suggestion::typed(&suggested_command::keep_plan()),
            },
            Some(Row::Source(_) | Row::Title(Part::Interrupts)) => suggestion::typed(&suggested_command::irq()),
        }
    }
}

fn unfold<'a>(nodes: &'a [Node], depth: usize, is_folded: &dyn Fn(&Node) -> bool, rows: &mut Vec<Row<'a>>) {
    for node in nodes {
        rows.push(Row::Node(node, depth));
        if !is_folded(node) {
            unfold(&node.children, depth + 1, is_folded, rows);
        }
    }
}

/// Collects the labels of a node's ancestors. Returns true if the node is among `nodes` or below.
fn path_to(nodes: &[Node], label: &str, above: &mut Vec<String>) -> bool {
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
