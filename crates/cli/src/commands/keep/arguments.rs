//! Arguments of `keep`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use corewise_machine::vocabulary::one_of;
use corewise_model::keep::MatchField;

use crate::app::option_values::{duration_between, parse_budget, process_number};

const AFTER: &str = "Examples:
  corewise keep add redis --match 'exe=*/redis-server' --on 'vcache - 0'
  corewise keep add --from 12 --match name=game   the winner of experiment 12, with its evidence
  corewise keep plan                              shows what the rules would do now; changes nothing
  corewise keep run                               keeps the rules in force, until Ctrl-C
  corewise keep prove redis --budget 10m          repeats the rule's experiment, and renews or withdraws its evidence
  corewise keep why 4711                          explains why process 4711 runs where it does

Rules are in rules.toml in the user's configuration folder (~/.config/corewise), and with --system, or for root, in
/etc/corewise/rules.d/*.toml. docs/keep.md describes them.

Exit status: 0 done   1 prove: not decided   2 wrong usage   3 not permitted, or not available here";

/// Keep placements in force for the programs that rules match, and list what they hold
#[derive(Clone, Debug, Parser)]
#[command(after_help = AFTER)]
pub struct KeepArguments {
    /// Command; lists the rules by default.
    #[command(subcommand)]
    pub command: Option<KeepCommand>,
    /// Use the rules of the system, for the processes of every user [default for root]
    #[arg(help_heading = "Rules", long, global = true, conflicts_with = "user")]
    pub system: bool,
    /// Use the rules of this user, for this user's processes [default for other users]
    #[arg(help_heading = "Rules", long, global = true)]
    pub user: bool,
    /// Use another file of rules, or a folder of such files
    #[arg(help_heading = "Rules", long, global = true, value_name = "PATH")]
    pub rules: Option<PathBuf>,
}

/// A command of `keep`.
#[derive(Clone, Debug, Subcommand)]
pub enum KeepCommand {
    /// Add a rule
    Add(KeepAddArguments),
    /// Show what the rules would do now, and change nothing
    Plan,
    /// Keep the rules in force until interrupted, then give everything back
    Run(KeepRunArguments),
    /// Explain why a process runs where it does: its rule, the evidence, each change and its time
    Why {
        /// Number of the process
        #[arg(value_name = "PID", value_parser = process_number)]
        process: u32,
    },
    /// Repeat a rule's experiment here and now, and renew or withdraw the rule's evidence
    #[cfg(feature = "measuring")]
    Prove(KeepProveArguments),
    /// Leave a process alone until it ends, and give it back its old cpus
    Release {
        /// Number of the process
        #[arg(value_name = "PID", value_parser = process_number)]
        process: u32,
        /// Hold the process again
        #[arg(long)]
        undo: bool,
    },
    /// Remove a rule, and give everything back that it holds
    Remove(NameArgument),
    /// Put a disabled rule in force again
    Enable(NameArgument),
    /// Disable a rule but keep it in its file, and give everything back that it holds
    Disable(NameArgument),
    /// Make the running `keep run` read the rules again
    Reload,
    /// Print a systemd unit for `keep run`
    Unit,
}

/// A rule by its name.
#[derive(Clone, Debug, clap::Args)]
pub struct NameArgument {
    /// Name of the rule
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// Arguments of `keep prove`.
#[derive(Clone, Debug, clap::Args)]
pub struct KeepProveArguments {
    /// Name of the rule
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Maximum duration, such as 90s or 10m [default: as for `try`]
    #[arg(long, value_name = "DURATION", value_parser = parse_budget)]
    pub budget: Option<Duration>,
}

fn match_help() -> String {
    let fields = one_of(&MatchField::ALL.map(MatchField::word));
    format!(
        "Match processes by FIELD=PATTERN, with the fields {fields}. All given patterns must match. In a pattern, * is any \
         text and ? any character"
    )
}

/// Arguments of `keep add`.
#[derive(Clone, Debug, clap::Args)]
pub struct KeepAddArguments {
    /// Name of the rule; with --from, by default the name of the experiment's program
    #[arg(value_name = "NAME", required_unless_present = "from")]
    pub name: Option<String>,
    #[arg(help_heading = "The rule", long = "match", help = match_help(), value_name = "FIELD=PATTERN", required_unless_present = "from")]
    pub matches: Vec<String>,
    /// Placement of the processes, in the placement language
    #[arg(help_heading = "The rule", long, value_name = "EXPR", required_unless_present = "from")]
    pub on: Option<String>,
    /// Use the winner of this experiment, with its evidence
    #[arg(help_heading = "The rule", long, value_name = "N", conflicts_with = "on")]
    pub from: Option<i64>,
    /// Placement of threads with matching names, as PATTERN=EXPR
    #[arg(help_heading = "The rule", long, value_name = "PATTERN=EXPR")]
    pub threads: Vec<String>,
    /// Treatment of masks that others set
    #[arg(help_heading = "Strength", long, value_enum, value_name = "HOW", default_value = "boundary")]
    pub strength: StrengthName,
    /// Also give threads cpus that they did not have before
    #[arg(help_heading = "Strength", long)]
    pub widen: bool,
    /// Give everything back if the evidence no longer counts, for instance after a kernel update
    #[arg(help_heading = "Strength", long)]
    pub release_unproven: bool,
}

/// Treatment of masks that others set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StrengthName {
    /// Place each thread once, and change nothing later.
    Once,
    /// Leave masks inside the rule's cpus alone.
    Boundary,
    /// Give all of the rule's cpus and no other; correct masks at most ten times an hour.
    Exact,
}

/// Arguments of `keep run`.
#[derive(Clone, Debug, clap::Args)]
pub struct KeepRunArguments {
    /// Write metrics to this file (Prometheus text format), at most once a second
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// Update the map of each cpu's worth at this interval, between 100ms and 1s; `corewise worth` shows it
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration_between("100ms", "1s"))]
    pub worth_every: Duration,
}
