//! Arguments of `place`.

use clap::Parser;
use clap::builder::PossibleValuesParser;
use corewise_machine::placement::language_table;
use corewise_machine::placement::notation::{Notation, RankForm};

use crate::app::machine::MachineArguments;

const EXAMPLES: &str = "Examples:
  corewise place 'all - core:0'                      all cpus except the first core's threads
  corewise place --machine fx-8150 'spread(4, cluster)'
  corewise place --as windows 'vcache - 0'           for start /affinity
  corewise place --from taskset 55                   the cpus of another tool's notation
  corewise place llc:1 --who                         which processes may run there, and who did just now
  corewise place --from auto -- 'CPUAffinity=0-3 8'  the cpus of any text that another tool writes or reads
  corewise place --from auto FILE                    the same of a file; - is standard input
  corewise place one-per-core --ranks 2 --as vllm    the cpus of each rank of a program
  corewise place --candidates --threads 4            placements worth trying with 4 threads";

/// Returns the end of `place --help`: the placement language in one screen, and examples.
fn end_of_help() -> String {
    format!("The placement language:\n{}\n\n{EXAMPLES}", language_table(2))
}

/// Show which cpus an expression selects, and how other tools write it
#[derive(Clone, Debug, Parser)]
#[command(after_help = end_of_help())]
pub struct PlaceArguments {
    /// Placement, such as 'llc:0', 'all - core:0' or 'spread(4, cluster)'; with --from, in another tool's notation
    #[arg(value_name = "EXPR", required_unless_present_any = ["candidates", "ranks"])]
    pub expression: Vec<String>,
    /// List the placements worth trying here, each with its reason and the number of equivalent ones
    #[arg(long, conflicts_with_all = ["expression", "notation", "from"])]
    pub candidates: bool,
    /// List candidates for a program with this many threads
    #[arg(long, value_name = "N", requires = "candidates", conflicts_with = "expression", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub threads: Option<u32>,
    /// Divide the cpus of EXPR, or all, among this many ranks: disjoint parts of whole cores. `--as vllm`, omp, numactl,
    /// rankfile and torchrun print them for launchers
    #[arg(long, value_name = "N", conflicts_with_all = ["candidates", "from", "who"], value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub ranks: Option<u32>,
    /// With --ranks: give each rank cpus near the GPU of its number
    #[arg(long, value_name = "DEVICE", requires = "ranks", value_parser = ["gpu"])]
    pub near: Option<String>,
    /// Print only one notation, for scripts
    #[arg(long = "as", value_name = "NOTATION", value_parser = notation_names(true), ignore_case = true)]
    pub notation: Option<String>,
    /// Read EXPR in the notation of another tool, such as `place --from taskset 55`; put the tool's options after `--`.
    /// `auto` recognizes the notation, and asks back if there are several
    #[arg(long, value_name = "NOTATION|auto", value_parser = notation_names(false), ignore_case = true, hide_possible_values = true)]
    pub from: Option<String>,
    /// Show which processes and rules may run there, and who did in the last second
    #[arg(long, conflicts_with_all = ["candidates", "notation", "from", "machine"])]
    pub who: bool,
    /// The machine to use.
    #[command(flatten)]
    pub machine: MachineArguments,
}

/// Word of `--from` that asks to recognize the notation.
pub const RECOGNIZED: &str = "auto";

/// Returns the parser of the names of notations, and of `auto` for reading.
fn notation_names(to_print: bool) -> PossibleValuesParser {
    let names = Notation::ALL.into_iter().map(Notation::word);
    let is_other = |word: &&str| Notation::ALL.into_iter().all(|notation| notation.word() != *word);
    let of_ranks = RankForm::ALL.into_iter().map(RankForm::word).filter(is_other).filter(|_| to_print);
    PossibleValuesParser::new(names.chain(of_ranks).chain((!to_print).then_some(RECOGNIZED)))
}
