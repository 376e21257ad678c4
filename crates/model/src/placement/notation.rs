//! A set of cpus in the notations of other tools: printed as lines to paste, and read back with what they mean.
//!
//! Nothing here guesses which notation a text is in: `32` is one cpu in a list, three in a mask for `taskset`, and one in
//! a decimal mask. The one who asks names it.

mod cgroup;
mod hwloc;
mod kernel_command_line;
mod kubernetes;
mod libvirt;
mod likwid;
mod list;
mod mask;
mod nodes;
mod numactl;
mod openmp;
mod powershell;
mod slurm;
mod systemd;
mod taskset;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod windows;

use std::fmt;
use std::str::FromStr;

use crate::{CpuSet, Machine};
use text::{Fault, Piece};

/// A way of writing a set of cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Notation {
    /// `0-3,8`.
    List,
    /// `0x55`, and the kernel's groups of 32 bits.
    Hexadecimal,
    /// `0101 0101`.
    Binary,
    /// A mask as a signed number.
    Decimal,
    /// taskset(1) of util-linux.
    Taskset,
    /// numactl(8).
    Numactl,
    /// hwloc-bind(1) and hwloc-calc(1).
    Hwloc,
    /// likwid-pin(1).
    Likwid,
    /// Settings of systemd units.
    Systemd,
    /// Files of a cgroup v2 cpuset.
    Cgroup,
    /// Options of `docker run`.
    Docker,
    /// The kubelet's static cpu manager policy.
    Kubernetes,
    /// `srun --cpu-bind`.
    Slurm,
    /// Environment variables of OpenMP runtimes.
    OpenMp,
    /// Elements of a libvirt domain.
    Libvirt,
    /// Parameters of the Linux kernel.
    KernelCommandLine,
    /// `start /affinity` of the Windows command prompt.
    Windows,
    /// A process's ProcessorAffinity in PowerShell.
    PowerShell,
}

/// One line of a notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotationLine {
    /// Which of the notation's lines it is, in a few words: "mask", "group 1", "one task per cpu".
    pub label: String,
    /// What to paste; absent where this notation cannot say the set, which the remarks then explain.
    pub text: Option<String>,
    /// What to know before it is used, one sentence each.
    pub remarks: Vec<String>,
}

impl NotationLine {
    fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { label: label.into(), text: Some(text.into()), remarks: Vec::new() }
    }

    /// A line that cannot be written, and why.
    fn absent(label: impl Into<String>, why: impl Into<String>) -> Self {
        Self { label: label.into(), text: None, remarks: vec![why.into()] }
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

impl Notation {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 18] = [
        Self::List,
        Self::Hexadecimal,
        Self::Binary,
        Self::Decimal,
        Self::Taskset,
        Self::Numactl,
        Self::Hwloc,
        Self::Likwid,
        Self::Systemd,
        Self::Cgroup,
        Self::Docker,
        Self::Kubernetes,
        Self::Slurm,
        Self::OpenMp,
        Self::Libvirt,
        Self::KernelCommandLine,
        Self::Windows,
        Self::PowerShell,
    ];

    /// The word that names it: "list", "hex", "taskset" and so on.
    pub const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Hexadecimal => "hex",
            Self::Binary => "binary",
            Self::Decimal => "decimal",
            Self::Taskset => "taskset",
            Self::Numactl => "numactl",
            Self::Hwloc => "hwloc",
            Self::Likwid => "likwid",
            Self::Systemd => "systemd",
            Self::Cgroup => "cgroup",
            Self::Docker => "docker",
            Self::Kubernetes => "kubernetes",
            Self::Slurm => "slurm",
            Self::OpenMp => "openmp",
            Self::Libvirt => "libvirt",
            Self::KernelCommandLine => "cmdline",
            Self::Windows => "windows",
            Self::PowerShell => "powershell",
        }
    }

    /// What it is, in one line.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::List => "a cpu list, as the kernel and most Linux tools write it",
            Self::Hexadecimal => "a hexadecimal mask, cpu 0 the lowest bit; with commas as files of /proc/irq have it",
            Self::Binary => "a mask bit by bit, cpu 0 at the right, in groups of four",
            Self::Decimal => "a mask as a signed decimal number, as some Windows tools show it",
            Self::Taskset => "taskset: a prefix that starts a command on these cpus",
            Self::Numactl => {
                "numactl: a prefix that starts a command on these cpus, or on the cpus of whole NUMA nodes"
            }
            Self::Hwloc => "hwloc-bind: a prefix that starts a command on these cpus",
            Self::Likwid => "likwid-pin: a prefix that pins each thread to the next of these cpus",
            Self::Systemd => "systemd: settings of a unit",
            Self::Cgroup => "cgroup v2: what to write into the files of a group",
            Self::Docker => "Docker: options of docker run and docker update",
            Self::Kubernetes => "Kubernetes: what the kubelet's static policy can be told",
            Self::Slurm => "Slurm: an option of srun",
            Self::OpenMp => "OpenMP: environment variables for the runtime's own threads",
            Self::Libvirt => "libvirt: elements of a domain that pin its virtual cpus",
            Self::KernelCommandLine => "the Linux command line: parameters that keep everything else off these cpus",
            Self::Windows => "Windows: start of the command prompt, a mask for each processor group",
            Self::PowerShell => "PowerShell: the mask of a running process, a signed 64-bit number",
        }
    }

    /// Whether [`read`] reads it.
    pub const fn is_readable(self) -> bool {
        !matches!(self, Self::Kubernetes)
    }
}

impl fmt::Display for Notation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A word that names no notation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no notation; there are {names}", names = Notation::ALL.map(Notation::name).join(", "))]
pub struct UnknownNotation(pub String);

impl FromStr for Notation {
    type Err = UnknownNotation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|notation| notation.name() == text);
        found.ok_or_else(|| UnknownNotation(text.to_owned()))
    }
}

/// Prints cpus in a notation: the line that is most often wanted comes first.
///
/// `order` holds the same cpus in the order in which threads are to get them; notations that pin thread by thread follow
/// it. Lines that could not be written have no text and say why.
pub fn print(notation: Notation, cpus: &CpuSet, order: &[u32], machine: &Machine) -> Vec<NotationLine> {
    if cpus.is_empty() {
        return vec![NotationLine::absent(notation.name(), "There is no cpu to write.")];
    }
    let chosen = Chosen { cpus, order, machine };
    match notation {
        Notation::List => vec![NotationLine::new("list", cpus.to_string())],
        Notation::Hexadecimal => mask::print_hexadecimal(cpus),
        Notation::Binary => vec![NotationLine::new("binary", mask::binary(cpus))],
        Notation::Decimal => mask::print_decimal(cpus),
        Notation::Taskset => taskset::print(cpus),
        Notation::Numactl => numactl::print(chosen),
        Notation::Hwloc => hwloc::print(cpus),
        Notation::Likwid => likwid::print(chosen),
        Notation::Systemd => systemd::print(chosen),
        Notation::Cgroup => cgroup::print(chosen),
        Notation::Docker => cgroup::print_docker(chosen),
        Notation::Kubernetes => kubernetes::print(chosen),
        Notation::Slurm => slurm::print(chosen),
        Notation::OpenMp => openmp::print(order),
        Notation::Libvirt => libvirt::print(chosen),
        Notation::KernelCommandLine => kernel_command_line::print(chosen),
        Notation::Windows => windows::print(chosen),
        Notation::PowerShell => powershell::print(chosen),
    }
}

/// Reads a text in a notation: a bare value, or a whole line as it would be typed.
///
/// # Errors
/// Where the text does not follow the notation, or names what this machine does not have.
pub fn read(notation: Notation, text: &str, machine: &Machine) -> Result<Read, ReadError> {
    let piece = Piece::new(text).trim();
    let read = dispatch(notation, piece, machine).map_err(|fault| error(text, fault))?;
    if read.cpus.is_empty() {
        return Err(error(text, piece.fault("this names no cpu")));
    }
    let beyond = read.cpus.difference(&machine.present);
    let offline = read.cpus.intersection(&machine.offline());
    let remark = |cpus: CpuSet, what: &str| {
        let verb = if cpus.len() == 1 { "is" } else { "are" };
        (!cpus.is_empty()).then(|| format!("On this machine {} {verb} {what}.", list::counted(&cpus)))
    };
    Ok(read.remarks(remark(beyond, "not there")).remarks(remark(offline, "offline")))
}

fn dispatch(notation: Notation, text: Piece<'_>, machine: &Machine) -> Result<Read, Fault> {
    if text.is_empty() {
        return Err(text.fault("there is nothing to read"));
    }
    match notation {
        Notation::List => Ok(Read::ordered(list::read(text, list::kernel(machine.possible.highest()))?)),
        Notation::Hexadecimal => mask::read_hexadecimal(text),
        Notation::Binary => mask::read_binary(text),
        Notation::Decimal => mask::read_decimal(text, machine),
        Notation::Taskset => taskset::read(text),
        Notation::Numactl => numactl::read(text, machine),
        Notation::Hwloc => hwloc::read(text, machine),
        Notation::Likwid => likwid::read(text, machine),
        Notation::Systemd => systemd::read(text, machine),
        Notation::Cgroup => cgroup::read(text, machine),
        Notation::Docker => cgroup::read_docker(text),
        Notation::Kubernetes => Err(text.fault("Kubernetes has no notation for chosen cpus that could be read")),
        Notation::Slurm => slurm::read(text),
        Notation::OpenMp => openmp::read(text, machine),
        Notation::Libvirt => libvirt::read(text),
        Notation::KernelCommandLine => kernel_command_line::read(text, machine),
        Notation::Windows => windows::read(text, machine),
        Notation::PowerShell => powershell::read(text, machine),
    }
}

fn error(text: &str, fault: Fault) -> ReadError {
    let position = text.get(..fault.at).map_or(0, |before| before.chars().count());
    ReadError { text: text.to_owned(), position, length: fault.length, what: fault.what, hint: fault.hint }
}
