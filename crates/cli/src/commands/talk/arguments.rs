//! Arguments of `talk`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::app::option_values::{duration_between, parse_unit, process_number};

/// The end of `talk --help`.
const AFTER: &str = "Examples:
  corewise talk -- ./app                      watches a run: which threads wake each other, and where they belong
  corewise talk --pid 4711 --budget 30s       watches a running process and its descendants
  corewise talk --match 'exe=*/postgres'      watches matching processes, as in rules of `corewise keep`
  corewise talk --dot -- ./app > app.dot      writes the graph for GraphViz
  corewise talk --plan app.json --machine threadripper-3960x   where a graph would go on that machine
  corewise try --talk -- ./app                tries the proposed placements: only that proves anything

A thread that wakes another talks with it. Threads that share memory without waking each other cannot be seen. Graphs are stored in the \
history. docs/talk.md says how wakes are seen, and how a placement is found.

Exit status: 0 done   2 wrong usage   3 not permitted, or not available here   130 interrupted, partial results were printed";

const USAGE: &str = "\
corewise talk [OPTIONS] -- <COMMAND>...
       corewise talk --pid <PID> [--budget <DURATION>]
       corewise talk --unit <UNIT> [--budget <DURATION>]
       corewise talk --match <FIELD=PATTERN> [--budget <DURATION>]
       corewise talk --plan <FILE> [--machine <NAME|FILE>]";

/// Show which threads of a program wake each other, and where they belong
#[derive(Clone, Debug, Parser)]
#[command(after_help = AFTER, override_usage = USAGE)]
pub struct TalkArguments {
    /// Watch this process and its descendants; may be repeated
    #[arg(help_heading = "What is watched", long, value_name = "PID", value_parser = process_number)]
    pub pid: Vec<u32>,
    /// Watch the processes of this systemd unit
    #[arg(help_heading = "What is watched", long, value_name = "UNIT", value_parser = parse_unit, conflicts_with = "pid")]
    pub unit: Option<String>,
    /// Watch the matching processes, as in rules of `corewise keep`: 'exe=*/postgres'. All given patterns must match
    #[arg(help_heading = "What is watched", long = "match", value_name = "FIELD=PATTERN", conflicts_with = "pid")]
    pub matches: Vec<String>,
    /// Duration of watching, from 100ms to 1h; a command that still runs is then ended [default: to the end of the command, or 10s]
    #[arg(help_heading = "What is watched", long = "budget", alias = "for", value_name = "DURATION", value_parser = duration_between("100ms", "1h"))]
    pub duration: Option<Duration>,
    /// Read the graph from this file instead of watching: JSON of `corewise talk`, lines of WAKER,WAKEE,WAKES, or a matrix with or without names
    #[arg(help_heading = "Instead of watching", long, value_name = "FILE", conflicts_with_all = ["pid", "unit", "matches", "duration", "command"])]
    pub plan: Option<PathBuf>,
    /// Machine to plan for, as for `corewise topology` [default: this one]
    #[arg(help_heading = "Instead of watching", long, value_name = "NAME|FILE", requires = "plan", conflicts_with_all = ["pid", "unit", "matches", "command"])]
    pub machine: Option<PathBuf>,
    /// Write the graph in the language of GraphViz
    #[arg(help_heading = "Output and history", long, conflicts_with = "json")]
    pub dot: bool,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required_unless_present_any = ["pid", "unit", "matches", "plan"], conflicts_with_all = ["pid", "unit", "matches"], trailing_var_arg = true)]
    pub command: Vec<OsString>,
}
