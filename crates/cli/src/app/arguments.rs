//! The options that every command has.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

// No doc comment: clap would take it for the command's description.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output and history")]
pub struct CommonArguments {
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// The history's file [default: corewise/history.db in the user's data folder]
    #[arg(long, global = true, value_name = "PATH", conflicts_with = "no_store")]
    pub store: Option<PathBuf>,
    /// Store nothing
    #[arg(long, global = true)]
    pub no_store: bool,
    /// The folder of the journals of changes [default: /run/corewise for root, corewise in the user's state folder]
    #[arg(long, global = true, value_name = "PATH", hide = true)]
    pub journal: Option<PathBuf>,
    /// Write the result as JSON to this file too. `article` reads the results of its steps there
    #[arg(long, global = true, value_name = "FILE", hide = true)]
    pub document_copy: Option<PathBuf>,
    /// Measure even while another corewise of yours measures. In `history`, delete an experiment even if a rule rests on it
    #[arg(long, global = true)]
    pub anyway: bool,
    /// Execute the commands in this suite, article or store even if another user may have written them. The
    /// acceptance is remembered for exactly this content
    #[arg(long, global = true, value_name = "FILE")]
    pub trust: Option<PathBuf>,
    /// Choose when to use colour; NO_COLOR is respected
    #[arg(
        long,
        global = true,
        value_enum,
        ignore_case = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    pub color: ColorWhen,
    /// Fit the output to this many columns [default: the terminal's width; without one nothing is cut]
    #[arg(long, global = true, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(20..=1000))]
    pub width: Option<u16>,
}

/// Choice of colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
