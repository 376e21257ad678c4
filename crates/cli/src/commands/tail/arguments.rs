//! Arguments of `tail`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser, ValueEnum};
use corewise_model::survey::WorkKind;

use crate::app::option_values::{duration_between, parse_budget, process_number};

/// The command line of `tail`.
pub const USAGE: &str = "corewise tail [OPTIONS]\n       corewise tail --beside [OPTIONS] -- <COMMAND>...\n       corewise tail --beside --pid <PID>";

/// The end of `tail --help`.
pub const AFTER: &str = "Examples:
  corewise tail                          every cpu in turn, 30 s in all
  corewise tail --explain                also shows the cause of each stall (root, or CAP_PERFMON)
  corewise tail --cpus 0,3 --budget 5m   two cpus for longer: rarer stalls
  corewise tail --work compute           stalls as a computing program sees them
  corewise tail --beside -- ./app        interruptions of a program, without spinning on its cpus
  corewise tail --beside --pid 4711 --budget 10s    of a process that runs already
  corewise tail --explain --record t.gz  stores the kernel's events; --replay t.gz shows them anywhere

A loop that never waits reads the clock again and again. A piece is a stall if it takes longer than usual by at least \
the threshold. Without --explain, the thread's own accounting distinguishes other tasks, the host and interrupts. \
With --explain, the kernel's tracepoints name each cause; a quarter of the time is not watched, to measure the cost \
of watching. Unnamed stalls are tested for a period.

--beside runs the command (on --cpus, as `run --on` does) with the same signals and exit status, and reports on \
standard error what interrupted its threads: handlers, other tasks, senders. --budget ends the watching, not the \
command. With --json, standard output contains only the document, and the command's output goes to standard error. \
Without the kernel's tracepoints, the report uses the accounting that any user may read.

Exit status: 0 done   2 wrong usage   3 not permitted, or not available here   130 interrupted
With --beside: that of the command; 126 it could not be executed; 127 it was not found; if a signal ends it, the same \
signal ends corewise (128+n in a shell).";

/// Show how long and how often each cpu stalls, and what causes it
#[derive(Clone, Debug, Parser)]
#[command(override_usage = USAGE, after_help = AFTER)]
#[command(group(ArgGroup::new("watched").args(["pid", "command"])))]
pub struct TailArguments {
    /// Use only these cpus, in the placement language: 0-3, llc:0, 'all - core:0', isolated [default: all allowed cpus]
    #[arg(help_heading = "Measurement", long, value_name = "EXPR")]
    pub cpus: Option<String>,
    /// Total duration, such as 10s or 5m [default: 30s, more above 32 cpus]
    #[arg(help_heading = "Measurement", long, value_name = "DURATION", value_parser = parse_budget)]
    pub budget: Option<Duration>,
    // Below a few readings of the clock there is no stall, and stalls of a second are out of scope.
    /// Count a piece as a stall if it takes this much longer than usual, such as 500ns or 5us
    #[arg(help_heading = "Measurement", long, value_name = "DURATION", default_value = "1us", value_parser = duration_between("100ns", "1s"))]
    pub threshold: Duration,
    /// Piece of work to time
    #[arg(help_heading = "Measurement", long, value_enum, value_name = "WORK", default_value = "spin")]
    pub work: WorkName,
    /// Name the causes by the kernel's tracepoints
    #[arg(help_heading = "Causes", long)]
    pub explain: bool,
    /// Run before all other tasks (SCHED_FIFO), so that only interrupts and the host cause stalls
    #[arg(help_heading = "Causes", long)]
    pub fifo: bool,
    /// The seed of the random orders [default: from the clock]
    #[arg(help_heading = "Measurement", long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write the stalls and the kernel's events to a new file (JSON, gzip)
    #[arg(help_heading = "Causes", long, value_name = "FILE", conflicts_with = "beside")]
    pub record: Option<PathBuf>,
    /// Show a recording instead, and recompute its causes
    #[arg(help_heading = "Causes", long, value_name = "FILE", conflicts_with_all = ["record", "cpus", "budget", "explain", "fifo", "seed", "beside", "threshold", "work"])]
    pub replay: Option<PathBuf>,
    /// Write each cpu's histogram to this folder: cpuN.hgrm, and all.hlog for HdrHistogram's tools
    #[arg(help_heading = "Output and history", long, value_name = "FOLDER", conflicts_with = "beside")]
    pub histograms: Option<PathBuf>,
    /// Run a command and report what interrupts it; with --pid, a process that runs already
    #[arg(help_heading = "Measurement", long, conflicts_with_all = ["explain", "fifo", "work", "threshold", "seed"], requires = "watched")]
    pub beside: bool,
    /// Watch this process and its descendants, until it ends, the budget is spent, or Ctrl-C
    #[arg(help_heading = "Measurement", long, value_name = "PID", requires = "beside", conflicts_with_all = ["command", "cpus"], value_parser = process_number)]
    pub pid: Option<u32>,
    /// The command that --beside watches
    #[arg(value_name = "COMMAND", last = true, requires = "beside")]
    pub command: Vec<OsString>,
}

/// Piece of work that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WorkName {
    /// Only the clock: the finest resolution
    Spin,
    /// A thousand dependent additions, as `survey` times them
    Compute,
    /// A hundred dependent loads from 8 MiB
    Memory,
    /// One system call
    Syscall,
}

impl WorkName {
    /// Converts to the model's kind.
    pub const fn to_kind(self) -> WorkKind {
        match self {
            Self::Spin => WorkKind::Spin,
            Self::Compute => WorkKind::Compute,
            Self::Memory => WorkKind::Memory,
            Self::Syscall => WorkKind::Syscall,
        }
    }
}
