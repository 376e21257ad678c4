//! What was typed behind `place`.

use clap::Parser;
use clap::builder::PossibleValuesParser;
use corewise_model::placement::notation::Notation;

use crate::shell::machine::MachineArguments;

/// The placement language in one screen.
const LANGUAGE: &str = "The placement language:
  0,2,4-7   0-31:2   0x55             cpus by the system's numbers: a list, a stride, a mask
  core:0-3  cluster:1  llc:0  die:0   objects of a level, as `corewise topology` counts them;
  node:1  package:0  llc:last         also all, even, odd
  llc:1.core:0-3   core:all.cpu:0     nested objects: the first four cores of llc:1
  all  online  one-per-core  with-memory  isolated  performance  efficiency  low-power
  vcache  frequency  quiet            names; quiet comes from the latest survey,
  cheap-memory                        this one from the latest map of memory (`corewise memory`)
  spread(4, cluster)  pack(4, llc)    4 cpus over as many, or as few, objects as possible
  spread(4, core, llc:0)              only among these cpus
  near(eth0)  near(nvme0n1)  near(gpu:0)  near(pci:0000:41:00.0)   the cpus of a device's node
  best(4, worth)   best(4, worth, a)  the 4 that are worth most now, as `corewise worth` shows them
  a + b   a - b   a & b   !a   ( )    union, without, both, all but; left to right

Examples:
  corewise place 'all - core:0'                      all cpus except the first core's threads
  corewise place --machine fx-8150 'spread(4, cluster)'
  corewise place --as windows 'vcache - 0'           for start /affinity
  corewise place --from taskset 55                   what another tool's notation means
  corewise place --candidates --threads 4            placements worth trying with 4 threads";

/// Show which cpus an expression selects, and how other tools write it
#[derive(Clone, Debug, Parser)]
#[command(name = "place", after_help = LANGUAGE)]
pub struct PlaceArguments {
    /// The placement, such as 'llc:0', 'all - core:0' or 'spread(4, cluster)'; with --from, in another tool's notation
    #[arg(value_name = "EXPR", required_unless_present = "candidates")]
    pub expression: Vec<String>,
    /// List the placements worth trying here, each with its reason and the number of equivalent ones
    #[arg(long, conflicts_with_all = ["expression", "notation", "from"])]
    pub candidates: bool,
    /// With --candidates: for a program with this many threads
    #[arg(long, value_name = "N", requires = "candidates", conflicts_with = "expression", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub threads: Option<u32>,
    /// Print only one notation, for scripts: list, hex, binary, decimal, taskset, numactl, hwloc, likwid, systemd,
    /// cgroup, docker, kubernetes, slurm, openmp, libvirt, cmdline, windows, powershell, lasso, json
    #[arg(long = "as", value_name = "NOTATION", value_parser = notation_names(true), ignore_case = true, hide_possible_values = true)]
    pub notation: Option<String>,
    /// Read EXPR in the notation of another tool, such as `place --from taskset 55`; put the tool's options after `--`
    #[arg(long, value_name = "NOTATION", value_parser = notation_names(false), ignore_case = true, hide_possible_values = true)]
    pub from: Option<String>,
    /// The machine to use.
    #[command(flatten)]
    pub machine: MachineArguments,
}

/// The names of the notations: all that can be printed, JSON among them, or those that can be read.
fn notation_names(to_print: bool) -> PossibleValuesParser {
    let notations = Notation::ALL.into_iter().filter(move |notation| to_print || notation.is_readable());
    PossibleValuesParser::new(notations.map(Notation::name).chain(to_print.then_some("json")))
}
