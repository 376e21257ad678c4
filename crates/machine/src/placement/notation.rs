//! Sets of cpus in the notations of other tools: printed as lines to paste, and read back.
//!
//! The notation of a text is never guessed: `32` is one cpu in a list, three in a mask for `taskset`, and one in a decimal mask. The caller
//! names it, or the text does by its keys and commands ([`recognize_notation`]). If two readings differ, both are offered.

mod auto;
mod bare;
mod calls;
mod cgroup;
mod choices;
mod clean;
mod command;
mod dispatch;
mod dpdk;
mod gamemode;
mod guess;
mod haproxy;
mod hwloc;
mod kernel_command_line;
mod keyed;
mod kubernetes;
mod libvirt;
mod likwid;
mod list;
mod mask;
mod name;
mod nginx;
mod nodes;
mod numactl;
mod openmp;
mod peeled;
mod powershell;
mod process_lasso;
mod rankfile;
mod ranks;
mod redis;
mod reports;
mod setting;
mod setting_value;
mod settings_table;
mod slurm;
mod steam;
mod systemd;
mod taskset;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod windows;

use crate::{CpuSet, Machine, SuggestedCommand};
pub use auto::{RecognizedText, recognize_notation};
pub use dispatch::{print_notation, read_notation};
pub use name::{Notation, UnknownNotation};
pub use ranks::{RankForm, print_ranks};

/// One line of a notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotationLine {
    /// Name of the line within the notation: "mask", "group 1", "one task per cpu".
    pub label: String,
    /// Text to paste; `None` if this notation cannot express the set, which the remarks explain.
    pub text: Option<String>,
    /// True if the line repeats an earlier one in another form, or is an optional addition. A script that asks for one notation wants the
    /// other lines.
    pub secondary: bool,
    /// Cautions before use, one sentence each.
    pub remarks: Vec<String>,
}

impl NotationLine {
    fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { label: label.into(), text: Some(text.into()), secondary: false, remarks: Vec::new() }
    }

    /// Marks the line as secondary.
    fn into_secondary(mut self) -> Self {
        self.secondary = true;
        self
    }

    /// Creates a line that cannot be written, with the reason.
    fn without_text(label: impl Into<String>, why: impl Into<String>) -> Self {
        Self { label: label.into(), text: None, secondary: false, remarks: vec![why.into()] }
    }

    fn with_remark(mut self, remark: impl Into<String>) -> Self {
        self.remarks.push(remark.into());
        self
    }

    /// Adds remarks.
    fn with_remarks(mut self, remarks: impl IntoIterator<Item = String>) -> Self {
        self.remarks.extend(remarks);
        self
    }
}

/// Meaning on a machine of a text in another tool's notation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotationReading {
    /// The cpus, including ones missing from this machine.
    pub cpus: CpuSet,
    /// The same cpus, each once: in the order of the text if its notation has one, otherwise ascending.
    pub order: Vec<u32>,
    /// Effects of the text beyond its cpus, and likely misreadings, one sentence each.
    pub remarks: Vec<String>,
}

impl NotationReading {
    fn from_set(cpus: CpuSet) -> Self {
        Self { order: cpus.iter().collect(), cpus, remarks: Vec::new() }
    }

    /// Collects cpus in order and skips repeated ones.
    fn from_order(cpus: impl IntoIterator<Item = u32>) -> Self {
        let mut read = Self::default();
        for cpu in cpus {
            if read.cpus.insert(cpu) {
                read.order.push(cpu);
            }
        }
        read
    }

    fn with_remark(mut self, remark: impl Into<String>) -> Self {
        self.remarks.push(remark.into());
        self
    }

    fn with_remarks(mut self, remarks: impl IntoIterator<Item = String>) -> Self {
        self.remarks.extend(remarks);
        self
    }
}

/// Reason why a text cannot be read in a notation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}, at character {}", position + 1)]
pub struct NotationError {
    /// The whole text.
    pub text: String,
    /// Start of the mistake, in characters from 0.
    pub position: usize,
    /// Length of the mistake in characters; at least 1, so that a caret has something to point at, even behind the end.
    pub length: usize,
    /// The mistake.
    pub what: String,
    /// The correct form, if known.
    pub hint: Option<String>,
    /// Possible meanings, if the text has several and none is preferable.
    pub choices: Vec<NotationChoice>,
}

/// A possible meaning of a text, and the command that asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotationChoice {
    /// The meaning, with its cpus.
    pub meaning: String,
    /// The command without doubt.
    pub command: SuggestedCommand,
}

/// Input of a printer: cpus, the same cpus in the order in which threads get them, and their machine.
#[derive(Clone, Copy)]
struct ChosenCpus<'a> {
    cpus: &'a CpuSet,
    order: &'a [u32],
    machine: &'a Machine,
}
