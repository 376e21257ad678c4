//! Arguments of `history`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};

use crate::app::artifact::ArtifactForm;
use crate::app::option_values::duration_between;
use crate::commands::KINDS;

const AFTER: &str = "Examples:
  corewise history                          lists the results of this machine
  corewise history show 12                  shows survey, experiment or map number 12 again
  corewise history show 12 --csv            prints every run of experiment 12
  corewise history show 12 --markdown       prints it as Markdown
  corewise history compare 3 7              compares two surveys, or two maps of the same kind
  corewise history import report.html       takes the results of a page into this history
  corewise history import old.json new.json  compares timings of hyperfine
  corewise history delete 3 5               deletes results 3 and 5; the list still shows their numbers
  corewise history prune --older-than 90d --dry-run   shows what would be deleted

Exit status: 0 done   2 wrong usage   3 not permitted, or not available here";

/// List, show, compare and delete stored results
#[derive(Clone, Debug, Parser)]
#[command(after_help = AFTER)]
pub struct HistoryArguments {
    /// Command; `list` by default.
    #[command(subcommand)]
    pub command: Option<HistoryCommand>,
    /// Selection for `list`.
    #[command(flatten)]
    pub list: ListArguments,
}

/// Selection of stored artifacts.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct ListArguments {
    /// Include results of other machines
    #[arg(long)]
    pub all: bool,
    /// Include only this kind
    #[arg(long, value_name = "KIND", value_parser = kind_names(), ignore_case = true)]
    pub kind: Option<String>,
}

/// Returns a parser that accepts the name of any kind of stored result.
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
        /// Number of the result, as `history list` shows it
        #[arg(value_name = "N")]
        number: i64,
        /// Output form.
        #[command(flatten)]
        form: ArtifactForm,
    },
    /// Show the changes between two stored surveys, two link maps or two memory maps
    Compare {
        /// Number of the earlier one
        #[arg(value_name = "A")]
        before: i64,
        /// Number of the later one
        #[arg(value_name = "B")]
        after: i64,
    },
    /// Import the results that a page written by `corewise report` contains, or describe timings of hyperfine, Google
    /// Benchmark, pyperf, Criterion (JSON) or CSV: what they show, and how many interleaved runs would decide
    Import {
        /// Page, or files of timings, which are compared with the first one; `-` is standard input
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Check a page: read it from standard input, print its results in every form under memory and time limits, and
        /// store nothing. FILE is `-`
        #[arg(long, hide = true)]
        rehearse: bool,
    },
    /// Delete results by number; the list keeps a line with number, kind and dates
    Delete {
        /// Numbers of the results to delete
        #[arg(value_name = "N", required = true)]
        numbers: Vec<i64>,
    },
    /// Delete all results older than an age; the list keeps a line for each, as with `delete`
    Prune {
        /// Minimum age, such as 90d or 12w
        #[arg(long, value_name = "DURATION", value_parser = duration_between("1s", "10000d"))]
        older_than: Duration,
        /// Show what would be deleted, and delete nothing
        #[arg(long)]
        dry_run: bool,
        /// Selection of results.
        #[command(flatten)]
        selection: ListArguments,
    },
}
