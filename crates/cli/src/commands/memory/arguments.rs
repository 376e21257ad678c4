//! Arguments of `memory`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::app::option_values::{parse_budget, size_bytes};

/// The end of `memory --help`.
const AFTER: &str = "Examples:
  corewise memory                             latency by working set, latency and bandwidth of each node, latency under load
  corewise memory --budget 5m                 the same on a large machine, with narrower intervals
  corewise memory --format svg > m.svg        the heat map as a picture: latency of each node for each group of cpus
  corewise memory --format hwloc > m.xml      for hwloc: lstopo --input m.xml --memattrs
  corewise memory --simulate threadripper-2990wx   a map of that machine, with made-up costs
  corewise memory --import mlc.txt            imports the output of Intel's mlc, or of `numactl -H`
  corewise history compare 3 7                shows the changes between two maps

Maps are stored in the history. At most a quarter of the free memory is used. docs/memory.md defines every number.

Exit status: 0 done   2 wrong usage   3 not permitted, or not available here   130 interrupted, partial results were \
printed";

/// Measure the cost of memory for each cpu: latency by working set and node, bandwidth, load
#[derive(Clone, Debug, Parser)]
#[command(after_help = AFTER)]
pub struct MemoryArguments {
    /// Measure only these cpus, in the placement language [default: all allowed cpus]
    #[arg(help_heading = "Measurement", long, value_name = "EXPR")]
    pub cpus: Option<String>,
    /// Maximum duration, such as 30s or 5m; ends earlier after nine rounds [default: 60s]
    #[arg(help_heading = "Measurement", long, value_name = "DURATION", value_parser = parse_budget)]
    pub budget: Option<Duration>,
    /// Size of the buffer on each node, such as 256MiB [default: four times all last-level caches, if memory allows]
    #[arg(help_heading = "Measurement", long, value_name = "SIZE", value_parser = size_bytes)]
    pub buffer: Option<u64>,
    /// The seed of the random orders [default: from the clock]
    #[arg(help_heading = "Measurement", long, value_name = "N")]
    pub seed: Option<u64>,
    /// Simulate this machine with costs made up from its topology, and show the visits, findings and pictures
    #[arg(help_heading = "Instead of measuring", long, value_name = "NAME|FILE")]
    pub simulate: Option<PathBuf>,
    /// Import the output of Intel's Memory Latency Checker (`mlc`) or of `numactl -H`, instead of measuring
    #[arg(help_heading = "Instead of measuring", long, value_name = "FILE", conflicts_with_all = ["simulate", "cpus", "budget", "buffer", "seed"])]
    pub import: Option<PathBuf>,
    /// Machine of the imported file, as for `corewise topology` [default: this machine; a file of numactl describes its
    /// own]
    #[arg(help_heading = "Instead of measuring", long, value_name = "NAME|FILE", requires = "import")]
    pub machine: Option<PathBuf>,
    /// Output format
    #[arg(
        help_heading = "Output and history",
        long,
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        ignore_case = true,
        conflicts_with = "json"
    )]
    pub format: MemoryFormatName,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemoryFormatName {
    /// Tables and findings
    Text,
    /// One line per visit
    Csv,
    /// Latency of each node as a heat map; with one node, latency by working set
    Svg,
    /// The machine with its costs as hwloc's memory attributes
    Hwloc,
}
