//! The processes of a tree.

/// A process with its threads in the order in which they were started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub number: u32,
    /// The number of its parent, among those that were looked at.
    pub parent: u32,
    /// The numbers of its threads.
    pub threads: Vec<u32>,
}
