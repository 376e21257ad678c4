//! Arguments of `corewise watch`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::app::values::between;

const AFTER: &str = "Examples:
  corewise watch                              the cpus, as the machine has them
  corewise watch --pid 4711                   and the threads of a process, with all that descends from it
  corewise watch --match 'exe=*/postgres'     and those of the processes that match, as in rules of `corewise keep`
  corewise watch -- ./app                     and those of a command, which it runs
  corewise watch --once --pid 4711            one moment as text; with --json as a document
  corewise watch --save app.jsonl -- ./app    also write each moment into a file
  corewise watch --replay app.jsonl           show what was recorded, on any machine

Keys: ? shows them, q ends. Nothing is changed: `e` shows the command that would examine what is selected.

Every switch of a thread is seen where this user may see the kernel's events (root, or CAP_PERFMON); otherwise each thread is \
looked at once a moment, and the screen says so. docs/watch.md says what each column is.";

/// Watch cpus, interrupts, rules and a program's threads while they run
#[derive(Clone, Debug, Parser)]
#[command(name = "watch", after_help = AFTER)]
pub struct WatchArguments {
    /// Watch the threads of this process and of all that descends from it; may be repeated
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Vec<u32>,
    /// Watch the threads of the processes that match, as in rules of `corewise keep`: 'exe=*/postgres'; several must all match
    #[arg(long = "match", value_name = "FIELD=PATTERN", conflicts_with = "pid")]
    pub matches: Vec<String>,
    /// The time between two looks, from 100ms to 1h
    #[arg(long, value_name = "DURATION", value_parser = between("100ms", "1h"), default_value = "500ms", hide_default_value = false)]
    pub interval: Duration,
    /// Print one moment, and end
    #[arg(long, conflicts_with = "command")]
    pub once: bool,
    /// Write each moment into this file, which must not exist
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Show the moments in this file instead of looking
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pid", "matches", "save", "interval", "output", "command"])]
    pub replay: Option<PathBuf>,
    /// Where the command's output goes [default: a new file in the folder for temporary files, which the screen names; standard error
    /// with --json]
    #[arg(short, long, value_name = "FILE", requires = "command")]
    pub output: Option<PathBuf>,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true, conflicts_with_all = ["pid", "matches"])]
    pub command: Vec<OsString>,
}
