//! Arguments of `try`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser, ValueEnum};
use corewise_lab::experiment::ThreadPinning;
use corewise_machine::placement::memory::MemoryPolicy;
use corewise_machine::vocabulary::one_of;
use corewise_model::experiment::What;
use corewise_model::sample::MetricWord;
use corewise_model::suite::BUILT_IN;
use corewise_model::trial::LARGEST_TIMES;

use crate::app::values::{between, budget};

/// A command is required, unless a stored experiment with one continues.
pub const USAGE: &str = "corewise try [OPTIONS] -- <COMMAND>...\n       corewise try --start <NAME=SERVICE> [OPTIONS] -- <COMMAND>...\n       corewise try --pid <PID> --sample <SOURCE> --metric <NAME> [OPTIONS]\n       corewise try --suite <SUITE> [OPTIONS]\n       corewise try --resume[=N] [--budget <DURATION>]";

pub const AFTER: &str = "Examples:
  corewise try -- ./app                          compares the OS default with this machine's placements
  corewise try --on 'all - core:0' --on llc:0 -- ./app
  corewise try --near eth0 -- ./server           whether it matters to be near a network card
  corewise try --memory interleave:all -- ./app  whether it matters where its memory lies
  corewise try --on 'node:0 @ bind:0' --on 'all @ interleave:all' -- ./app
  corewise try --metric 'throughput=([0-9.]+) MB/s' --higher -- ./bench
  corewise try --metric fps --metric-file results.json -- ./game --benchmark
  corewise try --threads 1,2,4,8 --threads-as OMP_NUM_THREADS -- ./app
  corewise try --threads 1,2,4,8 --pinned no -- ./app -t {threads}
  corewise try --threads 1,2,4,8 --svg scaling.svg -- ./app -t {threads}
  corewise try --what tail -- ./app              which placement has the fewest slow runs
  corewise try --budget 5m -- ./app              the verdict after at most five minutes
  corewise try --suite review --on 'all - core:0' --budget 30m
  corewise try --pid 4711 --sample 'redis-cli info stats' --metric 'ops=commands_processed:([0-9]+)' --counter
  corewise try --unit nginx --sample http://localhost:9113/metrics --metric http_requests_total
  corewise try --start server='redis-server --port 7777' --ready 'redis-cli -p 7777 ping' \
    --metric 'rps=([0-9.]+) requests per second' --higher -- redis-benchmark -p 7777 -t get -q
  corewise try --start server='./server' --on 'server=0, load=1' --on 'server=llc:0, load=llc:1' -- ./load
  corewise try --simulate truth.toml             how often true effects that you choose are found
  corewise try --resume                          continues the last experiment, with its error rate intact
  corewise try --again 12                        makes experiment 12 once more, from its beginning

Each block runs every placement once, in random order, including the OS default. Blocks repeat until the verdict is \
clear. You may stop at any time (Ctrl-C): the verdict so far is valid, however often you look. A placement wins when \
it is proven better at the error rate and its estimate reaches the margin. docs/statistics.md explains how every \
number is computed.

Exit status: 0 a placement wins, or none is proven better by the margin; 1 not decided, or nothing can be \
recommended; 2 wrong usage; 3 not permitted or not available here; 4 internal error; 130 interrupted before a \
decision.";

/// Try a program on the placements of this machine, and show which one wins, if any
#[derive(Clone, Debug, Parser)]
#[command(name = "try", override_usage = USAGE, after_help = AFTER)]
#[command(group(ArgGroup::new("services").args(["start", "parts"]).multiple(true).conflicts_with_all(["threads", "suite", "simulate", "resume", "again", "live"])))]
#[command(group(ArgGroup::new("live").args(["pid", "unit", "matches"]).multiple(true).conflicts_with_all(["threads", "metric_file", "vary", "follow", "timeout", "estimate_clock", "suite", "simulate", "resume"])))]
pub struct TryArguments {
    /// A placement to try, such as 'all - core:0', 'spread(4, llc)' or 0-3; `os` is the OS default, which is always
    /// tried; 'EcoQoS off' is the same where Windows may not slow the command down [default: those that `corewise place --candidates` lists]
    #[arg(help_heading = "Placements and memory", long, value_name = "EXPR")]
    pub on: Vec<String>,
    /// Try whether it matters to be near this device, by what the system reports: adds near(DEVICE) and !near(DEVICE), to the
    /// placements of --on or to those that are planned; where there are roles, of all but `load` and `rest`.
    /// `corewise topology --devices` lists the devices
    #[arg(help_heading = "Placements and memory", long, value_name = "DEVICE", conflicts_with_all = ["threads", "resume", "again", "simulate"])]
    pub near: Option<String>,
    /// Where the program's memory comes from, as for `corewise run`: local, interleave:all, bind:0, preferred:0 or weighted:all; may be
    /// repeated. Tried with the OS default and with each placement of --on, as far as they differ. For one placement alone: --on
    /// 'EXPR @ POLICY' [default: with placements that are planned, on several memory nodes, those that `docs/trying.md` lists]
    #[arg(help_heading = "Placements and memory", long, value_name = "POLICY", value_parser = memory_policy, conflicts_with_all = ["threads", "resume", "again", "simulate", "pid", "unit", "matches"])]
    pub memory: Vec<MemoryPolicy>,
    /// One number: the program's threads, to plan placements of that many cpus. A list such as 1,2,4,8: find the best
    /// number, the effect of pinning, and how it scales (needs --threads-as or {threads})
    #[arg(help_heading = "Threads", long, value_name = "N,...", conflicts_with = "on", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=8_192))]
    pub threads: Vec<u32>,
    /// The environment variable that sets the program's number of threads, such as OMP_NUM_THREADS; or write {threads}
    /// in the command
    #[arg(help_heading = "Threads", long, value_name = "VAR", requires = "threads")]
    pub threads_as: Vec<String>,
    /// The environment variable that sets the program's cpus, one for each thread ("0,2,4"), such as GOMP_CPU_AFFINITY;
    /// every number is then tried pinned, even with more threads than cpus
    #[arg(help_heading = "Threads", long, value_name = "VAR", requires = "threads")]
    pub pins_as: Vec<String>,
    /// Try each number of threads pinned to as many cpus (yes), with the OS default (no), or both [default: both]
    #[arg(help_heading = "Threads", long, value_name = "HOW", requires = "threads", hide_possible_values = true)]
    pub pinned: Option<Pinned>,
    /// The number to compare, with its unit, in the last line of the output that has it. NAME alone finds "NAME: 12.3 ms", "NAME=12.3k",
    /// "metric NAME 12.3" and JSON's "NAME": 12.3; NAME=REGEX takes the number at the first group of a regular expression
    /// [default: wall time]
    #[arg(help_heading = "How it is judged", long, value_name = "NAME[=REGEX]")]
    pub metric: Option<String>,
    /// Take the metric and the guards from this file, which the program writes, instead of its output. corewise removes it before each
    /// run, and a run that does not write it has failed; relative to the folder in which corewise is started
    #[arg(help_heading = "How it is judged", long, value_name = "FILE")]
    pub metric_file: Option<String>,
    /// Run this in a shell before each block, to change what should not matter: `make relink SEED=$COREWISE_VARY` for another order of
    /// the objects; the variable has a random number. Without it the environment's size varies, and with it where the stack begins
    #[arg(help_heading = "Command", long, value_name = "SCRIPT")]
    pub vary: Option<String>,
    /// The command is a launcher: a run lasts until the process of this name has ended that it leaves behind, as a game does
    #[arg(help_heading = "Command", long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub follow: Option<String>,
    /// Place this running process, with all that descends from it, instead of running a command: a trial is then a slot in which all its threads
    /// stand on one placement. Everything is given back in the end
    #[arg(help_heading = "Running processes", long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Vec<u32>,
    /// The same for the processes of a systemd unit
    #[arg(help_heading = "Running processes", long, value_name = "UNIT", value_parser = parse_unit)]
    pub unit: Option<String>,
    /// The same for the processes that match, as in rules of `corewise keep`: 'exe=*/postgres'
    #[arg(help_heading = "Running processes", long = "match", value_name = "FIELD=PATTERN")]
    pub matches: Vec<String>,
    #[arg(help = sample_help(), help_heading = "Running processes", long, value_name = "SOURCE", requires = "live")]
    pub sample: Option<String>,
    /// The metric counts since the program's start: what is added in a second is compared [default: for names that end in _total]
    #[arg(help_heading = "Running processes", long, requires = "sample")]
    pub counter: bool,
    /// How long a slot is measured, from 0.1s to 60s [default: found before the first]
    #[arg(help_heading = "Running processes", long, value_name = "DURATION", requires = "live", value_parser = between("100ms", "60s"))]
    pub slot: Option<Duration>,
    /// Leave a placement at once, and for good, when this happens in a slot: 'p99(latency_seconds) > 50ms'
    #[arg(help_heading = "Running processes", long, value_name = "LIMIT", requires = "live")]
    pub stop_if: Vec<String>,
    /// Show whose threads, or which parts, would stand where, and exit
    #[arg(help_heading = "Placements and memory", long, conflicts_with_all = ["csv", "markdown"])]
    pub dry_run: bool,
    /// Start this service before the command, which is then its load: NAME=COMMAND, for a shell; may be repeated. Each has a placement of its
    /// own: --on 'server=0, load=1'. Every trial starts them anew, on their cpus from the first instruction, and ends them
    #[arg(help_heading = "Services", long, value_name = "NAME=COMMAND")]
    pub start: Vec<String>,
    /// What succeeds once a service is ready, for a shell: [NAME=]COMMAND; without NAME that of the last --start [default: it has run
    /// for 0.5s]
    #[arg(help_heading = "Services", long, value_name = "COMMAND", requires = "services")]
    pub ready: Vec<String>,
    /// How long a service may take to be ready [default: 30s]
    #[arg(help_heading = "Services", long, value_name = "DURATION", requires = "services", value_parser = between("100ms", "24h"))]
    pub ready_within: Option<Duration>,
    /// Start the services once a session; their threads move from placement to placement
    #[arg(help_heading = "Services", long, requires = "services")]
    pub keep_started: bool,
    /// The services, their threads, the command and placements from a file (TOML)
    #[arg(help_heading = "Services", long, value_name = "FILE")]
    pub parts: Option<PathBuf>,
    /// Threads that have a placement of their own, by their names: NAME=REGEX, as in io='^io-' for --on 'io=0'; of services, or of running
    /// processes, whose other threads are `rest`
    #[arg(help_heading = "Services", long, value_name = "NAME=REGEX")]
    pub role: Vec<String>,
    /// Higher values of the metric are better [default: as its name or unit says: fps, ops/s, score; ms, latency, p99]
    #[arg(help_heading = "How it is judged", long, requires = "metric")]
    pub higher: bool,
    /// Lower values of the metric are better
    #[arg(help_heading = "How it is judged", long, requires = "metric", conflicts_with = "higher")]
    pub lower: bool,
    /// A metric that must not get worse: no placement wins before it is proven not to be worse by --guard-margin; lower
    /// is better; written as for --metric
    #[arg(help_heading = "How it is judged", long, value_name = "NAME[=REGEX]")]
    pub guard: Vec<String>,
    /// The same, where higher is better
    #[arg(help_heading = "How it is judged", long, value_name = "NAME[=REGEX]")]
    pub guard_higher: Vec<String>,
    /// How much worse a guard may get, such as 5% [default: 10%]
    #[arg(help_heading = "How it is judged", long, value_name = "PERCENT", value_parser = parse_percent)]
    pub guard_margin: Option<f64>,
    /// What decides: the typical run, the mean of all runs, or how many runs are slow (tail); the other two are shown
    /// beside it. Numbers of threads and suites are always judged by typical runs [default: typical]
    #[arg(help_heading = "How it is judged", long, value_name = "WHAT", conflicts_with_all = ["threads", "suite"], hide_possible_values = true)]
    pub what: Option<Asked>,
    /// A run is slow that costs more than this many times the median of the OS default [default: 1.5]
    #[arg(help_heading = "How it is judged", long, value_name = "TIMES", value_parser = parse_times)]
    pub slow: Option<f64>,
    /// In the mean a run counts as at most this many times the median of the OS default, a failed one as that [default: 3]
    #[arg(help_heading = "How it is judged", long, value_name = "TIMES", value_parser = parse_times)]
    pub cap: Option<f64>,
    /// The smallest difference that matters, such as 3% [default: 3%; 10% for the mean, and for a metric named like a
    /// tail, such as p99 or max; for slow runs it is a share of all runs]
    #[arg(help_heading = "How it is judged", long, value_name = "PERCENT", value_parser = parse_percent)]
    pub margin: Option<f64>,
    /// The false-positive rate, such as 5% [default: 5%]
    #[arg(help_heading = "How it is judged", long, value_name = "PERCENT", value_parser = parse_percent)]
    pub error_rate: Option<f64>,
    /// After a placement has won, run it and the OS default once more in long stretches of runs, whose first quarter does
    /// not count: finds what a placement leaves behind for the next run, such as heat
    #[arg(help_heading = "How it is judged", long, conflicts_with_all = ["threads", "suite"])]
    pub confirm: bool,
    /// Maximum duration, such as 90s or 5m [default: until it is decided, at most 60 blocks, or 200 where
    /// the mean or slow runs decide]
    #[arg(help_heading = "How it ends", long, value_name = "DURATION", value_parser = budget)]
    pub budget: Option<Duration>,
    /// End when so much time was spent on placements that look worse, and all that are still tried do [default for running processes: half
    /// of the budget]
    #[arg(help_heading = "How it ends", long, value_name = "DURATION", value_parser = budget, conflicts_with_all = ["threads", "suite"])]
    pub worse_at_most: Option<Duration>,
    /// Maximum number of runs, including earlier sessions; one warm-up per placement is not counted
    #[arg(help_heading = "How it ends", long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs_max: Option<u32>,
    /// End a run that takes longer, such as 30s, and count it as failed [default: never]
    #[arg(help_heading = "How it ends", long, value_name = "DURATION", value_parser = between("1ms", "24h"))]
    pub timeout: Option<Duration>,
    /// How long the machine rests before each run, such as 1s or 0s [default: a tenth of a run, from 0.05s to 2s]
    #[arg(help_heading = "Command", long, value_name = "DURATION", value_parser = between("0s", "1h"), env = "COREWISE_REST", hide_env = true)]
    pub rest: Option<Duration>,
    /// Estimate each run's clock rate if cycles cannot be counted (in virtual machines, or without permission), by
    /// visits of 1 ms to the cpus it uses; costs up to 2 % of a run shorter than 0.2 s, and 0.3 % of one cpu in longer
    /// ones
    #[arg(help_heading = "Command", long, conflicts_with = "simulate")]
    pub estimate_clock: bool,
    #[arg(help = suite_help(), help_heading = "Suites, stored and simulated experiments", long, value_name = "SUITE", conflicts_with_all = ["threads", "follow", "role", "metric", "metric_file", "vary", "guard", "guard_higher", "timeout", "simulate", "command"])]
    pub suite: Option<String>,
    /// Print the command that installs the programs of the suite, and exit
    #[arg(help_heading = "Suites, stored and simulated experiments", long, requires = "suite", conflicts_with_all = ["resume", "csv", "markdown", "json"])]
    pub install: bool,
    /// Continue a stored experiment: its number, or the last one of this machine; with --suite, its last session
    #[arg(help_heading = "Suites, stored and simulated experiments", long, value_name = "N", num_args = 0..=1, require_equals = true, conflicts_with_all = ["on", "follow", "role", "threads", "metric", "metric_file", "vary", "guard", "guard_higher", "guard_margin", "what", "slow", "cap", "margin", "error_rate", "timeout", "seed", "command"])]
    pub resume: Option<Option<i64>>,
    /// Make a stored experiment once more, from its beginning: its command, metric, guards and margin, with the placements of
    /// --on or with its own, as they are on this machine now; of running processes with those of --pid, --unit and --match, or its own
    #[arg(help_heading = "Suites, stored and simulated experiments", long, value_name = "N", conflicts_with_all = ["threads", "follow", "role", "metric", "metric_file", "vary", "guard", "guard_higher", "guard_margin", "what", "slow", "cap", "margin", "error_rate", "timeout", "resume", "suite", "simulate", "command"])]
    pub again: Option<i64>,
    /// Simulate a program whose true effects this file (TOML) gives: gains = [0.05, 0.0], noise = "typical"; stores
    /// nothing
    #[arg(help_heading = "Suites, stored and simulated experiments", long, value_name = "FILE", conflicts_with_all = ["on", "follow", "role", "threads", "metric", "metric_file", "vary", "guard", "guard_higher", "timeout", "resume", "suite", "command"])]
    pub simulate: Option<PathBuf>,
    /// The seed of the random orders [default: from the clock]
    #[arg(help_heading = "Suites, stored and simulated experiments", long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print one line of comma-separated values per run; the first run's `notes` are the caveats
    #[arg(help_heading = "Output and history", long, conflicts_with_all = ["markdown", "json"])]
    pub csv: bool,
    /// Print the result as Markdown, with its caveats
    #[arg(help_heading = "Output and history", long, conflicts_with = "json")]
    pub markdown: bool,
    /// Write a self-contained SVG picture of how it scales with --threads; replaces an existing file
    #[arg(help_heading = "Output and history", long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required_unless_present_any = ["parts", "resume", "again", "simulate", "suite", "pid", "unit", "matches"], trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

fn suite_help() -> String {
    let built_in = one_of(&BUILT_IN.map(|(name, _)| name));
    format!(
        "Try the benchmarks of a suite, and show a table with a row for each: a file (TOML), or a built-in suite, {built_in}"
    )
}

fn sample_help() -> String {
    let [rate, cpu_time, run_delay] = MetricWord::ALL.map(MetricWord::word);
    format!(
        "Where the metrics of running processes are read: a command, such as 'redis-cli info stats', or a page in Prometheus' text \
         format, such as http://localhost:9113/metrics. There --metric also understands {rate}(NAME), p99(HISTOGRAM), \
         NAME{{label=\"value\"}} and {cpu_time}(NAME); {run_delay} and {cpu_time} need no source"
    )
}

/// What decides, as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Asked {
    /// The typical run.
    Typical,
    /// The mean of all runs.
    Mean,
    /// How many runs are slow.
    Tail,
}

impl From<Asked> for What {
    fn from(asked: Asked) -> Self {
        match asked {
            Asked::Typical => Self::Typical,
            Asked::Mean => Self::Mean,
            Asked::Tail => Self::Tail,
        }
    }
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

impl From<Pinned> for ThreadPinning {
    fn from(pinned: Pinned) -> Self {
        match pinned {
            Pinned::No => Self::No,
            Pinned::Yes => Self::Yes,
            Pinned::Both => Self::Both,
        }
    }
}

fn memory_policy(text: &str) -> Result<MemoryPolicy, String> {
    text.parse().map_err(|error: corewise_machine::placement::memory::MemoryError| error.to_string())
}

/// Parses the name of a unit; without an ending it is a service, as for systemctl(1).
fn parse_unit(text: &str) -> Result<String, String> {
    let is_whole = text.contains(['.', '*']);
    if text.is_empty() {
        Err("expected the name of a unit".to_owned())
    } else if is_whole {
        Ok(text.to_owned())
    } else {
        Ok(format!("{text}.service"))
    }
}

/// Parses a share, "3%" or "3", above 0 and up to 50 percent.
fn parse_percent(text: &str) -> Result<f64, String> {
    let (number, is_percent) = text.strip_suffix('%').map_or((text, false), |number| (number, true));
    let number = number.trim().parse::<f64>();
    let known = number.ok().filter(|percent| *percent > 0.0 && *percent <= 50.0);
    if let Some(share) = known.filter(|share| *share < 1.0 && !is_percent) {
        return Err(format!("it could be {share} % or {} %: write {share}% or {}%", 100.0 * share, 100.0 * share));
    }
    known
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "expected a percentage above 0 and up to 50, such as 3%".to_owned())
}

/// Parses a factor, "1.5" or "1.5x".
fn parse_times(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('x').unwrap_or(text).trim().parse::<f64>();
    number
        .ok()
        .filter(|times| *times > 1.0 && *times <= LARGEST_TIMES)
        .ok_or_else(|| format!("expected a number above 1 and up to {LARGEST_TIMES}, such as 1.5"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_above_one() {
        assert_eq!([parse_times("1.5"), parse_times("20x")], [Ok(1.5), Ok(20.0)]);
        for text in ["1", "0.5", "-2", "x", "nan", "inf", "1e9"] {
            assert!(parse_times(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_are_percent() {
        assert_eq!([parse_percent("3%"), parse_percent("0.5%"), parse_percent("5")], [Ok(0.03), Ok(0.005), Ok(0.05)]);
        assert_eq!(parse_percent("0.05").unwrap_err(), "it could be 0.05 % or 5 %: write 0.05% or 5%");
        for text in ["0", "-3%", "51%", "three", "nan", ""] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }
}
