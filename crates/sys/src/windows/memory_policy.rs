//! Nodes that memory comes from: the node of the thread that touches it first. A command inherits no setting that changes this.

use std::io;

use corewise_machine::placement::memory::Mode;

use super::missing::missing;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    mode: Mode,
    nodes: Vec<u32>,
}

impl Policy {
    pub fn new(mode: Mode, nodes: Vec<u32>) -> Self {
        Self { mode, nodes }
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
        self.check()
    }

    /// Accepts only the local policy. The node that CreateProcess can be given (PROC_THREAD_ATTRIBUTE_PREFERRED_NODE) is documented as the
    /// process's, not as its memory's alone, and its descendants do not inherit it.
    pub fn check(&self) -> io::Result<()> {
        match self.mode {
            Mode::Local => Ok(()),
            _ => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "Windows has no memory policy that a command and its children keep",
            )),
        }
    }
}

pub fn weights(_: &[u32]) -> Option<Vec<u32>> {
    None
}

pub fn allowed_nodes() -> io::Result<Vec<u32>> {
    missing()
}
