//! Arguments of `try`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser, ValueEnum};
use corewise_lab::experiment::ThreadPinning;
use corewise_machine::evidence::is_proof_name;
use corewise_machine::placement::memory::MemoryPolicy;
use corewise_machine::vocabulary::one_of;
use corewise_model::sample::MetricWord;
use corewise_model::suite::BUILT_IN;
use corewise_statistics::experiment::LARGEST_TIMES;
use corewise_statistics::experiment::{ExperimentGate, GateRule, QuestionKind};

use crate::app::option_values::{duration_between, parse_budget, parse_unit, process_number};

/// Usage lines. COMMAND is required unless an option supplies it.
pub const USAGE: &str = "corewise try [OPTIONS] -- <COMMAND>...\n       corewise try --variant <NAME=COMMAND> --variant <NAME=COMMAND>... [OPTIONS]\n       corewise try --start <NAME=SERVICE> [OPTIONS] -- <COMMAND>...\n       corewise try --pid <PID> --sample <SOURCE> --metric <NAME> [OPTIONS]\n       corewise try --suite <SUITE> [OPTIONS]\n       corewise try --resume[=N] [--budget <DURATION>]\n       corewise try --again <N> [OPTIONS]";

pub const AFTER: &str = "Examples:
  corewise try -- ./app                          compares the OS default with planned placements
  corewise try --on 'all - core:0' --on llc:0 -- ./app
  corewise try --near eth0 -- ./server           whether it matters to be near a network card
  corewise try --talk -- ./app                   whether it matters that threads that wake each other are together
  corewise try --memory interleave:all -- ./app  whether it matters where its memory lies
  corewise try --on 'node:0 @ bind:0' --on 'all @ interleave:all' -- ./app
  corewise try --metric 'throughput=([0-9.]+) MB/s' --higher -- ./bench
  corewise try --metric fps --metric-file results.json -- ./game --benchmark
  corewise try --threads 1,2,4,8 --threads-as OMP_NUM_THREADS -- ./app
  corewise try --threads 1,2,4,8 --pinned no -- ./app -t {threads}
  corewise try --threads 1,2,4,8 --svg scaling.svg -- ./app -t {threads}
  corewise try --threads 1,2,4 --start server='./server --io-threads {threads}' -- ./load
  corewise try --variant old=./a.out --variant new=./b.out        whether new is faster than old
  corewise try --variant gcc=./a --variant clang=./b --on llc:0   which, and where
  corewise try --variant base= --variant huge=GLIBC_TUNABLES=glibc.malloc.hugetlb=1 -- ./app
  corewise try --variant v1 --variant v2 --prepare 'git checkout -q $COREWISE_VARIANT && make' \\
    --gate 'v2 not worse by 2%' -- ./app
  corewise try --what tail -- ./app              which placement has the fewest slow runs
  corewise try --budget 5m -- ./app              the verdict after at most five minutes
  corewise try --suite review --on 'all - core:0' --budget 30m
  corewise try --pid 4711 --sample 'redis-cli info stats' \\
    --metric 'ops=commands_processed:([0-9]+)' --counter
  corewise try --unit nginx --sample http://localhost:9113/metrics --metric http_requests_total
  corewise try --start server='redis-server --port 7777' \\
    --ready 'redis-cli -p 7777 ping' --metric 'rps=([0-9.]+) requests per second' --higher \\
    -- redis-benchmark -p 7777 -t get -q
  corewise try --start server='./server' \\
    --on 'server=0, load=1' --on 'server=llc:0, load=llc:1' -- ./load
  corewise try --simulate truth.toml             one experiment on a program with known effects
  corewise try --resume                          continues the last experiment; error rate intact
  corewise try --resume=12 --boots 3             goes on with experiment 12 after a reboot
  corewise try --again 12                        repeats experiment 12 from its beginning

Each block runs the OS default and every placement still in the race once, in random order. Blocks repeat until the \
verdict is clear. You may stop at any time (Ctrl-C): the verdict so far is valid, however often you look. A placement \
wins if it is proven better at the error rate and its estimate reaches the margin. A winner of less than a minute, or \
one whose runs may affect the next, is tried again by itself a minute later. docs/statistics.md explains how every \
number is computed.

Exit status: 0 a placement wins, or none is proven better by the margin; 1 not decided, a winner that was not tried \
again or did not win again, or nothing can be recommended; 2 wrong usage; 3 not permitted or not available here; \
4 internal error; 130 interrupted before a decision.";

/// Try a program on the placements of this machine, and show which one wins, if any
#[derive(Clone, Debug, Parser)]
#[command(override_usage = USAGE, after_help = AFTER)]
#[command(group(ArgGroup::new("services").args(["start", "parts"]).multiple(true).conflicts_with_all(["suite", "simulate", "resume", "again", "live"])))]
#[command(group(ArgGroup::new("live").args(["pid", "unit", "matches"]).multiple(true).conflicts_with_all(["threads", "metric_file", "vary", "follow", "timeout", "estimate_clock", "suite", "simulate", "resume"])))]
pub struct TryArguments {
    /// Placement to try, such as 'all - core:0', 'spread(4, llc)' or 0-3; may be repeated. `os` is the OS default,
    /// which is always tried. 'EcoQoS off' is the OS default with Windows' power throttling switched off [default: the
    /// placements of `corewise place --candidates`]
    #[arg(help_heading = "Placements and memory", long, value_name = "EXPR")]
    pub on: Vec<String>,
    /// Try cpus near this device and away from it, as the system reports them. Adds near(DEVICE) and !near(DEVICE) to
    /// the placements of --on, or to the planned ones. With roles, they apply to every role except `load` and `rest`.
    /// `corewise topology --devices` lists the devices
    #[arg(help_heading = "Placements and memory", long, value_name = "DEVICE", conflicts_with_all = ["threads", "resume", "again", "simulate"])]
    pub near: Option<String>,
    /// Run the command once, or leave the processes alone for 10 s, and watch which threads wake each other; try the placements
    /// that bring these together, besides the placements of --on or the planned ones. `corewise talk` shows the graph
    #[arg(help_heading = "Placements and memory", long, conflicts_with_all = ["services", "role", "variant", "suite", "simulate", "resume", "again", "dry_run"])]
    pub talk: bool,
    /// Compare variants of the program; may be repeated, and the first one is the baseline. NAME=COMMAND is a whole command line.
    /// With a COMMAND behind `--`, the text of a variant stands where COMMAND has {variant}; if it has none, the text sets
    /// variables: MALLOC_ARENA_MAX=4. Each variant runs on the OS default, and on each placement of --on. The variable
    /// COREWISE_VARIANT has its name, also in --prepare
    #[arg(help_heading = "Variants", long, value_name = "NAME=COMMAND", conflicts_with_all = ["threads", "live", "keep_started", "suite", "simulate", "resume", "again"])]
    pub variant: Vec<String>,
    /// End with status 0 only if this is proven, and with 1 otherwise: 'new not worse by 2%', 'new better by 3%', or 2% alone,
    /// for no candidate worse by 2 %. The percentage is the margin
    #[arg(help_heading = "Variants", long, value_name = "CONDITION", value_parser = parse_gate, conflicts_with_all = ["margin", "threads", "suite", "resume", "again"])]
    pub gate: Option<TypedGate>,
    /// Memory policy to try, as for `corewise run`: local, interleave:all, bind:0, preferred:0 or weighted:all; may be
    /// repeated. It is tried with the OS default and with each placement of --on, if that makes a difference. For a
    /// single placement: --on 'EXPR @ POLICY' [default: none; with planned placements on a machine with several memory
    /// nodes, the policies that `docs/trying.md` lists]
    #[arg(help_heading = "Placements and memory", long, value_name = "POLICY", value_parser = memory_policy, conflicts_with_all = ["threads", "resume", "again", "simulate", "pid", "unit", "matches"])]
    pub memory: Vec<MemoryPolicy>,
    /// Number of threads of the program; placements are planned with as many cpus. With a list such as 1,2,4,8, find
    /// the best number, the effect of pinning, and how the program scales (needs --threads-as or {threads})
    #[arg(help_heading = "Threads", long, value_name = "N,...", conflicts_with = "on", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=8_192))]
    pub threads: Vec<u32>,
    /// Environment variable that sets the program's number of threads, such as OMP_NUM_THREADS; or write {threads}
    /// in the command, or in that of a service (--start)
    #[arg(help_heading = "Threads", long, value_name = "VAR", requires = "threads")]
    pub threads_as: Vec<String>,
    /// Environment variable in which the program expects one cpu for each thread ("0,2,4"), such as GOMP_CPU_AFFINITY.
    /// Every number is then tried pinned, even with more threads than cpus. Not allowed with `--pinned no`
    #[arg(help_heading = "Threads", long, value_name = "VAR", requires = "threads")]
    pub pins_as: Vec<String>,
    /// Try each number of threads pinned to as many cpus as threads (yes), not pinned (no), or both [default: both]
    #[arg(help_heading = "Threads", long, value_name = "HOW", requires = "threads", hide_possible_values = true)]
    pub pinned: Option<PinnedName>,
    /// Number to compare, with its unit, from the last line of the output that contains it. NAME alone finds "NAME: 12.3
    /// ms", "NAME=12.3k", "metric NAME 12.3" and JSON's "NAME": 12.3; then a path of JSON (results.0.mean), a column of a
    /// table (its mean; 'p99(frametime)' and the like), and the number behind a cell. NAME=REGEX takes the number at the first group of a
    /// regular expression [default: wall time]
    #[arg(help_heading = "How it is judged", long, value_name = "NAME[=REGEX]")]
    pub metric: Option<String>,
    /// Read the metric and the guards from this file, which the program writes, instead of the output. The path is relative
    /// to the folder in which corewise is started. corewise removes the file before each run; of 'logs/*.csv' it removes none,
    /// and reads the newest that the run wrote. A run that does not write it has failed
    #[arg(help_heading = "How it is judged", long, value_name = "FILE")]
    pub metric_file: Option<String>,
    /// Run this in a shell before each block, to vary conditions that should not matter. The variable COREWISE_VARY has a
    /// random number: `make relink SEED=$COREWISE_VARY` gives the objects another order. Without --vary, the size of the
    /// environment varies, and so does the start of the stack
    #[arg(help_heading = "Command", long, value_name = "SCRIPT")]
    pub vary: Option<String>,
    /// Give the command this file as its standard input [default: no input]
    #[arg(help_heading = "Command", long, value_name = "FILE", conflicts_with_all = ["live", "suite", "simulate", "resume", "again"])]
    pub input: Option<String>,
    /// Give the command a terminal of its own, for programs that need one; its colours are left out. Linux only
    #[arg(help_heading = "Command", long, conflicts_with_all = ["live", "suite", "simulate", "resume", "again"])]
    pub tty: bool,
    /// Leave processes that outlive the command, such as the daemon of a build tool, instead of ending them. They stay on the
    /// placement of the run that started them, also after the session. Linux only
    #[arg(help_heading = "Command", long, conflicts_with_all = ["live", "follow", "suite", "simulate", "resume", "again"])]
    pub leave: bool,
    /// Run this in a shell before each run, without timing it: 'make clean', 'sync; echo 3 > /proc/sys/vm/drop_caches'
    #[arg(help_heading = "Command", long, value_name = "SCRIPT", conflicts_with_all = ["live", "suite", "simulate", "resume", "again"])]
    pub prepare: Option<String>,
    /// Exit statuses of a run that has not failed, such as 0,2 [default: 0]
    #[arg(help_heading = "Command", long, value_name = "STATUS", value_delimiter = ',', conflicts_with_all = ["live", "suite", "simulate", "resume", "again"])]
    pub ok: Vec<i32>,
    /// For launchers, such as of games: a run lasts until the process NAME, started by the command, ends
    #[arg(help_heading = "Command", long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub follow: Option<String>,
    /// Place this running process and its descendants instead of running a command; may be repeated. A trial is then a
    /// slot in which all threads are placed on one placement. All masks are restored at the end
    #[arg(help_heading = "Running processes", long, value_name = "PID", value_parser = process_number)]
    pub pid: Vec<u32>,
    /// Place the processes of this systemd unit, as with --pid
    #[arg(help_heading = "Running processes", long, value_name = "UNIT", value_parser = parse_unit)]
    pub unit: Option<String>,
    /// Place the matching processes, as in rules of `corewise keep`: 'exe=*/postgres'; may be repeated
    #[arg(help_heading = "Running processes", long = "match", value_name = "FIELD=PATTERN")]
    pub matches: Vec<String>,
    #[arg(help = sample_help(), help_heading = "Running processes", long, value_name = "SOURCE", requires = "live")]
    pub sample: Option<String>,
    /// Compare the increase per second of the metric, a counter that only grows [default: for names that end in _total]
    #[arg(help_heading = "Running processes", long, requires = "sample")]
    pub counter: bool,
    /// Duration of a slot's measurement, from 0.1s to 60s [default: found before the first slot]
    #[arg(help_heading = "Running processes", long, value_name = "DURATION", requires = "live", value_parser = duration_between("100ms", "60s"))]
    pub slot: Option<Duration>,
    /// Stop trying a placement at once, for the rest of the experiment, if this limit is exceeded in a slot:
    /// 'p99(latency_seconds) > 50ms'; may be repeated
    #[arg(help_heading = "Running processes", long, value_name = "LIMIT", requires = "live")]
    pub stop_if: Vec<String>,
    /// Show which threads or parts would get which cpus, and exit
    #[arg(help_heading = "Placements and memory", long, conflicts_with_all = ["csv", "markdown", "suite", "simulate", "resume"])]
    pub dry_run: bool,
    /// Start this service, NAME=COMMAND (in a shell), before the main command, which acts as its load; may be repeated.
    /// Each service has its own placement: --on 'server=0, load=1'. Every trial starts the services anew, on their cpus
    /// from the first instruction, and ends them
    #[arg(help_heading = "Services", long, value_name = "NAME=COMMAND")]
    pub start: Vec<String>,
    /// Shell command that succeeds once the service is ready: [NAME=]COMMAND; without NAME, for the last --start; may
    /// be repeated [default: the service has run for 0.5s]
    #[arg(help_heading = "Services", long, value_name = "COMMAND", requires = "services")]
    pub ready: Vec<String>,
    /// Maximum time until a service is ready [default: 30s]
    #[arg(help_heading = "Services", long, value_name = "DURATION", requires = "services", value_parser = duration_between("100ms", "24h"))]
    pub ready_within: Option<Duration>,
    /// Start the services once per session instead of for each trial; their threads move from placement to placement
    #[arg(help_heading = "Services", long, requires = "services")]
    pub keep_started: bool,
    /// Read the services, their threads, the command and the placements from this file (TOML)
    #[arg(help_heading = "Services", long, value_name = "FILE")]
    pub parts: Option<PathBuf>,
    /// Give threads with matching names their own placement; may be repeated. With --role io='^io-', --on 'io=0' places
    /// the threads with names that start with io-. This applies to the command, to services and to running processes. The other
    /// threads of the command are `load`, those of running processes `rest`
    #[arg(help_heading = "Services", long, value_name = "NAME=REGEX")]
    pub role: Vec<String>,
    /// Prefer higher values of the metric [default: from the name or unit: higher for fps, ops/s, score; lower for ms,
    /// latency, p99]
    #[arg(help_heading = "How it is judged", long, requires = "metric")]
    pub higher: bool,
    /// Prefer lower values of the metric
    #[arg(help_heading = "How it is judged", long, requires = "metric", conflicts_with = "higher")]
    pub lower: bool,
    /// Metric that must not get worse, written as for --metric; lower is better; may be repeated. A placement wins only
    /// once its guard is proven to be less than --guard-margin worse in typical runs and in the share of slow runs, which
    /// takes about 40 blocks
    #[arg(help_heading = "How it is judged", long, value_name = "NAME[=REGEX]")]
    pub guard: Vec<String>,
    /// Metric that must not get worse, as with --guard; higher is better; may be repeated
    #[arg(help_heading = "How it is judged", long, value_name = "NAME[=REGEX]")]
    pub guard_higher: Vec<String>,
    /// A guard may get worse by less than this, such as 5%; for slow runs, by fewer than 5 of 100 runs [default: 10%]
    #[arg(help_heading = "How it is judged", long, value_name = "PERCENT", value_parser = parse_percent)]
    pub guard_margin: Option<f64>,
    /// Statistic that decides: typical (median run), mean, or tail (share of slow runs). The other two are shown beside
    /// it. Numbers of threads and suites are always judged by typical runs [default: typical]
    #[arg(help_heading = "How it is judged", long, value_name = "WHAT", conflicts_with_all = ["threads", "suite"], hide_possible_values = true)]
    pub what: Option<QuestionName>,
    /// Count a run as slow if it costs more than this many times the median of the OS default [default: 1.5]
    #[arg(help_heading = "How it is judged", long, value_name = "TIMES", value_parser = parse_times)]
    pub slow: Option<f64>,
    /// For the mean, count a run as at most this many times the OS default's median; a failed run counts as exactly
    /// that [default: 3]
    #[arg(help_heading = "How it is judged", long, value_name = "TIMES", value_parser = parse_times)]
    pub cap: Option<f64>,
    /// Smallest difference that matters, such as 3% [default: 3%; 10% for the mean, and for a metric named like a tail,
    /// such as p99 or max; 3 of 100 runs for slow runs]
    #[arg(help_heading = "How it is judged", long, value_name = "PERCENT", value_parser = parse_percent)]
    pub margin: Option<f64>,
    /// False-positive rate, such as 5% [default: 5%]
    #[arg(help_heading = "How it is judged", long, value_name = "PERCENT", value_parser = parse_percent)]
    pub error_rate: Option<f64>,
    /// After a placement has won, run it and the OS default again in long stretches of runs. The first quarter of each
    /// stretch does not count. This finds effects that build up over several runs, such as heat [default: short stretches,
    /// a minute after the experiment began, unless the winner is proven to last]
    #[arg(help_heading = "How it is judged", long, conflicts_with_all = ["threads", "suite"])]
    pub confirm: bool,
    /// Do not try a winner again: end with the answer so far. The exit status is then 1, unless the winner is proven to
    /// last
    #[arg(help_heading = "How it is judged", long, conflicts_with = "confirm")]
    pub no_confirm: bool,
    /// Maximum duration, such as 90s or 5m [default: until it is decided, at most 60 blocks, 100 with guards, or 200 if
    /// the mean or slow runs decide]
    #[arg(help_heading = "How it ends", long, value_name = "DURATION", value_parser = parse_budget)]
    pub budget: Option<Duration>,
    /// End if all remaining placements look worse and this much time was spent on such placements [default for running
    /// processes: half of the budget]
    #[arg(help_heading = "How it ends", long, value_name = "DURATION", value_parser = parse_budget, conflicts_with_all = ["threads", "suite"])]
    pub worse_at_most: Option<Duration>,
    /// With --resume: make more runs in this boot of the machine, also of a decided experiment. A winner is one only so
    /// far until there are runs in this many boots
    #[arg(help_heading = "How it ends", long, value_name = "N", requires = "resume", conflicts_with = "suite", value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub boots: Option<u32>,
    /// Maximum number of runs over all sessions; the warm-up of each placement does not count
    #[arg(help_heading = "How it ends", long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs_max: Option<u32>,
    /// Make exactly this many blocks and end with status 0, whatever they prove: `fleet try` judges them with other nodes' blocks
    #[arg(hide = true, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), conflicts_with_all = ["threads", "suite", "live", "resume", "again", "simulate", "boots", "runs_max", "gate", "confirm"])]
    pub blocks: Option<u32>,
    /// End a run that takes longer than this, such as 30s, and count it as failed [default: never]
    #[arg(help_heading = "How it ends", long, value_name = "DURATION", value_parser = duration_between("1ms", "24h"))]
    pub timeout: Option<Duration>,
    /// Let the machine rest this long before each trial, such as 1s or 0s [default: a tenth of a trial, from 0.02s to 2s]
    #[arg(help_heading = "Command", long, value_name = "DURATION", value_parser = duration_between("0s", "1h"), env = "COREWISE_REST", hide_env = true)]
    pub rest: Option<Duration>,
    /// Repeat the command until a trial takes this long, such as 1s or 20ms, and average its runs [default: 0.2s; one
    /// run if slow runs decide]
    #[arg(help_heading = "Command", long, value_name = "DURATION", value_parser = duration_between("1ms", "1s"), env = "COREWISE_TRIAL_TIME", hide_env = true)]
    pub trial_time: Option<Duration>,
    /// Estimate each run's clock rate if cycles cannot be counted (in virtual machines, or without permission), by
    /// running a 1 ms probe on its cpus from time to time. It costs up to 2 % of a run shorter than 0.2 s, and 0.3 % of
    /// one cpu in longer runs
    #[arg(help_heading = "Command", long, conflicts_with = "simulate")]
    pub estimate_clock: bool,
    #[arg(help = suite_help(), help_heading = "Suites, stored and simulated experiments", long, value_name = "SUITE", conflicts_with_all = ["threads", "follow", "role", "metric", "metric_file", "vary", "guard", "guard_higher", "timeout", "simulate", "command"])]
    pub suite: Option<String>,
    /// Print the command that installs the suite's programs, and exit
    #[arg(help_heading = "Suites, stored and simulated experiments", long, requires = "suite", conflicts_with_all = ["resume", "csv", "markdown", "json"])]
    pub install: bool,
    /// Continue experiment N, or the latest of this machine if N is left out; with --suite, the suite's last session
    #[arg(help_heading = "Suites, stored and simulated experiments", long, value_name = "N", num_args = 0..=1, require_equals = true, conflicts_with_all = ["on", "follow", "role", "threads", "metric", "metric_file", "vary", "guard", "guard_higher", "guard_margin", "what", "slow", "cap", "margin", "error_rate", "timeout", "seed", "command"])]
    pub resume: Option<Option<i64>>,
    /// Repeat this stored experiment from its beginning, with its command, metric, guards and margin. Its placement
    /// expressions are resolved again on this machine, unless --on names others. Its running processes are used, unless
    /// --pid, --unit or --match name others
    #[arg(help_heading = "Suites, stored and simulated experiments", long, value_name = "N", conflicts_with_all = ["threads", "follow", "role", "metric", "metric_file", "vary", "guard", "guard_higher", "guard_margin", "what", "slow", "cap", "margin", "error_rate", "timeout", "resume", "suite", "simulate", "command"])]
    pub again: Option<i64>,
    /// Run one experiment on a simulated program with the true effects in this file (TOML): gains = [0.05, 0.0], noise =
    /// "typical". Nothing is stored
    #[arg(help_heading = "Suites, stored and simulated experiments", long, value_name = "FILE", conflicts_with_all = ["on", "follow", "role", "threads", "metric", "metric_file", "vary", "guard", "guard_higher", "timeout", "resume", "suite", "command"])]
    pub simulate: Option<PathBuf>,
    /// Seed of the random orders [default: from the clock]
    #[arg(help_heading = "Suites, stored and simulated experiments", long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print one line of comma-separated values per run; the `notes` of the first run are the caveats
    #[arg(help_heading = "Output and history", long, conflicts_with_all = ["markdown", "json"])]
    pub csv: bool,
    /// Print the result as Markdown, with its caveats
    #[arg(help_heading = "Output and history", long, conflicts_with = "json")]
    pub markdown: bool,
    /// Write a self-contained SVG picture of how the program scales with --threads; replaces an existing file
    #[arg(help_heading = "Output and history", long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// If a placement wins, keep it under this name for programs that place their own threads: corewise::proven(NAME)
    #[arg(help_heading = "Output and history", long, value_name = "NAME", value_parser = parse_proof_name, conflicts_with_all = ["threads", "suite", "simulate", "resume", "dry_run", "no_store"])]
    pub prove: Option<String>,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required_unless_present_any = ["variant", "parts", "resume", "again", "simulate", "suite", "pid", "unit", "matches"], trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

fn suite_help() -> String {
    let built_in = one_of(&BUILT_IN.map(|(name, _)| name));
    format!(
        "Try the benchmarks of a suite, a file (TOML) or a built-in one ({built_in}), and show a table with a row for each"
    )
}

fn sample_help() -> String {
    let [rate, cpu_time, run_delay] = MetricWord::ALL.map(MetricWord::word);
    format!(
        "Source of the metrics of running processes: a command, such as 'redis-cli info stats', or a page in Prometheus' text \
         format, such as http://localhost:9113/metrics. With it, --metric also understands {rate}(NAME), p99(HISTOGRAM), \
         NAME{{label=\"value\"}} and {cpu_time}(NAME). {run_delay} and {cpu_time} need no source"
    )
}

/// Statistic that decides, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QuestionName {
    /// The typical run.
    Typical,
    /// The mean of all runs.
    Mean,
    /// The number of slow runs.
    Tail,
}

impl From<QuestionName> for QuestionKind {
    fn from(asked: QuestionName) -> Self {
        match asked {
            QuestionName::Typical => Self::Typical,
            QuestionName::Mean => Self::Mean,
            QuestionName::Tail => Self::Tail,
        }
    }
}

/// Pinning of threads that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PinnedName {
    /// Threads run on the OS default.
    No,
    /// Threads are pinned to as many cpus.
    Yes,
    /// Both in turn.
    Both,
}

impl From<PinnedName> for ThreadPinning {
    fn from(pinned: PinnedName) -> Self {
        match pinned {
            PinnedName::No => Self::No,
            PinnedName::Yes => Self::Yes,
            PinnedName::Both => Self::Both,
        }
    }
}

/// A gate as typed, with its margin.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedGate {
    /// The condition.
    pub gate: ExperimentGate,
    /// The margin: 0.02 is 2 %.
    pub margin: f64,
}

/// Parses "new not worse by 2%", "better by 3%" or "2%".
fn parse_proof_name(text: &str) -> Result<String, String> {
    let is_name = is_proof_name(text);
    is_name.then(|| text.to_owned()).ok_or_else(|| "expected letters, digits, `.`, `_` and `-`, at most 64".to_owned())
}

fn parse_gate(text: &str) -> Result<TypedGate, String> {
    const RULES: [(&str, GateRule); 2] = [("not worse by ", GateRule::NotWorse), ("better by ", GateRule::Better)];
    let split = |(words, rule): (&str, GateRule)| {
        let (name, margin) = text.rsplit_once(words)?;
        Some((name.trim().to_owned(), rule, margin.to_owned()))
    };
    let (name, rule, margin) =
        RULES.into_iter().find_map(split).unwrap_or((String::new(), GateRule::NotWorse, text.to_owned()));
    let margin = parse_percent(margin.trim()).map_err(|_| {
        "expected 'NAME not worse by 2%', 'NAME better by 3%' or 2%, without NAME for every candidate".to_owned()
    })?;
    Ok(TypedGate { gate: ExperimentGate { rule, of: Some(name).filter(|name| !name.is_empty()) }, margin })
}

fn memory_policy(text: &str) -> Result<MemoryPolicy, String> {
    text.parse().map_err(|error: corewise_machine::placement::memory::MemoryError| error.to_string())
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
    fn gates_are_sentences() {
        let gate = |text: &str| parse_gate(text).map(|typed| (typed.gate.rule, typed.gate.of, typed.margin)).ok();
        let new = || Some("new".to_owned());
        assert_eq!(gate("new not worse by 2%"), Some((GateRule::NotWorse, new(), 0.02)));
        assert_eq!(gate("new better by 3 %"), Some((GateRule::Better, new(), 0.03)));
        assert_eq!(
            [gate("2%"), gate("not worse by 2%")],
            [Some((GateRule::NotWorse, None, 0.02)), Some((GateRule::NotWorse, None, 0.02))]
        );
        assert_eq!([gate("new worse by 2%"), gate("new"), gate("better by"), gate("")], [None, None, None, None]);
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
