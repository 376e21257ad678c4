//! What was typed behind `article`.

use clap::Parser;

/// What `article --help` ends with.
pub const AFTER: &str = "Examples:
  corewise article                    the articles that corewise holds
  corewise article threads            one to 24 threads of ray-mesh tests, by the scheduler and pinned
  corewise article all --quick        all five in less than ten minutes on two cpus
  corewise article core0 --print > mine.toml
  corewise article ./mine.toml        a copy, changed

What each article had, what was measured with these, and what to expect elsewhere: docs/articles/.

Exit status: 0 every experiment has ended, decided or not   2 wrong usage   3 not permitted, or not available here
  4 internal error   130 interrupted, what there was is shown";

/// Make the experiment of a published article on this machine, with better method
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(name = "article", after_help = AFTER)]
pub struct ArticleArguments {
    /// cpu0, modules, core0, threads, channels, all, or a file; a list of them where nothing is said
    #[arg(value_name = "NAME|FILE")]
    pub name: Option<String>,
    /// Take two minutes at most for each step; more stays undecided
    #[arg(long)]
    pub quick: bool,
    /// Print the article's file, to be copied and changed, and end
    #[arg(long, requires = "name", conflicts_with = "json")]
    pub print: bool,
}
