//! What was typed behind `history`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// List, show and compare what is stored
#[derive(Clone, Debug, Parser)]
#[command(name = "history")]
pub struct HistoryArguments {
    /// What to do; `list` by default.
    #[command(subcommand)]
    pub command: Option<HistoryCommand>,
    /// List the surveys and experiments of all machines in the store
    #[arg(long)]
    pub all: bool,
}

/// A command of `history`.
#[derive(Clone, Debug, Subcommand)]
pub enum HistoryCommand {
    /// List the stored surveys and experiments of this machine [default]
    List {
        /// List the surveys and experiments of all machines in the store
        #[arg(long)]
        all: bool,
    },
    /// Show a stored survey again
    Show {
        /// The survey's number, as `history list` shows it
        #[arg(value_name = "N")]
        number: i64,
    },
    /// Show a stored experiment (`corewise try`) again, with its verdict recomputed from its runs
    Experiment {
        /// The experiment's number, as `history list` shows it
        #[arg(value_name = "N")]
        number: i64,
        /// Print one line of comma-separated values per run
        #[arg(long, conflicts_with = "markdown")]
        csv: bool,
        /// Print the result as Markdown
        #[arg(long)]
        markdown: bool,
        /// Write a self-contained SVG picture of how it scales with threads; replaces an existing file
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
    /// Show what changed between two stored surveys
    Compare {
        /// The number of the earlier survey
        #[arg(value_name = "N")]
        before: i64,
        /// The number of the later survey
        #[arg(value_name = "M")]
        after: i64,
    },
}
