//! Which nodes memory comes from: that of the thread that touches it first. Nothing that a command inherits changes that.

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

    /// The node that CreateProcess can be given (PROC_THREAD_ATTRIBUTE_PREFERRED_NODE) is documented as that of the process, not of its
    /// memory alone, and of no descendant's.
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
