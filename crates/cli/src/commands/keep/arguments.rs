//! Arguments of `keep`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use corewise_machine::vocabulary::one_of;
use corewise_model::keep::MatchField;

use crate::app::values::{between, budget};

const AFTER: &str = "Examples:
  corewise keep add redis --match 'exe=*/redis-server' --on 'vcache - 0'
  corewise keep add --from 12 --match name=game   the winner of experiment 12, with what proved it
  corewise keep plan                              what would be done now; nothing is changed
  corewise keep run                               keep the rules in force, until Ctrl-C
  corewise keep prove redis --budget 10m          the rule's experiment again: is it still true?
  corewise keep why 4711                          why process 4711 runs where it does

Rules are in rules.toml in the user's configuration folder (~/.config/corewise), and with --system, or for root, in
/etc/corewise/rules.d/*.toml. docs/keep.md describes them.

Exit status: 0 done   1 prove: not decided   2 wrong usage   3 not permitted, or not available here";

/// Keep placements in force for the programs that rules match, and list what they hold
#[derive(Clone, Debug, Parser)]
#[command(name = "keep", after_help = AFTER)]
pub struct KeepArguments {
    /// What to do; lists the rules by default.
    #[command(subcommand)]
    pub command: Option<KeepCommand>,
    /// The rules of the system, about the processes of every user [default for root]
    #[arg(help_heading = "Which rules", long, global = true, conflicts_with = "user")]
    pub system: bool,
    /// The rules of this user, about this user's processes [default]
    #[arg(help_heading = "Which rules", long, global = true)]
    pub user: bool,
    /// Another file of rules, or folder of such files
    #[arg(help_heading = "Which rules", long, global = true, value_name = "PATH")]
    pub rules: Option<PathBuf>,
}

/// A command of `keep`.
#[derive(Clone, Debug, Subcommand)]
pub enum KeepCommand {
    /// Add a rule
    Add(AddArguments),
    /// Show what the rules would do now, and change nothing
    Plan,
    /// Keep the rules in force until interrupted, then give everything back
    Run(RunArguments),
    /// Say why a process runs where it does: its rule, the evidence, what was changed and when
    Why {
        /// The process's number
        #[arg(value_name = "PID")]
        process: u32,
    },
    /// Make the experiment that a rule rests on once more, here and now, and renew or withdraw the rule's evidence
    Prove(ProveArguments),
    /// Leave a process alone until it ends, and give it back what it had
    Release {
        /// The process's number
        #[arg(value_name = "PID")]
        process: u32,
        /// Hold a process again that is left alone
        #[arg(long)]
        undo: bool,
    },
    /// Remove a rule; what it holds is given back
    Remove(NameArgument),
    /// Let a rule count again
    Enable(NameArgument),
    /// Leave a rule out, but keep it in its file; what it holds is given back
    Disable(NameArgument),
    /// Let the running `keep run` read the rules again
    Reload,
    /// Print a systemd unit for `keep run`
    Unit,
}

/// A rule by its name.
#[derive(Clone, Debug, clap::Args)]
pub struct NameArgument {
    /// The rule's name
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// What was typed behind `keep prove`.
#[derive(Clone, Debug, clap::Args)]
pub struct ProveArguments {
    /// The rule's name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Maximum duration, such as 90s or 10m [default: as for `try`]
    #[arg(long, value_name = "DURATION", value_parser = budget)]
    pub budget: Option<Duration>,
}

fn match_help() -> String {
    let fields = one_of(&MatchField::ALL.map(MatchField::word));
    format!(
        "Which processes, as FIELD=PATTERN, where FIELD is {fields}; all that are given must hold. In a pattern, * is any text and ? any \
         character"
    )
}

/// What was typed behind `keep add`.
#[derive(Clone, Debug, clap::Args)]
pub struct AddArguments {
    /// Its name; with --from, the name of the experiment's program by default
    #[arg(value_name = "NAME", required_unless_present = "from")]
    pub name: Option<String>,
    #[arg(help_heading = "The rule", long = "match", help = match_help(), value_name = "FIELD=PATTERN", required_unless_present = "from")]
    pub matches: Vec<String>,
    /// Where they belong, in the placement language
    #[arg(help_heading = "The rule", long, value_name = "EXPR", required_unless_present = "from")]
    pub on: Option<String>,
    /// The winner of this experiment, with its evidence
    #[arg(help_heading = "The rule", long, value_name = "N", conflicts_with = "on")]
    pub from: Option<i64>,
    /// Where threads with certain names belong, as PATTERN=EXPR
    #[arg(help_heading = "The rule", long, value_name = "PATTERN=EXPR")]
    pub threads: Vec<String>,
    /// What is done about masks that others set
    #[arg(help_heading = "How it is kept", long, value_enum, value_name = "HOW", default_value = "boundary")]
    pub strength: StrengthName,
    /// Also give threads cpus that they did not have before
    #[arg(help_heading = "How it is kept", long)]
    pub widen: bool,
    /// Give everything back when the evidence does not count any more, for instance after a kernel update
    #[arg(help_heading = "How it is kept", long)]
    pub release_unproven: bool,
}

/// What is done about masks that others set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StrengthName {
    /// Nothing: each thread is placed once.
    Once,
    /// What stays inside the rule's cpus is left alone.
    Boundary,
    /// All of the rule's cpus and no other, corrected at most ten times an hour.
    Exact,
}

/// What was typed behind `keep run`.
#[derive(Clone, Debug, clap::Args)]
pub struct RunArguments {
    /// Write metrics to this file (Prometheus text format), at most once a second
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// How often the map of what each cpu is worth is updated, between 100ms and 1s; `corewise worth` shows it
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = between("100ms", "1s"))]
    pub worth_every: Duration,
}
