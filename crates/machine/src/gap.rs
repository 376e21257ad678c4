//! A fact that is not available: what, why, and how to get it.

use std::fmt;

use crate::Level;

/// Part of a machine that a gap makes uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "json",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum GapSubject {
    /// The cpus that there are, or that may be used.
    Cpus,
    /// Packages, books and drawers.
    Packages,
    /// NUMA nodes.
    Nodes,
    /// Dies.
    Dies,
    /// Caches, and clusters of cores.
    Caches,
    /// Cores, and which cpus are siblings.
    Cores,
    /// Kinds of core.
    Kinds,
}

impl GapSubject {
    /// Returns the subject of a level; `None` for groups, which are measured.
    pub const fn from_level(level: Level) -> Option<Self> {
        match level {
            Level::Drawer | Level::Book | Level::Package => Some(Self::Packages),
            Level::Node => Some(Self::Nodes),
            Level::Die => Some(Self::Dies),
            Level::Llc | Level::Cluster => Some(Self::Caches),
            Level::Core => Some(Self::Cores),
            Level::Cpu => Some(Self::Cpus),
            Level::Group => None,
        }
    }
}

/// A fact that this machine, kernel or user could not provide. Absent is not an error: the rest of a result is valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Gap {
    /// Name of the missing fact, as a noun phrase without a full stop: "hardware counters".
    pub what: String,
    /// Reason: "perf_event_paranoid is 3".
    pub why: String,
    /// Remedy, as a command or an instruction; absent if there is none.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub cure: Option<String>,
    /// Parts of the machine that it makes uncertain; empty if none.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub subjects: Vec<GapSubject>,
}

impl Gap {
    /// Creates a gap without a remedy.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), cure: None, subjects: Vec::new() }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn cured_by(mut self, cure: impl Into<String>) -> Self {
        self.cure = Some(cure.into());
        self
    }

    /// Adds parts of the machine that it makes uncertain.
    #[must_use]
    pub fn about(mut self, subjects: &[GapSubject]) -> Self {
        self.subjects.extend_from_slice(subjects);
        self
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.what, self.why)?;
        self.cure.iter().try_for_each(|cure| write!(formatter, "; {cure}"))
    }
}
