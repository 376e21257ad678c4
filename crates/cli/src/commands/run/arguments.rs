//! Arguments of `run`.

use std::ffi::OsString;

use clap::{Parser, ValueEnum};
use corewise_machine::placement::memory::MemoryPolicy;

use crate::app::option_values::process_number;
use crate::app::ranks::TypedRank;

/// The `--` is needed only if the command begins with a hyphen, and is always allowed.
pub const USAGE: &str = "corewise run --on <EXPR> [OPTIONS] -- <COMMAND>...
       corewise run --rank <RANK/RANKS> [OPTIONS] -- <COMMAND>...
       corewise run --on <EXPR> --pid <PID>";

pub const AFTER: &str = "Examples:
  corewise run --on 0-3 -- ./app             four cpus by number, as taskset -c 0-3 ./app
  corewise run --on llc:0 -- ./app           the cpus that share the first last-level cache
  corewise run --on node:1 --memory bind:1 -- ./app
  corewise run --on llc:0 --one-per-thread -- ./app
  corewise run --on all --roles 'io=^io-:0,work=^worker:all - 0' -- ./app
  corewise run --on 0-7 --enforce boundary -- ./app
  corewise run --on 0-7 --cgroup -- ./app    it cannot leave them, whatever mask it sets
  corewise run --rank auto -- python train.py
  corewise run --on llc:1 --pid 4711         places a running process; `corewise undo` reverts that

Roles: NAME=REGEX:EXPR, separated by commas. The regex may match anywhere in a thread's name; the kernel keeps 15 \
bytes of a name. The regex ends at the first colon outside of parentheses and brackets (write \\: to match a colon). \
The first matching role applies, and a thread that changes its name changes its role. EXPR is limited to --on, and is \
the boundary of the role's threads for --enforce. Threads without a role may use all of --on.

The cpus and the memory policy are set before the command's first instruction, without a shell, and its children \
inherit them. Without --one-per-thread, --roles, --enforce, --cgroup and -v the command replaces corewise. With them \
corewise stays, watches the command, and forwards signals. If corewise is killed (SIGKILL), the command continues \
where it is; `corewise undo` removes a control group left behind.

With --pid, all threads of a running process get the cpus of --on, including those that start meanwhile. Its memory \
does not move. corewise writes each thread's old cpus to its journal and ends. Threads and processes that it starts \
afterwards inherit the new cpus. `corewise undo` gives each thread its old cpus; threads and processes started since \
get the old cpus of their creator.

Exit status: that of the command; 126 it could not be executed; 127 it was not found; if a signal ends it, the same \
signal ends corewise (128+n in a shell). If nothing was started: 2 wrong usage; 3 not permitted or not available.";

/// Run a command on chosen cpus, with its memory; place single threads, and keep them there
#[derive(Clone, Debug, Parser)]
#[command(override_usage = USAGE, after_help = AFTER)]
pub struct RunArguments {
    /// Cpus of the command, in the placement language: 0-3, 0x55, llc:0, 'all - core:0', 'spread(4, llc)'
    #[arg(help_heading = "Where", long, value_name = "EXPR", required_unless_present_any = ["rule", "rank"])]
    pub on: Option<String>,
    /// Use the placement of this rule of `corewise keep`, with the rule's memory and threads, from the first instruction
    #[arg(help_heading = "Where", long, value_name = "NAME", conflicts_with_all = ["on", "memory", "one_per_thread", "roles"])]
    pub rule: Option<String>,
    /// Use the part of this rank, counted from 0, of the cpus of --on, or of all: disjoint parts of whole cores. `auto` takes
    /// both numbers from the variables of torchrun, MPI's launchers or Slurm
    #[arg(help_heading = "Where", long, value_name = "RANK/RANKS|auto", conflicts_with_all = ["rule", "pid"])]
    pub rank: Option<TypedRank>,
    /// With --rank: use cpus near the GPU of the rank's number
    #[arg(help_heading = "Where", long, value_name = "DEVICE", requires = "rank", value_parser = ["gpu"])]
    pub near: Option<String>,
    /// Memory policy of the command: local, bind:N, preferred:N, interleave:N,M, weighted:N,M. Nodes are counted as in
    /// node:N; `all` stands for all nodes
    #[arg(help_heading = "Where", long, value_name = "POLICY")]
    pub memory: Option<MemoryPolicy>,
    /// Pin each new thread to the next cpu of the placement
    #[arg(help_heading = "Where", long, conflicts_with = "roles")]
    pub one_per_thread: bool,
    /// Place threads by their names: 'NAME=REGEX:EXPR,…'
    #[arg(help_heading = "Where", long, value_name = "ROLES")]
    pub roles: Option<String>,
    /// Correct threads that set their own cpus
    #[arg(help_heading = "How", long, value_enum, value_name = "HOW")]
    pub enforce: Option<EnforcementName>,
    /// Prefer these cpus instead of restricting the command to them: threads may run elsewhere if the system finds that
    /// better (Windows)
    #[arg(help_heading = "How", long, conflicts_with_all = ["memory", "rule", "one_per_thread", "roles", "enforce", "cgroup", "verbose"])]
    pub soft: bool,
    /// Ask the system not to slow it down to save power: EcoQoS off (Windows)
    #[arg(help_heading = "How", long, conflicts_with_all = ["memory", "rule", "one_per_thread", "roles", "enforce", "cgroup", "verbose"])]
    pub full_speed: bool,
    /// Also hold the command in a control group (cgroup v2 with a delegated cpuset controller), removed when it ends
    #[arg(help_heading = "How", long)]
    pub cgroup: bool,
    /// Report the settings, and at the end the threads that set their own cpus
    #[arg(help_heading = "How", short, long)]
    pub verbose: bool,
    /// Place a running process, with all its threads, instead of starting a command
    #[arg(help_heading = "How", long, value_name = "PID", value_parser = process_number,
        conflicts_with_all = ["memory", "one_per_thread", "roles", "enforce", "soft", "full_speed", "cgroup", "verbose", "command"])]
    pub pid: Option<u32>,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required_unless_present = "pid", trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// Treatment of threads that set their own cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EnforcementName {
    /// Keep narrower masks; reset masks that reach outside the placement (or the cpus of the thread's role).
    Boundary,
    /// Reset every other mask, at most ten times per thread.
    Exact,
}
