//! The notations, and the words that name them.

use std::fmt;
use std::str::FromStr;

use crate::Machine;

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
    /// A rule of Process Lasso.
    ProcessLasso,
}

impl Notation {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 19] = [
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
        Self::ProcessLasso,
    ];

    /// What a machine's own shell starts a program with: the command prompt where there are processor groups, which only Windows has;
    /// taskset elsewhere.
    pub fn of_shell(machine: &Machine) -> Self {
        if machine.processor_groups.is_empty() { Self::Taskset } else { Self::Windows }
    }

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
            Self::ProcessLasso => "lasso",
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
            Self::Kubernetes => "Kubernetes: settings of the kubelet's static policy",
            Self::Slurm => "Slurm: an option of srun",
            Self::OpenMp => "OpenMP: environment variables for the runtime's own threads",
            Self::Libvirt => "libvirt: elements of a domain that pin its virtual cpus",
            Self::KernelCommandLine => "the Linux command line: parameters that keep everything else off these cpus",
            Self::Windows => "Windows: the command prompt's start, with a mask for each processor group",
            Self::PowerShell => "PowerShell: the mask of a running process, a signed 64-bit number",
            Self::ProcessLasso => "Process Lasso: a rule that holds every process of a name on these cpus",
        }
    }

    /// Whether [`read`](super::read) reads it.
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
#[error("\"{0}\" is not a notation; the notations are {names}", names = Notation::ALL.map(Notation::name).join(", "))]
pub struct UnknownNotation(pub String);

impl FromStr for Notation {
    type Err = UnknownNotation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|notation| notation.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| UnknownNotation(text.to_owned()))
    }
}
