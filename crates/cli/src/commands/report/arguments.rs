//! Arguments of `report`.

use std::path::PathBuf;

use clap::Parser;

const AFTER: &str = "Examples:
  corewise report                      the latest of each kind of this machine, as report.html
  corewise report 12 -o verdict.html   experiment 12
  corewise report 3 7                  two surveys, and the changes between them
  corewise report --figures figures    also each figure as a separate file
  corewise report --markdown           the same in Markdown, as report.md
  corewise history import report.html  takes the results of a report into another history

Exit status: 0 done   2 wrong usage   3 not permitted, or not available here";

/// Write stored results as one page to hand on: answers, figures, data
#[derive(Clone, Debug, Parser)]
#[command(after_help = AFTER)]
pub struct ReportArguments {
    /// Numbers of the results to report, as `history` shows them [default: the latest of each kind of this machine, and the latest fleet]
    #[arg(value_name = "N")]
    pub numbers: Vec<i64>,
    /// The file to write, replacing an existing one; `-` writes to standard output [default: report.html, or report.md]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write Markdown instead of a page: answers, caveats and tables, to paste elsewhere
    #[arg(long)]
    pub markdown: bool,
    /// Also write each figure as an SVG file into this folder
    #[arg(long, value_name = "FOLDER")]
    pub figures: Option<PathBuf>,
}
