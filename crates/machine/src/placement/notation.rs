//! A set of cpus in the notations of other tools: printed as lines to paste, and read back with what they mean.
//!
//! Nothing here guesses which notation a text is in: `32` is one cpu in a list, three in a mask for `taskset`, and one in
//! a decimal mask. The one who asks names it.

mod cgroup;
mod dispatch;
mod hwloc;
mod kernel_command_line;
mod kubernetes;
mod libvirt;
mod likwid;
mod list;
mod mask;
mod name;
mod nodes;
mod numactl;
mod openmp;
mod powershell;
mod process_lasso;
mod slurm;
mod systemd;
mod taskset;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod windows;

use crate::{CpuSet, Machine};
pub use dispatch::{print, read};
pub use name::{Notation, UnknownNotation};

/// One line of a notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotationLine {
    /// Which of the notation's lines it is, in a few words: "mask", "group 1", "one task per cpu".
    pub label: String,
    /// What to paste; absent where this notation cannot say the set, which the remarks then explain.
    pub text: Option<String>,
    /// Whether it only says what a line before it says, in another way, or adds what is not always wanted; a script
    /// that asks for one notation wants the other lines.
    pub secondary: bool,
    /// What to know before it is used, one sentence each.
    pub remarks: Vec<String>,
}

impl NotationLine {
    fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { label: label.into(), text: Some(text.into()), secondary: false, remarks: Vec::new() }
    }

    /// Another way to say what the lines before say, or an addition to them.
    fn secondary(mut self) -> Self {
        self.secondary = true;
        self
    }

    /// A line that cannot be written, and why.
    fn absent(label: impl Into<String>, why: impl Into<String>) -> Self {
        Self { label: label.into(), text: None, secondary: false, remarks: vec![why.into()] }
    }

    fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remarks.push(remark.into());
        self
    }

    /// The line with a remark where there is one.
    fn remarks(mut self, remarks: impl IntoIterator<Item = String>) -> Self {
        self.remarks.extend(remarks);
        self
    }
}

/// What a text in another tool's notation means on a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The cpus, whether or not they are on this machine.
    pub cpus: CpuSet,
    /// The same cpus, each once: as the text orders them where its notation has an order, otherwise rising.
    pub order: Vec<u32>,
    /// What the text means beyond its cpus, and what is easily mistaken about it, one sentence each.
    pub remarks: Vec<String>,
}

impl Read {
    fn set(cpus: CpuSet) -> Self {
        Self { order: cpus.iter().collect(), cpus, remarks: Vec::new() }
    }

    /// From cpus in order; one that comes again is passed over.
    fn ordered(cpus: impl IntoIterator<Item = u32>) -> Self {
        let mut read = Self::default();
        for cpu in cpus {
            if read.cpus.insert(cpu) {
                read.order.push(cpu);
            }
        }
        read
    }

    fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remarks.push(remark.into());
        self
    }

    fn remarks(mut self, remarks: impl IntoIterator<Item = String>) -> Self {
        self.remarks.extend(remarks);
        self
    }
}

/// Why a text cannot be read in a notation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}, at character {}", position + 1)]
pub struct ReadError {
    /// The whole text.
    pub text: String,
    /// Where the mistake begins, in characters from 0.
    pub position: usize,
    /// How many characters it is long; at least 1, so that a caret has something to point at, even behind the end.
    pub length: usize,
    /// What is wrong.
    pub what: String,
    /// What to write instead, where that is known.
    pub hint: Option<String>,
}

/// What is printed: cpus, the same cpus in the order in which threads get them, and the machine they are on.
#[derive(Clone, Copy)]
struct Chosen<'a> {
    cpus: &'a CpuSet,
    order: &'a [u32],
    machine: &'a Machine,
}
