//! Syntax tree of an expression.

use std::fmt;
use std::ops::Range;

use super::Indices;
use super::order::list;
use crate::vocabulary::vocabulary;
use crate::{CpuSet, Level};

/// An expression of the placement language. Prints as a text with the same meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    pub(super) text: String,
    pub(super) term: Term,
}

/// A part of an expression, with its position.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) node: Node,
    /// Range of its characters in the text.
    pub(super) at: Range<usize>,
}

/// Positions do not matter for equality.
impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl Eq for Term {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// Cpus by number, in the typed order.
    List(Vec<u32>),
    Mask(CpuSet),
    Name(Name),
    /// Objects of a level, of the machine or of the term before the dot.
    Objects {
        of: Option<Box<Term>>,
        level: Level,
        indices: Indices,
    },
    Pattern {
        pattern: Pattern,
        count: u32,
        level: Level,
        among: Option<Box<Term>>,
    },
    /// Cpus worth most now.
    Best {
        count: u32,
        among: Option<Box<Term>>,
    },
    /// Cpus near a device, by the user's name for it.
    Near(String),
    Not(Box<Term>),
    /// Terms joined from left to right.
    Chain(Box<Term>, Vec<(Operator, Term)>),
}

/// Operator between two terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`: the cpus of either term.
    Union,
    /// `-`: the cpus of the first term without the second's.
    Without,
    /// `&`: the cpus in both terms.
    Both,
}

impl Operator {
    /// All operators.
    pub const ALL: [Self; 3] = [Self::Union, Self::Without, Self::Both];

    /// Returns the character.
    pub const fn symbol(self) -> char {
        match self {
            Self::Union => '+',
            Self::Without => '-',
            Self::Both => '&',
        }
    }
}

vocabulary! {
    /// A name of cpus.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Name {
        All "all": "every cpu of the machine";
        Online "online": "those that are switched on";
        Performance "performance": "the larger, faster cores, on machines with several kinds";
        Efficiency "efficiency": "the smaller cores, on machines with several kinds";
        LowPower "low-power": "the smallest cores, outside the last-level cache";
        Vcache "vcache": "the dies with stacked cache";
        Frequency "frequency": "the other dies of a machine with stacked cache";
        Quiet "quiet": "those that the latest survey found less disturbed than the others";
        Isolated "isolated": "those that `isolcpus=` or an isolated cpuset keeps out of the scheduler's balancing";
        OnePerCore "one-per-core": "one usable cpu of each core";
        WithMemory "with-memory": "those on NUMA nodes that have memory, and whose memory this process may use";
        CheapMemory "cheap-memory": "those whose nearest memory costs at most 10 % more than any cpu's, by the latest map of memory; an error without one";
    }
}

vocabulary! {
    /// A way to choose a number of cpus.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Pattern {
        Spread "spread": "over as many objects of a level as will hold them";
        Pack "pack": "over as few objects of a level as will hold them";
    }
}

/// Word for the cpus worth most.
pub(super) const BEST: &str = "best";
/// Word for their criterion.
pub(super) const WORTH: &str = "worth";
/// Word for the cpus near a device.
pub(super) const NEAR: &str = "near";

impl Expression {
    /// Returns the original text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the cpus of a single list or mask, in the typed order; `None` for other expressions. A list or mask means the same on every
    /// machine with these cpus.
    pub fn plain_cpus(&self) -> Option<Vec<u32>> {
        match &self.term.node {
            Node::List(cpus) => Some(cpus.clone()),
            Node::Mask(cpus) => Some(cpus.iter().collect()),
            _ => None,
        }
    }

    /// Returns true if the expression uses groups, which need a map of links.
    pub(super) fn needs_groups(&self) -> bool {
        let is_group = |node: &Node| {
            matches!(node, Node::Objects { level: Level::Group, .. } | Node::Pattern { level: Level::Group, .. })
        };
        self.term.has(&is_group)
    }

    /// Returns true if memory costs change the selection: `cheap-memory`, and devices at a node without cpus.
    pub(super) fn needs_memory_costs(&self) -> bool {
        self.term.has(&|node| matches!(node, Node::Name(Name::CheapMemory) | Node::Near(_)))
    }

    /// Returns true if the expression uses current worth; its cpus change with time.
    pub(super) fn needs_worth(&self) -> bool {
        self.term.has(&|node| matches!(node, Node::Best { .. }))
    }

    /// Returns true if the expression uses the cpus near a device, by the system's reports.
    pub fn needs_devices(&self) -> bool {
        self.term.has(&|node| matches!(node, Node::Near(_)))
    }

    /// Returns true if the expression has the name `quiet`, which needs a survey.
    pub(super) fn needs_survey(&self) -> bool {
        self.term.has(&|node| *node == Node::Name(Name::Quiet))
    }
}

impl Term {
    fn has(&self, wanted: &impl Fn(&Node) -> bool) -> bool {
        wanted(&self.node)
            || match &self.node {
                Node::List(_) | Node::Mask(_) | Node::Name(_) | Node::Near(_) => false,
                Node::Objects { of, .. } => of.as_ref().is_some_and(|of| of.has(wanted)),
                Node::Pattern { among, .. } | Node::Best { among, .. } => {
                    among.as_ref().is_some_and(|among| among.has(wanted))
                }
                Node::Not(term) => term.has(wanted),
                Node::Chain(first, rest) => first.has(wanted) || rest.iter().any(|(_, term)| term.has(wanted)),
            }
    }

    /// Writes the term as an operand: a chain in parentheses.
    fn operand(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self.node, Node::Chain(..)) { write!(formatter, "({self})") } else { write!(formatter, "{self}") }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.term.fmt(formatter)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Node::List(cpus) => formatter.write_str(&list(cpus)),
            Node::Mask(cpus) => write!(formatter, "0x{}", cpus.to_hexadecimal()),
            Node::Name(name) => formatter.write_str(name.word()),
            Node::Objects { of, level, indices } => {
                if let Some(of) = of {
                    // A list before a dot would look like a decimal fraction.
                    match of.node {
                        Node::List(_) | Node::Mask(_) | Node::Not(_) => write!(formatter, "({of}).")?,
                        _ => {
                            of.operand(formatter)?;
                            formatter.write_str(".")?;
                        }
                    }
                }
                write!(formatter, "{level}:{indices}")
            }
            Node::Pattern { pattern, count, level, among } => {
                write!(formatter, "{}({count}, {level}", pattern.word())?;
                among.iter().try_for_each(|among| write!(formatter, ", {among}"))?;
                formatter.write_str(")")
            }
            Node::Best { count, among } => {
                write!(formatter, "{BEST}({count}, {WORTH}")?;
                among.iter().try_for_each(|among| write!(formatter, ", {among}"))?;
                formatter.write_str(")")
            }
            Node::Near(device) => write!(formatter, "{NEAR}({device})"),
            Node::Not(term) => {
                formatter.write_str("!")?;
                term.operand(formatter)
            }
            Node::Chain(first, rest) => {
                chain_operand(formatter, first, rest.first())?;
                rest.iter().enumerate().try_for_each(|(place, (operator, term))| {
                    write!(formatter, " {} ", operator.symbol())?;
                    chain_operand(formatter, term, rest.get(place + 1))
                })
            }
        }
    }
}

/// Parenthesises a list before "- 3": `0 - 3` could be read as the range.
fn chain_operand(formatter: &mut fmt::Formatter<'_>, term: &Term, next: Option<&(Operator, Term)>) -> fmt::Result {
    let range =
        matches!((&term.node, next), (Node::List(_), Some((Operator::Without, Term { node: Node::List(_), .. }))));
    if range { write!(formatter, "({term})") } else { term.operand(formatter) }
}
