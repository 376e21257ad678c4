//! Arguments of `fleet`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use super::engine_arguments::FleetEngineArguments;
use super::r#try::arguments::FleetTryArguments;
use crate::app::option_values::parse_budget;

/// The end of `fleet --help`.
const AFTER: &str = "Examples:
  corewise fleet survey --slurm                          visits every node of the default partition
  corewise fleet survey --slurm -p gpu -w 'n[0-63]'      visits these nodes
  corewise fleet survey --hosts hosts.txt --copy         the same over ssh; hosts without corewise get it
  corewise fleet try --slurm -N 16 --on llc:0 -- ./app   one experiment over 16 nodes
  corewise fleet                                         shows the latest fleet
  corewise fleet add visits/*.json                       judges visits that were made by other means
  corewise fleet manifest --nodes 40 > job.yaml          a Kubernetes job that makes the visits

A fleet is judged by comparing machines of one model with each other. docs/fleets.md says how, and what is written where.

Exit status: 0 done   1 `try` is not decided, or only for a part of the nodes   2 wrong usage   3 not permitted, or not available here   130 interrupted, partial results were printed";

/// Compare the machines of a cluster: which are slow, and which are set up differently
#[derive(Clone, Debug, Parser)]
#[command(after_help = AFTER)]
pub struct FleetArguments {
    /// Command; shows the latest fleet by default.
    #[command(subcommand)]
    pub command: Option<FleetCommand>,
}

/// A command of `fleet`.
#[derive(Clone, Debug, Subcommand)]
pub enum FleetCommand {
    /// Visit every machine by Slurm or over ssh, some of them again, and show what they are like
    Survey(FleetSurveyArguments),
    /// Try a program on placements of many machines: what is proven for their kind, for these nodes, and for single nodes
    Try(Box<FleetTryArguments>),
    /// Make a fleet of visits that were made by other means
    Add(FleetAddArguments),
    /// Show the latest fleet, or another one
    Report(FleetReportArguments),
    /// Print a Kubernetes job that visits machines
    Manifest(FleetManifestArguments),
    /// Measure this machine quickly and print one visit as JSON of at most 4 KB. The other commands run it on each machine
    Visit(FleetVisitArguments),
}

impl Default for FleetCommand {
    fn default() -> Self {
        Self::Report(FleetReportArguments { number: None, openmetrics: false })
    }
}

/// Arguments of `fleet report`.
#[derive(Clone, Debug, Args)]
pub struct FleetReportArguments {
    /// Number of the fleet, as `history` shows it [default: the latest]
    #[arg(value_name = "N")]
    pub number: Option<i64>,
    /// Print one series for each node and quantity, as text of OpenMetrics
    #[arg(long, conflicts_with = "json")]
    pub openmetrics: bool,
}

/// Arguments of `fleet survey`.
#[derive(Clone, Debug, Args)]
pub struct FleetSurveyArguments {
    /// How nodes are reached.
    #[command(flatten)]
    pub engine: FleetEngineArguments,
    /// Maximum duration of one visit, such as 30s
    #[arg(help_heading = "Measurement", long, value_name = "DURATION", value_parser = parse_budget, default_value = "30s")]
    pub budget: Duration,
    /// Visits of every node at least; a later comparison with another fleet needs more than two
    #[arg(help_heading = "Measurement", long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=24), default_value_t = 2)]
    pub visits: u8,
    /// The seed of the random order of visits [default: from the clock]
    #[arg(help_heading = "Measurement", long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Arguments of `fleet visit`.
#[derive(Clone, Debug, Args)]
pub struct FleetVisitArguments {
    /// Measuring time, such as 30s; memory is measured from 10s. Setting up and evaluating come on top: 1s or 2s, more on a busy machine
    #[arg(long, value_name = "DURATION", value_parser = parse_budget, default_value = "30s")]
    pub budget: Duration,
    /// Name of this machine in the fleet: letters, digits and . - _ : @ [default: Slurm's name of the node, or the host's name]
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Rack of this machine, named with the same characters
    #[arg(long, value_name = "NAME")]
    pub rack: Option<String>,
}

/// Arguments of `fleet add`.
#[derive(Clone, Debug, Args)]
pub struct FleetAddArguments {
    /// Files with visits: one a file, or one a line, with the node's name and a colon before it as pdsh prints it; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// Arguments of `fleet manifest`.
#[derive(Clone, Debug, Args)]
pub struct FleetManifestArguments {
    /// Number of machines to visit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), default_value_t = 8)]
    pub nodes: u32,
    /// Image of a container that has corewise and a shell
    #[arg(long, value_name = "IMAGE", default_value = concat!("corewise:", env!("CARGO_PKG_VERSION")))]
    pub image: String,
    /// Maximum duration of one visit, such as 30s
    #[arg(long, value_name = "DURATION", value_parser = parse_budget, default_value = "30s")]
    pub budget: Duration,
}
