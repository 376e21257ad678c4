//! Which nodes memory comes from.

use std::io;

use corewise_model::placement::memory::Mode;

use super::missing::missing;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    nodes: Vec<u32>,
}

impl Policy {
    pub fn new(_: Mode, nodes: Vec<u32>) -> Self {
        Self { nodes }
    }

    #[must_use]
    pub fn through_cpusets(self) -> Self {
        self
    }

    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    pub fn since(&self) -> Option<&'static str> {
        None
    }

    pub fn current() -> io::Result<Self> {
        missing()
    }

    pub fn set_current(&self) -> io::Result<()> {
        missing()
    }

    pub fn check(&self) -> io::Result<()> {
        missing()
    }
}

pub fn weights(_: &[u32]) -> Option<Vec<u32>> {
    None
}

pub fn allowed_nodes() -> io::Result<Vec<u32>> {
    missing()
}
