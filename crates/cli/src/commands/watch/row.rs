//! The rows of the screen as values, and the order of threads.

use corewise_model::watch::{SourceNow, ThreadNow};

use super::tree::TreeNode;

/// A part of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenPart {
    /// The machine.
    Cpus,
    /// The program.
    Threads,
    /// Interrupts by source.
    Interrupts,
}

/// A row that can be selected.
#[derive(Clone, Debug)]
pub enum WatchRow<'a> {
    /// The beginning of a part, with the titles of its columns.
    Title(ScreenPart),
    /// An object of the machine or a cpu, with its depth.
    Node(&'a TreeNode, usize),
    /// A thread.
    Thread(&'a ThreadNow),
    /// A source of interrupts.
    Source(&'a SourceNow),
}

/// Identifies a row, whatever its values are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RowName {
    /// The beginning of a part.
    Title(u8),
    /// An object of the machine or a cpu.
    Node(String),
    /// A thread.
    Thread(u32),
    /// A source of interrupts.
    Source(String),
}

impl WatchRow<'_> {
    /// Returns the identity of the row.
    pub fn row_name(&self) -> RowName {
        match self {
            Self::Title(part) => RowName::Title(*part as u8),
            Self::Node(node, _) => RowName::Node(node.label.clone()),
            Self::Thread(thread) => RowName::Thread(thread.thread),
            Self::Source(source) => RowName::Source(source.source.clone()),
        }
    }

    /// Returns the text that `/` searches, in lower case.
    pub fn search_text(&self) -> String {
        match self {
            Self::Title(_) => String::new(),
            Self::Node(node, _) => format!("{} {}", node.label, node.note),
            Self::Thread(thread) => {
                format!("{} {} {}", thread.name, thread.thread, thread.rule.as_deref().unwrap_or_default())
            }
            Self::Source(source) => source.source.clone(),
        }
        .to_lowercase()
    }
}

/// The order of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadOrder {
    /// By start.
    #[default]
    Start,
    /// By running time, the most first.
    Running,
    /// By waiting time, the most first.
    Waiting,
    /// By moves, the most first.
    Moves,
    /// By name.
    Name,
}

impl ThreadOrder {
    /// Returns the word on the screen.
    pub const fn order_word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Moves => "moves",
            Self::Name => "name",
        }
    }

    /// Returns the next order.
    pub const fn next_order(self) -> Self {
        match self {
            Self::Start => Self::Running,
            Self::Running => Self::Waiting,
            Self::Waiting => Self::Moves,
            Self::Moves => Self::Name,
            Self::Name => Self::Start,
        }
    }
}
