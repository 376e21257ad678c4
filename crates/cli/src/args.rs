//! What was typed: the command line, before it is known what it means here.

mod article;
mod experiment;
mod irq;
mod links;
mod run;
mod tail;
mod tip;
mod workload;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use corewise_model::CpuSet;
use corewise_model::placement::notation::Notation;
use jiff::SignedDuration;

use crate::output::{say, written};
use crate::view::text::printable_lines;
use article::AFTER as ARTICLE_AFTER;
pub use article::ArticleArguments;
use experiment::{AFTER as TRY_AFTER, USAGE as TRY_USAGE};
pub use experiment::{Pinned, TryArguments};
use irq::AFTER as IRQ_AFTER;
pub use irq::IrqArguments;
use links::AFTER as LINKS_AFTER;
pub use links::{FormatName, KindName, LinksArguments, LinksCommand, OrderName, SlotsName};
use run::{AFTER as RUN_AFTER, USAGE as RUN_USAGE, beginning_with_run};
pub use run::{EnforcementName, RunArguments};
pub use tail::TailArguments;
use tail::{AFTER as TAIL_AFTER, USAGE as TAIL_USAGE};
pub use tip::{in_shell, words_in_shell};
use workload::AFTER as WORKLOAD_AFTER;
pub use workload::{ByName, SplitName, Switch, ViaName, WorkloadArguments, WorkloadCommand};

/// The shortest and the longest budget of a survey that make sense, in seconds.
const BUDGET_SECONDS: std::ops::RangeInclusive<i64> = 1..=86_400;

/// On which CPUs should this program run, and does it matter at all?
///
/// Without a command, corewise surveys this machine: what its CPUs are, how they differ, and what that means.
#[derive(Debug, Parser)]
#[command(name = "corewise", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Arguments {
    /// The command; `survey` where there is none.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The options of `survey`, which need no command.
    #[command(flatten)]
    pub survey: SurveyArguments,
    /// The options that every command has.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Arguments {
    /// The command line of this process. Where there is a mistake in it, or help is asked for, this says so and ends the
    /// process.
    pub fn of_this_process() -> Self {
        let words: Vec<OsString> = std::env::args_os().collect();
        let parsed = beginning_with_run(&words).unwrap_or_else(|| Self::try_parse_from(&words));
        parsed.unwrap_or_else(|error| end(&tip::with_whole_line(error, &words)))
    }
}

/// Says what is wrong with the command line, or the help that was asked for, and ends the process.
fn end(message: &clap::Error) -> ! {
    // Where a mistake is repeated that could steer the terminal, clap's colours are given up.
    let steers = |word: OsString| word.to_string_lossy().contains(|c: char| c.is_control() && c != '\n');
    if message.use_stderr() && std::env::args_os().any(steers) {
        say(&printable_lines(message.render().to_string().trim_end()));
        std::process::exit(message.exit_code());
    }
    match written(message.print()) {
        Err(failure) if !message.use_stderr() => {
            say(&failure);
            std::process::exit(failure.exit as i32)
        }
        _ => std::process::exit(message.exit_code()),
    }
}

const EXAMPLES: &str = "Examples:
  corewise                       survey this machine (30 s up to 32 cpus)
  corewise --quick               the same in 5 s, with wider uncertainty
  corewise topology              packages, nodes, caches, cores and cpus
  corewise place 'all - core:0'  which cpus that is, in every tool's notation
  corewise try -- ./app          which placement of ./app wins, if any
  corewise run --on llc:0 -- ./app   run ./app on the cpus of the first last-level cache
  corewise tail --explain        how long each cpu stalls, and who causes it
  corewise links                 what talking between any two cpus costs, and which belong together
  corewise history compare 3 7   what changed between two surveys
  corewise doctor                what cannot be measured here, and why

Exit status:
  0 done   1 try: not decided   2 wrong usage   3 not permitted, or not available here
  4 internal error   130 interrupted, what there was is shown";

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure every cpu and the links between them, and say how they differ [default]
    Survey(SurveyArguments),
    /// Show the machine's levels: packages, nodes, dies, caches, clusters, cores, cpus
    Topology(TopologyArguments),
    /// Say which cpus a placement is: drawn, counted, and in the words of other tools
    #[command(after_help = LANGUAGE)]
    Place(PlaceArguments),
    /// Try a program on the placements of this machine: which one wins, or does it matter at all
    #[command(name = "try", override_usage = TRY_USAGE, after_help = TRY_AFTER)]
    Try(Box<TryArguments>),
    /// Run a command on cpus of your choice: with its memory, thread by thread, held there if need be
    #[command(override_usage = RUN_USAGE, after_help = RUN_AFTER)]
    Run(RunArguments),
    /// How long each cpu stalls, how often, and who causes it
    #[command(override_usage = TAIL_USAGE, after_help = TAIL_AFTER)]
    Tail(TailArguments),
    /// Measure what talking between cpus costs: heat map, cost classes, groups
    #[command(after_help = LINKS_AFTER)]
    Links(Box<LinksArguments>),
    /// Make the experiment of a published article on this machine, with better method
    #[command(after_help = ARTICLE_AFTER)]
    Article(ArticleArguments),
    /// Run a built-in workload, which checks its own result: something to try placements on
    #[command(after_help = WORKLOAD_AFTER)]
    Workload(Box<WorkloadArguments>),
    /// Show which cpus each device's interrupts go to, and move them away from some
    #[command(after_help = IRQ_AFTER)]
    Irq(IrqArguments),
    /// Write a recording of this machine's topology, to be shown elsewhere with `topology --machine`
    Record(RecordArguments),
    /// List, show and compare the stored surveys
    History(HistoryArguments),
    /// List what cannot be measured here, why, and what would change that
    Doctor,
    /// Take back what a corewise that crashed has changed on this machine, and what `irq` has moved
    Undo(UndoArguments),
    /// Print the JSON schema of an output, or the names of all
    #[command(hide = true)]
    Schema(SchemaArguments),
}

/// Options of `survey`.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct SurveyArguments {
    /// Take 5 s (more above 32 cpus); the uncertainty is wider
    #[arg(long, conflicts_with = "budget")]
    pub quick: bool,
    /// How long the survey may take, such as 30s or 2m [default: 30s, more above 32 cpus]
    #[arg(long, value_name = "DURATION", value_parser = parse_budget)]
    pub budget: Option<Duration>,
    /// The seed of the random orders, to repeat a survey's schedule [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Survey these cpus only, such as 0-3,8; isolated ones too
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<CpuSet>,
}

/// Options of `topology`.
#[derive(Clone, Debug, Args)]
pub struct TopologyArguments {
    /// The machine to show.
    #[command(flatten)]
    pub machine: MachineArguments,
}

/// The machine that a command plans for; flattened into every command that changes nothing on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct MachineArguments {
    /// Another machine: a name or part of one (`corewise topology --machine list` shows all), a machine file (.toml), or
    /// a recording: a folder or archive, as `record` and hwloc write them [default: this machine]
    #[arg(long, value_name = "NAME|FILE", visible_alias = "root")]
    pub machine: Option<PathBuf>,
}

/// Options of `place`.
#[derive(Clone, Debug, Args)]
pub struct PlaceArguments {
    /// The placement, such as 'llc:0', 'all - core:0' or 'spread(4, cluster)'; with --from, what another tool would take
    #[arg(value_name = "EXPR", required_unless_present = "candidates")]
    pub expression: Vec<String>,
    /// List the placements that are worth trying here instead, each with its reason and with how many others it stands for
    #[arg(long, conflicts_with_all = ["expression", "notation", "from"])]
    pub candidates: bool,
    /// With --candidates: those of a program with so many threads
    #[arg(long, value_name = "N", requires = "candidates", conflicts_with = "expression", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub threads: Option<u32>,
    /// Print one notation alone, for scripts: list, hex, binary, decimal, taskset, numactl, hwloc, likwid, systemd, cgroup,
    /// docker, kubernetes, slurm, openmp, libvirt, cmdline, windows, powershell, json
    #[arg(long = "as", value_name = "NOTATION", value_parser = notation_names(true), ignore_case = true, hide_possible_values = true)]
    pub notation: Option<String>,
    /// Read EXPR in the notation of another tool: `place --from taskset 55`; options of the tool after `--`
    #[arg(long, value_name = "NOTATION", value_parser = notation_names(false), ignore_case = true, hide_possible_values = true)]
    pub from: Option<String>,
    /// The machine that it is about.
    #[command(flatten)]
    pub machine: MachineArguments,
}

/// The names of the notations: all that can be printed, JSON among them, or those that can be read.
fn notation_names(to_print: bool) -> PossibleValuesParser {
    let notations = Notation::ALL.into_iter().filter(move |notation| to_print || notation.is_readable());
    PossibleValuesParser::new(notations.map(Notation::name).chain(to_print.then_some("json")))
}

/// The placement language in one screen.
const LANGUAGE: &str = "The placement language:
  0,2,4-7   0-31:2   0x55             cpus by the system's numbers: a list, a stride, a mask
  core:0-3  cluster:1  llc:0  die:0   objects of a level, as `corewise topology` counts them;
  node:1  package:0  llc:last         also all, even, odd
  llc:1.core:0-3   core:all.cpu:0     objects in others: the first four cores of llc:1
  all  online  one-per-core  with-memory  isolated  performance  efficiency  low-power
  vcache  frequency  quiet            names; quiet is what the latest survey says
  spread(4, cluster)  pack(4, llc)    4 cpus over as many, or as few, objects as will hold them
  spread(4, core, llc:0)              among some cpus only
  a + b   a - b   a & b   !a   ( )    union, without, both, all but; left to right

Examples:
  corewise place 'all - core:0'                      all but both threads of the first core
  corewise place --machine fx-8150 'spread(4, cluster)'
  corewise place --as windows 'vcache - 0'           for start /affinity
  corewise place --from taskset 55                   what another tool's text means
  corewise place --candidates --threads 4            what is worth trying with 4 threads";

/// Options of `record`.
#[derive(Clone, Debug, Args)]
pub struct RecordArguments {
    /// The file to write; it must not exist yet. `-` writes to standard output, where that is no terminal
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How to pack it [default: as the file's name ends (.tar, .tar.gz, .tgz), else xz; tar for `-`]
    #[arg(long, value_enum, ignore_case = true, value_name = "HOW")]
    pub packing: Option<PackingName>,
}

/// How a recording is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PackingName {
    /// A plain tar.
    Tar,
    /// A tar in gzip.
    Gzip,
    /// A tar in xz.
    Xz,
}

/// Options of `history`.
#[derive(Clone, Debug, Args)]
pub struct HistoryArguments {
    /// What to do; `list` where nothing is said.
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
    /// Show a stored experiment (`corewise try`) again; its verdict is computed anew from its runs
    Experiment {
        /// The experiment's number, as `history list` shows it
        #[arg(value_name = "N")]
        number: i64,
        /// Print every run as a line of comma-separated values
        #[arg(long, conflicts_with = "markdown")]
        csv: bool,
        /// Print the result as Markdown
        #[arg(long)]
        markdown: bool,
        /// Draw how it scales with numbers of threads into a file, as an SVG picture that needs nothing else; a file that is
        /// there is replaced
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
    /// Say what changed between two stored surveys
    Compare {
        /// The number of the earlier survey
        #[arg(value_name = "N")]
        before: i64,
        /// The number of the later survey
        #[arg(value_name = "M")]
        after: i64,
    },
}

/// Options of `undo`.
#[derive(Clone, Debug, Args)]
pub struct UndoArguments {
    /// Show what would be taken back, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Options of `schema`.
#[derive(Clone, Debug, Args)]
pub struct SchemaArguments {
    /// The schema to print, such as `survey`; the names of all where none is given
    pub name: Option<String>,
}

/// Options that every command has.
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
    /// When to use colour; NO_COLOR is respected
    #[arg(
        long,
        global = true,
        value_enum,
        ignore_case = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    pub color: When,
    /// Fit the output to so many columns [default: the terminal's width, or 80]
    #[arg(long, global = true, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(20..=1000))]
    pub width: Option<u16>,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// A duration with its unit; nothing for what is none, or less than nothing.
fn duration(text: &str) -> Option<Duration> {
    Duration::try_from(text.parse::<SignedDuration>().ok()?).ok()
}

fn parse_budget(text: &str) -> Result<Duration, String> {
    let duration =
        duration(text).ok_or_else(|| "expected a duration with its unit, such as 30s, 2m or 1m30s".to_owned())?;
    let known = Some(duration).filter(|duration| BUDGET_SECONDS.contains(&(duration.as_secs() as i64)));
    known.ok_or_else(|| "expected a duration between 1s and 24h".to_owned())
}

fn parse_cpus(text: &str) -> Result<CpuSet, String> {
    let cpus = CpuSet::parse_list(text).map_err(|error| error.to_string())?;
    if cpus.is_empty() { Err("expected at least one cpu, such as 0-3,8".to_owned()) } else { Ok(cpus) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_holds_together() {
        use clap::CommandFactory as _;
        Arguments::command().debug_assert();
    }

    #[test]
    fn budgets_have_a_unit_and_sense() {
        assert_eq!(parse_budget("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_budget("0.5s"), Err("expected a duration between 1s and 24h".to_owned()));
        assert!(parse_budget("30").is_err() && parse_budget("-5s").is_err() && parse_budget("soon").is_err());
    }
}
