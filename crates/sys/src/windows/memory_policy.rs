//! Nodes that memory comes from: the node of the thread that touches it first. A command inherits no setting that changes this.

use std::io;

use corewise_machine::placement::memory::MemoryMode;

use super::missing::missing_result;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelMemoryPolicy {
    mode: MemoryMode,
    nodes: Vec<u32>,
}

impl KernelMemoryPolicy {
    pub fn new(mode: MemoryMode, nodes: Vec<u32>) -> Self {
        Self { mode, nodes }
    }

    #[must_use]
    pub fn through_cpusets(self) -> Self {
        self
    }

    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    pub fn first_kernel(&self) -> Option<&'static str> {
        None
    }

    pub fn current_policy() -> io::Result<Self> {
        missing_result()
    }

    pub fn set_current(&self) -> io::Result<()> {
        self.check_accepted()
    }

    /// Accepts only the local policy. The node that CreateProcess can be given (PROC_THREAD_ATTRIBUTE_PREFERRED_NODE) is documented as the
    /// process's, not as its memory's alone, and its descendants do not inherit it.
    pub fn check_accepted(&self) -> io::Result<()> {
        match self.mode {
            MemoryMode::Local => Ok(()),
            _ => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "Windows has no memory policy that a command and its children keep",
            )),
        }
    }
}

pub fn interleave_weights(_: &[u32]) -> Option<Vec<u32>> {
    None
}

pub fn allowed_nodes() -> io::Result<Vec<u32>> {
    missing_result()
}
