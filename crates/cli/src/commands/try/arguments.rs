//! What was typed behind `try`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::shell::values::{between, budget};

/// A command is needed, unless an experiment goes on that has one.
pub const USAGE: &str = "corewise try [OPTIONS] -- <COMMAND>...\n       corewise try --suite <SUITE> [OPTIONS]\n       corewise try --resume[=N] [--budget <DURATION>]";

pub const AFTER: &str = "Examples:
  corewise try -- ./app                          the operating system's choice against what this machine offers
  corewise try --on 'all - core:0' --on llc:0 -- ./app
  corewise try --metric 'throughput=([0-9.]+) MB/s' --higher -- ./bench
  corewise try --threads 1,2,4,8 --threads-as OMP_NUM_THREADS -- ./app
  corewise try --threads 1,2,4,8 --pinned no -- ./app -t {threads}
  corewise try --threads 1,2,4,8 --svg scaling.svg -- ./app -t {threads}
  corewise try --budget 5m -- ./app              whatever is known after five minutes
  corewise try --suite review --on 'all - core:0' --budget 30m
  corewise try --simulate truth.toml             how surely a truth of your making is found
  corewise try --resume                          goes on where the last one ended, the error rate intact

Every placement runs once in each block, in random order, the operating system's choice (OS default) among \
them; blocks follow one another until the verdict is clear. You may stop it at any time (Ctrl-C): the \
verdict so far is valid however often one looks. A placement wins when it is proven better at the error rate and \
its estimate reaches the margin. docs/statistics.md says how every number is computed.

Exit status: 0 a placement wins, or it is proven that none is better by the margin; 1 not decided, or nothing \
can be recommended; 2 wrong usage; 3 not permitted or not available here; 4 internal error; 130 interrupted \
before it was decided.";

/// Try a program on the placements of this machine: which one wins, or does it matter at all
#[derive(Clone, Debug, Parser)]
#[command(name = "try", override_usage = USAGE, after_help = AFTER)]
pub struct TryArguments {
    /// A placement to try, such as 'all - core:0', 'spread(4, llc)' or 0-3; `os` for the operating system's choice, which is
    /// always tried [default: all that differ on this machine, as `corewise place --candidates` lists them]
    #[arg(long, value_name = "EXPR")]
    pub on: Vec<String>,
    /// How many threads the program has, to plan placements of so many cpus; or, with a way to tell the program, the numbers to
    /// try, such as 1,2,4,8: which is best, what pinning changes, and how it scales
    #[arg(long, value_name = "N,...", conflicts_with = "on", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=8_192))]
    pub threads: Vec<u32>,
    /// The environment variable that tells the program how many threads to have, such as OMP_NUM_THREADS; or write {threads} in
    /// the command
    #[arg(long, value_name = "VAR", requires = "threads")]
    pub threads_as: Vec<String>,
    /// The environment variable that tells the program its cpus where it is pinned, "0,2,4", one for each thread, such as
    /// GOMP_CPU_AFFINITY; every number is tried pinned then, more threads than cpus too
    #[arg(long, value_name = "VAR", requires = "threads")]
    pub pins_as: Vec<String>,
    /// Whether numbers of threads are tried on as many cpus (yes), left to the operating system (no), or both [default: both]
    #[arg(long, value_name = "HOW", requires = "threads", hide_possible_values = true)]
    pub pinned: Option<Pinned>,
    /// What decides: 'NAME=REGEX', found in the last matching line of the output, its first group is the number; or the NAME of
    /// a line "metric NAME VALUE", where _per_ in it says that more is better [default: the time from start to end]
    #[arg(long, value_name = "NAME[=REGEX]")]
    pub metric: Option<String>,
    /// More of the metric is better
    #[arg(long, requires = "metric")]
    pub higher: bool,
    /// What must not get worse by the margin, lower is better: as for --metric
    #[arg(long, value_name = "NAME[=REGEX]")]
    pub guard: Vec<String>,
    /// What must not get worse by the margin, higher is better: as for --metric
    #[arg(long, value_name = "NAME[=REGEX]")]
    pub guard_higher: Vec<String>,
    /// The smallest difference that matters, such as 3% [default: 3%; 10% for a metric with the name of a tail, such as p99 or max]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub margin: Option<f64>,
    /// How often a placement may be called better where none is, such as 5% [default: 5%]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub error_rate: Option<f64>,
    /// How long to try, such as 90s or 5m [default: until it is decided, or 60 blocks are made]
    #[arg(long, value_name = "DURATION", value_parser = budget)]
    pub budget: Option<Duration>,
    /// How many runs to make at most, those of earlier sessions among them; a warm-up of each placement comes on top
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs_max: Option<u32>,
    /// End a run that takes longer, and count it as failed, such as 30s [default: never]
    #[arg(long, value_name = "DURATION", value_parser = between("1ms", "24h"))]
    pub timeout: Option<Duration>,
    /// How long the machine rests before each run, such as 1s or 0s [default: a tenth of a run, from 0.3s to 10s]
    #[arg(long, value_name = "DURATION", value_parser = between("0s", "1h"), env = "COREWISE_REST", hide_env = true)]
    pub rest: Option<Duration>,
    /// Estimate the clock rate of each run, by visits of 1 ms to the cpus that it uses, where cycles are not counted: in virtual
    /// machines, or where this user may not; costs up to 2 % of a run shorter than 0.2 s, and 0.3 % of one cpu in longer ones
    #[arg(long, conflicts_with = "simulate")]
    pub estimate_clock: bool,
    /// Try the benchmarks of a suite one after the other, for a table with a row for each: a file (TOML), or `review`, which
    /// corewise holds
    #[arg(long, value_name = "SUITE", conflicts_with_all = ["threads", "metric", "guard", "guard_higher", "timeout", "simulate", "command"])]
    pub suite: Option<String>,
    /// Print what installs the programs that the suite needs, and end
    #[arg(long, requires = "suite", conflicts_with_all = ["resume", "csv", "markdown", "json"])]
    pub install: bool,
    /// Go on with a stored experiment: its number, or the last one of this machine; with --suite, with its last session
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, conflicts_with_all = ["on", "threads", "metric", "guard", "guard_higher", "margin", "error_rate", "timeout", "seed", "command"])]
    pub resume: Option<Option<i64>>,
    /// Try a program that is made up, of which this file (TOML) says the truth: gains = [0.05, 0.0], noise = "typical"; nothing is
    /// stored
    #[arg(long, value_name = "FILE", conflicts_with_all = ["on", "threads", "metric", "guard", "guard_higher", "timeout", "resume", "suite", "command"])]
    pub simulate: Option<PathBuf>,
    /// The seed of the random orders [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print every run as a line of comma-separated values
    #[arg(long, conflicts_with_all = ["markdown", "json"])]
    pub csv: bool,
    /// Print the result as Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Draw how it scales with the numbers of --threads into a file, as an SVG picture that needs nothing else; a file that is
    /// there is replaced
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required_unless_present_any = ["resume", "simulate", "suite"], trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// Who says where threads run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pinned {
    /// The operating system.
    No,
    /// A placement of as many cpus.
    Yes,
    /// Each in turn.
    Both,
}

/// A share, "3%" or "3", between 0 and 50 percent.
fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    let known = number.ok().filter(|percent| *percent > 0.0 && *percent <= 50.0);
    known.map(|percent| percent / 100.0).ok_or_else(|| "expected percent above 0 and up to 50, such as 3%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percent() {
        assert_eq!([parse_percent("3%"), parse_percent("0.5")], [Ok(0.03), Ok(0.005)]);
        for text in ["0", "-3%", "51%", "three", "nan", ""] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }
}
