//! The levels of a machine, from the outermost down to the cpu.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// A level of the machine, outermost first; each has objects that are sets of cpus.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema), serde(rename_all = "kebab-case"))]
    pub enum Level {
        Drawer "drawer": "Books that are connected with each other (s390). Few machines have them.";
        Book "book": "Packages that are connected with each other (s390). Few machines have them.";
        Package "package": "A socket.";
        Node "node": "A NUMA node; it may have no cpus, or no memory.";
        Die "die": "A die inside a package.";
        Llc "llc": "The cpus that share a last-level cache.";
        Group "group": "Cpus that talk cheaply among themselves: what a map of links proved. Where there is no map, the last-level caches.";
        Cluster "cluster": "Cores that share an L2, or that the kernel calls a cluster (a Bulldozer module, an Intel E-core module, an Arm cluster).";
        Core "core": "A physical core; its cpus are SMT siblings.";
        Cpu "cpu": "A logical processor, by the operating system's number.";
    }
}

impl Level {
    /// The levels that every machine has, outermost first. Groups have to be measured; few machines have books and drawers.
    pub const EVERYWHERE: [Self; 7] =
        [Self::Package, Self::Node, Self::Die, Self::Llc, Self::Cluster, Self::Core, Self::Cpu];

    /// Returns the levels around this one, outermost first.
    pub fn levels_around(self) -> impl DoubleEndedIterator<Item = Self> {
        Self::ALL.into_iter().filter(move |other| *other < self)
    }

    /// Returns the levels inside this one, outermost first, without the cpu.
    pub fn levels_inside(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |other| *other > self && *other < Self::Cpu)
    }
}
