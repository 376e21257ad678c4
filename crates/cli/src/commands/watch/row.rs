//! The rows of the screen as values: which there are, and in which order threads are.

use corewise_model::watch::{SourceNow, ThreadNow};

use super::tree::Node;

/// A part of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The machine.
    Cpus,
    /// The program.
    Threads,
    /// Interrupts by source.
    Interrupts,
}

/// A row that can be selected.
#[derive(Clone, Debug)]
pub enum Row<'a> {
    /// The beginning of a part, with the titles of its columns.
    Title(Part),
    /// An object of the machine or a cpu, with how deep it lies.
    Node(&'a Node, usize),
    /// A thread.
    Thread(&'a ThreadNow),
    /// A source of interrupts.
    Source(&'a SourceNow),
}

/// Which row it is, whatever stands beside it.
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

impl Row<'_> {
    /// Which row it is.
    pub fn name(&self) -> RowName {
        match self {
            Self::Title(part) => RowName::Title(*part as u8),
            Self::Node(node, _) => RowName::Node(node.label.clone()),
            Self::Thread(thread) => RowName::Thread(thread.thread),
            Self::Source(source) => RowName::Source(source.source.clone()),
        }
    }

    /// What is looked through by `/`.
    pub fn text(&self) -> String {
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
pub enum Sort {
    /// As they were started.
    #[default]
    Start,
    /// Those that run most first.
    Running,
    /// Those that wait most first.
    Waiting,
    /// Those that move most first.
    Moves,
    /// By name.
    Name,
}

impl Sort {
    /// As the screen says it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Moves => "moves",
            Self::Name => "name",
        }
    }

    /// The order after it.
    pub const fn next(self) -> Self {
        match self {
            Self::Start => Self::Running,
            Self::Running => Self::Waiting,
            Self::Waiting => Self::Moves,
            Self::Moves => Self::Name,
            Self::Name => Self::Start,
        }
    }
}
