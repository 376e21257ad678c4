//! Arguments of `history`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};

use crate::app::artifact::Form;
use crate::app::values::between;
use crate::commands::KINDS;

const AFTER: &str = "Examples:
  corewise history                          lists the results of this machine
  corewise history show 12                  shows survey, experiment or map number 12 again
  corewise history show 12 --csv            prints every run of experiment 12
  corewise history show 12 --markdown       prints it as Markdown
  corewise history compare 3 7              what changed between two surveys, or two maps
  corewise history import report.html       takes the results of a page that somebody sent
  corewise history delete 3 5               deletes two; their numbers stay in the list
  corewise history prune --older-than 90d --dry-run   shows what would be deleted

Exit status: 0 done   2 wrong usage   3 not permitted, or not available here";

/// List, show, compare and delete stored results
#[derive(Clone, Debug, Parser)]
#[command(name = "history", after_help = AFTER)]
pub struct HistoryArguments {
    /// What to do; `list` by default.
    #[command(subcommand)]
    pub command: Option<HistoryCommand>,
    /// What to list.
    #[command(flatten)]
    pub list: ListArguments,
}

/// Which of all that is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct ListArguments {
    /// Include results of other machines
    #[arg(long)]
    pub all: bool,
    /// Only one kind
    #[arg(long, value_name = "KIND", value_parser = kind_names(), ignore_case = true)]
    pub kind: Option<String>,
}

/// Returns the parser of the names of stored kinds.
fn kind_names() -> PossibleValuesParser {
    PossibleValuesParser::new(KINDS.iter().map(|kind| kind.name))
}

/// A command of `history`.
#[derive(Clone, Debug, Subcommand)]
pub enum HistoryCommand {
    /// List the results of this machine [default]
    List(ListArguments),
    /// Show a stored survey, experiment or map again, with its conclusions recomputed
    Show {
        /// Its number, as `history list` shows it
        #[arg(value_name = "N")]
        number: i64,
        /// In which form.
        #[command(flatten)]
        form: Form,
    },
    /// Show what changed between two stored surveys, or two maps of links
    Compare {
        /// The number of the earlier one
        #[arg(value_name = "A")]
        before: i64,
        /// The number of the later one
        #[arg(value_name = "B")]
        after: i64,
    },
    /// Take what a page of `corewise report` holds into this history
    Import {
        /// The page
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Print the results of a page on standard input in every form, within limits of memory and time, and store nothing
        #[arg(long, hide = true)]
        rehearse: bool,
    },
    /// Delete results by number; the list keeps a line with number, kind and dates
    Delete {
        /// The numbers
        #[arg(value_name = "N", required = true)]
        numbers: Vec<i64>,
    },
    /// Delete results older than a given age, as `delete` does
    Prune {
        /// The age, such as 90d or 12w
        #[arg(long, value_name = "DURATION", value_parser = between("1s", "10000d"))]
        older_than: Duration,
        /// Show what would be deleted, and delete nothing
        #[arg(long)]
        dry_run: bool,
        /// Which of all.
        #[command(flatten)]
        list: ListArguments,
    },
}
