//! Arguments of `article`.

use clap::Parser;

/// The end of `article --help`.
pub const AFTER: &str = "Examples:
  corewise article                    lists the built-in articles
  corewise article threads            one to 24 threads of ray-mesh tests, OS default and pinned
  corewise article all --quick        all five in less than ten minutes on two cpus
  corewise article core0 --print > mine.toml
  corewise article ./mine.toml        an edited copy

docs/articles/ has each article's results, our measurements, and the results to expect elsewhere.

Exit status: 0 every experiment ended, decided or not   2 wrong usage   3 not permitted, or not available here
  4 internal error   130 interrupted, partial results were printed";

/// Repeat the experiment of a published article on this machine, with a better method
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(after_help = AFTER)]
pub struct ArticleArguments {
    /// Article to repeat: cpu0, modules, core0, threads, channels, all, or a file [default: list them]
    #[arg(value_name = "NAME|FILE")]
    pub name: Option<String>,
    /// Take at most two minutes for each step; more results stay undecided
    #[arg(long)]
    pub quick: bool,
    /// Print the article's file, as a template for your own, and exit
    #[arg(long, requires = "name", conflicts_with = "json")]
    pub print: bool,
}
