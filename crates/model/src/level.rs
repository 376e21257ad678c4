//! The levels of a machine, from the outermost down to the cpu.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A level of the machine; each has objects that are sets of cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Books that are connected with each other (s390). Few machines have them.
    Drawer,
    /// Packages that are connected with each other (s390). Few machines have them.
    Book,
    /// A socket.
    Package,
    /// A NUMA node; it may have no cpus, or no memory.
    Node,
    /// A die inside a package.
    Die,
    /// The cpus that share a last-level cache.
    Llc,
    /// Cpus that talk cheaply among themselves: what a map of links proved. Where there is no map, the last-level caches.
    Group,
    /// Cores that share an L2, or that the kernel calls a cluster (a Bulldozer module, an Intel E-core module, an Arm cluster).
    Cluster,
    /// A physical core; its cpus are SMT siblings.
    Core,
    /// A logical processor, by the operating system's number.
    Cpu,
}

impl Level {
    /// All levels, outermost first.
    pub const ALL: [Self; 10] = [
        Self::Drawer,
        Self::Book,
        Self::Package,
        Self::Node,
        Self::Die,
        Self::Llc,
        Self::Group,
        Self::Cluster,
        Self::Core,
        Self::Cpu,
    ];

    /// The levels that every machine has, outermost first: not groups, which have to be measured, and not books and drawers.
    pub const EVERYWHERE: [Self; 7] =
        [Self::Package, Self::Node, Self::Die, Self::Llc, Self::Cluster, Self::Core, Self::Cpu];

    /// The levels around it, outermost first.
    pub fn around(self) -> impl DoubleEndedIterator<Item = Self> {
        Self::ALL.into_iter().filter(move |other| *other < self)
    }

    /// The levels in it, outermost first; the cpu itself needs no sharing out.
    pub fn inside(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |other| *other > self && *other < Self::Cpu)
    }

    /// The word of the placement language: "drawer", "book", "package", "node", "die", "llc", "group", "cluster", "core", "cpu".
    pub const fn word(self) -> &'static str {
        match self {
            Self::Drawer => "drawer",
            Self::Book => "book",
            Self::Package => "package",
            Self::Node => "node",
            Self::Die => "die",
            Self::Llc => "llc",
            Self::Group => "group",
            Self::Cluster => "cluster",
            Self::Core => "core",
            Self::Cpu => "cpu",
        }
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.word())
    }
}
