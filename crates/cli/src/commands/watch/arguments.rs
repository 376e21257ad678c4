//! Arguments of `corewise watch`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::app::option_values::{duration_between, process_number};

const AFTER: &str = "Examples:
  corewise watch                              the cpus, in the machine's levels
  corewise watch --pid 4711                   also the threads of a process and its descendants
  corewise watch --match 'exe=*/postgres'     also the threads of matching processes, as in rules of `corewise keep`
  corewise watch -- ./app                     runs a command, and also shows its threads
  corewise watch --once --pid 4711            one moment as text; with --json as a document
  corewise watch --save app.jsonl -- ./app    also writes each moment into a file
  corewise watch --replay app.jsonl           shows a recording, on any machine

Keys: ? shows them, q ends. Nothing is changed: `e` shows the command that examines the selected row.

Every switch of a thread is seen if this user may read the kernel's events (root, or CAP_PERFMON). Otherwise each \
thread is sampled once a moment, and the screen says so. docs/watch.md explains each column.";

/// Watch cpus, interrupts, rules and a program's threads while they run
#[derive(Clone, Debug, Parser)]
#[command(after_help = AFTER)]
pub struct WatchArguments {
    /// Watch the threads of this process and its descendants; may be repeated
    #[arg(long, value_name = "PID", value_parser = process_number)]
    pub pid: Vec<u32>,
    /// Watch the threads of matching processes, as in rules of `corewise keep`: 'exe=*/postgres'. All given patterns must
    /// match
    #[arg(long = "match", value_name = "FIELD=PATTERN", conflicts_with = "pid")]
    pub matches: Vec<String>,
    /// Time between two moments, from 100ms to 1h
    #[arg(long, value_name = "DURATION", value_parser = duration_between("100ms", "1h"), default_value = "500ms", hide_default_value = false)]
    pub interval: Duration,
    /// Print one moment, and end
    #[arg(long)]
    pub once: bool,
    /// Write each moment into this file, which must not exist
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Show the moments in this file instead of watching
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pid", "matches", "save", "interval", "output", "command"])]
    pub replay: Option<PathBuf>,
    /// File for the command's output [default: a new file in the folder for temporary files, which the screen names;
    /// standard error with --json]
    #[arg(short, long, value_name = "FILE", requires = "command")]
    pub output: Option<PathBuf>,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true, conflicts_with_all = ["pid", "matches"])]
    pub command: Vec<OsString>,
}
