//! What was typed behind `run`.

use std::ffi::OsString;

use clap::{Parser, ValueEnum};
use corewise_model::placement::memory::MemoryPolicy;

/// The `--` is needed only where the command begins with a hyphen, and never wrong.
pub const USAGE: &str = "corewise run --on <EXPR> [OPTIONS] -- <COMMAND>...";

pub const AFTER: &str = "Examples:
  corewise run --on 0-3 -- ./app             four cpus by number, as taskset -c 0-3 ./app
  corewise run --on llc:0 -- ./app           the cpus that share the first last-level cache
  corewise run --on node:1 --memory bind:1 -- ./app
  corewise run --on llc:0 --one-per-thread -- ./app
  corewise run --on all --roles 'io=^io-:0,work=^worker:all - 0' -- ./app
  corewise run --on 0-7 --enforce boundary -- ./app
  corewise run --on 0-7 --cgroup -- ./app    it cannot leave them, whatever mask it sets

Roles: NAME=REGEX:EXPR, joined by commas. The regex is looked for anywhere in the names of threads, of which \
the kernel keeps 15 bytes; it ends at the first colon outside of parentheses and brackets (a colon to be \
matched is written \\:). The first role that matches has the thread, and a thread that changes its name \
changes its role. EXPR is cut to --on and is the boundary of its threads for --enforce; threads without a \
role may use all of --on.

The cpus and the memory policy are in force before the command's first instruction, without a shell, and \
its children inherit them. Without --one-per-thread, --roles, --enforce, --cgroup and -v the command takes \
corewise's place; with them corewise stays, watches it, and passes signals on. If corewise is killed (SIGKILL), \
the command lives on where it is; `corewise undo` takes a control group away that was left behind so.

Exit status: that of the command; 126 it could not be executed; 127 it was not found; a signal that ends it \
ends corewise too (128+n in a shell). Nothing was started: 2 wrong usage; 3 not permitted or not there.";

/// Run a command on cpus of your choice: with its memory, thread by thread, held there if need be
#[derive(Clone, Debug, Parser)]
#[command(name = "run", override_usage = USAGE, after_help = AFTER)]
pub struct RunArguments {
    /// Where to run it, in the placement language: 0-3, 0x55, llc:0, 'all - core:0', 'spread(4, llc)'
    #[arg(long, value_name = "EXPR")]
    pub on: String,
    /// Where its memory comes from: local, bind:N, preferred:N, interleave:N,M, weighted:N,M; nodes counted as node:N, or all
    #[arg(long, value_name = "POLICY")]
    pub memory: Option<MemoryPolicy>,
    /// Pin each thread to the next cpu of the placement, in order of appearance
    #[arg(long, conflicts_with = "roles")]
    pub one_per_thread: bool,
    /// Place threads by their names: 'NAME=REGEX:EXPR,…'
    #[arg(long, value_name = "ROLES")]
    pub roles: Option<String>,
    /// What to do about threads that set their own cpus
    #[arg(long, value_enum, value_name = "HOW")]
    pub enforce: Option<EnforcementName>,
    /// Hold the command in a control group too (version 2, where the controller cpuset is delegated), gone when it ends
    #[arg(long)]
    pub cgroup: bool,
    /// Say what is in force, and at the end which threads set their own cpus
    #[arg(short, long)]
    pub verbose: bool,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// What to do about threads that set their own cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EnforcementName {
    /// Narrower masks stand, what reaches outside the placement (or the cpus of the thread's role) is put back.
    Boundary,
    /// Every other mask is put back, ten times a thread at most.
    Exact,
}
