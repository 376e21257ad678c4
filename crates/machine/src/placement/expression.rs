//! Syntax tree of an expression.

use std::fmt;
use std::ops::Range;

use super::ObjectIndices;
use super::order::format_list;
use crate::vocabulary::vocabulary;
use crate::{CpuSet, GapSubject, Level};

/// An expression of the placement language. Prints as a text with the same meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementExpression {
    pub(super) text: String,
    pub(super) term: ExpressionTerm,
}

/// A part of an expression, with its position.
#[derive(Clone, Debug)]
pub(super) struct ExpressionTerm {
    pub(super) node: TermNode,
    /// Range of its characters in the text.
    pub(super) at: Range<usize>,
}

/// Positions do not matter for equality.
impl PartialEq for ExpressionTerm {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl Eq for ExpressionTerm {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TermNode {
    /// Cpus by number, in the typed order.
    List(Vec<u32>),
    Mask(CpuSet),
    Name(CpuSetName),
    /// Objects of a level, of the machine or of the term before the dot.
    Objects {
        of: Option<Box<ExpressionTerm>>,
        level: Level,
        indices: ObjectIndices,
    },
    Pattern {
        pattern: PlacementPattern,
        count: u32,
        level: Level,
        among: Option<Box<ExpressionTerm>>,
    },
    /// Cpus worth most now.
    Best {
        count: u32,
        among: Option<Box<ExpressionTerm>>,
    },
    /// Cpus near a device, by the user's name for it.
    Near(String),
    Not(Box<ExpressionTerm>),
    /// Terms joined from left to right.
    Chain(Box<ExpressionTerm>, Vec<(SetOperator, ExpressionTerm)>),
}

/// Operator between two terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    /// `+`: the cpus of either term.
    Union,
    /// `-`: the cpus of the first term without the second's.
    Without,
    /// `&`: the cpus in both terms.
    Both,
}

impl SetOperator {
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
    pub enum CpuSetName {
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
    ///
    /// # Examples
    /// ```
    /// use corewise_machine::placement::{self, ResolveContext};
    /// use corewise_machine::{CpuSet, generate::one_package_machine};
    ///
    /// let llcs = [(CpuSet::parse_list("0-3")?, 32), (CpuSet::parse_list("4-7")?, 32)];
    /// let machine = one_package_machine(8, false, &llcs);
    /// let context = ResolveContext { machine: &machine, reachable: &machine.allowed, quiet: None, worth: None };
    /// let order = |text: &str| placement::parse(text)?.resolve_on(&context).map(|found| found.order);
    /// assert_eq!((order("spread(4, llc)")?, order("pack(4, llc)")?), (vec![0, 4, 1, 5], vec![0, 1, 2, 3]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PlacementPattern {
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

impl PlacementExpression {
    /// Returns the original text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the cpus of a single list or mask, in the typed order; `None` for other expressions. A list or mask means the same on every
    /// machine with these cpus.
    pub fn plain_cpus(&self) -> Option<Vec<u32>> {
        match &self.term.node {
            TermNode::List(cpus) => Some(cpus.clone()),
            TermNode::Mask(cpus) => Some(cpus.iter().collect()),
            _ => None,
        }
    }

    /// Returns true if the expression uses groups, which need a map of links.
    pub(super) fn needs_groups(&self) -> bool {
        let is_group = |node: &TermNode| {
            matches!(
                node,
                TermNode::Objects { level: Level::Group, .. } | TermNode::Pattern { level: Level::Group, .. }
            )
        };
        self.term.has_node(&is_group)
    }

    /// Returns true if memory costs change the selection: `cheap-memory`, and devices at a node without cpus.
    pub(super) fn needs_memory_costs(&self) -> bool {
        self.term.has_node(&|node| matches!(node, TermNode::Name(CpuSetName::CheapMemory) | TermNode::Near(_)))
    }

    /// Returns true if the expression uses current worth; its cpus change with time.
    pub(super) fn needs_worth(&self) -> bool {
        self.term.has_node(&|node| matches!(node, TermNode::Best { .. }))
    }

    /// Returns true if the expression uses the cpus near a device, by the system's reports.
    pub fn needs_devices(&self) -> bool {
        self.term.has_node(&|node| matches!(node, TermNode::Near(_)))
    }

    /// Returns true if the selected cpus depend on this part of the machine; a list or mask depends on none.
    pub fn depends_on(&self, subject: GapSubject) -> bool {
        self.term.has_node(&|node| node.subjects().contains(&subject))
    }

    /// Returns true if the expression has the name `quiet`, which needs a survey.
    pub(super) fn needs_survey(&self) -> bool {
        self.term.has_node(&|node| *node == TermNode::Name(CpuSetName::Quiet))
    }
}

impl TermNode {
    /// Returns the parts of the machine that decide which cpus this selects; inner terms have their own.
    fn subjects(&self) -> Vec<GapSubject> {
        match self {
            Self::List(_) | Self::Mask(_) | Self::Best { .. } | Self::Chain(..) => Vec::new(),
            Self::Not(_) => vec![GapSubject::Cpus],
            Self::Near(_) => vec![GapSubject::Nodes],
            Self::Name(name) => name.subjects().to_vec(),
            Self::Objects { level, .. } => GapSubject::from_level(*level).into_iter().collect(),
            // Cpus of one core are the last that a pattern takes, or the first.
            Self::Pattern { level, .. } => {
                GapSubject::from_level(*level).into_iter().chain([GapSubject::Cores]).collect()
            }
        }
    }
}

impl CpuSetName {
    const fn subjects(self) -> &'static [GapSubject] {
        match self {
            Self::All | Self::Online | Self::Isolated => &[GapSubject::Cpus],
            Self::Performance | Self::Efficiency => &[GapSubject::Kinds],
            Self::LowPower => &[GapSubject::Kinds, GapSubject::Caches],
            Self::Vcache | Self::Frequency => &[GapSubject::Caches],
            Self::OnePerCore => &[GapSubject::Cores],
            Self::WithMemory | Self::CheapMemory => &[GapSubject::Nodes],
            Self::Quiet => &[],
        }
    }
}

impl ExpressionTerm {
    fn has_node(&self, wanted: &impl Fn(&TermNode) -> bool) -> bool {
        wanted(&self.node)
            || match &self.node {
                TermNode::List(_) | TermNode::Mask(_) | TermNode::Name(_) | TermNode::Near(_) => false,
                TermNode::Objects { of, .. } => of.as_ref().is_some_and(|of| of.has_node(wanted)),
                TermNode::Pattern { among, .. } | TermNode::Best { among, .. } => {
                    among.as_ref().is_some_and(|among| among.has_node(wanted))
                }
                TermNode::Not(term) => term.has_node(wanted),
                TermNode::Chain(first, rest) => {
                    first.has_node(wanted) || rest.iter().any(|(_, term)| term.has_node(wanted))
                }
            }
    }

    /// Writes the term as an operand: a chain in parentheses.
    fn write_operand(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self.node, TermNode::Chain(..)) {
            write!(formatter, "({self})")
        } else {
            write!(formatter, "{self}")
        }
    }
}

impl fmt::Display for PlacementExpression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.term.fmt(formatter)
    }
}

impl fmt::Display for ExpressionTerm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            TermNode::List(cpus) => formatter.write_str(&format_list(cpus)),
            TermNode::Mask(cpus) => write!(formatter, "0x{}", cpus.to_hexadecimal()),
            TermNode::Name(name) => formatter.write_str(name.word()),
            TermNode::Objects { of, level, indices } => {
                if let Some(of) = of {
                    // A list before a dot would look like a decimal fraction.
                    match of.node {
                        TermNode::List(_) | TermNode::Mask(_) | TermNode::Not(_) => write!(formatter, "({of}).")?,
                        _ => {
                            of.write_operand(formatter)?;
                            formatter.write_str(".")?;
                        }
                    }
                }
                write!(formatter, "{level}:{indices}")
            }
            TermNode::Pattern { pattern, count, level, among } => {
                write!(formatter, "{}({count}, {level}", pattern.word())?;
                among.iter().try_for_each(|among| write!(formatter, ", {among}"))?;
                formatter.write_str(")")
            }
            TermNode::Best { count, among } => {
                write!(formatter, "{BEST}({count}, {WORTH}")?;
                among.iter().try_for_each(|among| write!(formatter, ", {among}"))?;
                formatter.write_str(")")
            }
            TermNode::Near(device) => write!(formatter, "{NEAR}({device})"),
            TermNode::Not(term) => {
                formatter.write_str("!")?;
                term.write_operand(formatter)
            }
            TermNode::Chain(first, rest) => {
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
fn chain_operand(
    formatter: &mut fmt::Formatter<'_>,
    term: &ExpressionTerm,
    next: Option<&(SetOperator, ExpressionTerm)>,
) -> fmt::Result {
    let range = matches!(
        (&term.node, next),
        (TermNode::List(_), Some((SetOperator::Without, ExpressionTerm { node: TermNode::List(_), .. })))
    );
    if range { write!(formatter, "({term})") } else { term.write_operand(formatter) }
}
