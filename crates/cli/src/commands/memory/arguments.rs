//! Arguments of `memory`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::app::values::{budget, size_bytes};

/// The end of `memory --help`.
const AFTER: &str = "Examples:
  corewise memory                             latency by working set, latency and bandwidth of each node, latency under load
  corewise memory --budget 5m                 the same on a large machine, with narrower intervals
  corewise memory --format svg > m.svg        the heat map as a picture: what each group of cpus pays for each node
  corewise memory --format hwloc > m.xml      for hwloc: lstopo --input m.xml --memattrs
  corewise memory --simulate threadripper-2990wx   what it would look like there, with made-up costs
  corewise memory --import mlc.txt            what Intel's mlc measured, or `numactl -H` lists: stored, shown, compared
  corewise history compare 3 7                what changed between two maps

Maps are stored in the history. At most a quarter of the free memory is used. docs/memory.md defines every number.

Exit status: 0 done   2 wrong usage   3 not permitted, or not available here   130 interrupted, partial results were \
printed";

/// Measure what memory costs each cpu: latency by working set and node, bandwidth, load
#[derive(Clone, Debug, Parser)]
#[command(name = "memory", after_help = AFTER)]
pub struct MemoryArguments {
    /// The cpus, in the placement language [default: all allowed cpus]
    #[arg(help_heading = "What is measured", long, value_name = "EXPR")]
    pub cpus: Option<String>,
    /// Maximum duration, such as 30s or 5m; ends earlier after nine rounds [default: 60s]
    #[arg(help_heading = "What is measured", long, value_name = "DURATION", value_parser = budget)]
    pub budget: Option<Duration>,
    /// The buffer on each node, such as 256MiB [default: four times all last-level caches, if memory allows]
    #[arg(help_heading = "What is measured", long, value_name = "SIZE", value_parser = size_bytes)]
    pub buffer: Option<u64>,
    /// The seed of the random orders [default: from the clock]
    #[arg(help_heading = "What is measured", long, value_name = "N")]
    pub seed: Option<u64>,
    /// Simulate this machine, with costs made up from its topology: what would be visited, found and drawn
    #[arg(help_heading = "Instead of measuring", long, value_name = "NAME|FILE")]
    pub simulate: Option<PathBuf>,
    /// Read what Intel's Memory Latency Checker (`mlc`) or `numactl -H` printed, instead of measuring
    #[arg(help_heading = "Instead of measuring", long, value_name = "FILE", conflicts_with_all = ["simulate", "cpus", "budget", "buffer", "seed"])]
    pub import: Option<PathBuf>,
    /// With --import: the machine that was measured, as for `corewise topology` [default: this machine; a file of numactl describes its own]
    #[arg(help_heading = "Instead of measuring", long, value_name = "NAME|FILE", requires = "import")]
    pub machine: Option<PathBuf>,
    /// What to print
    #[arg(
        help_heading = "Output and history",
        long,
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        ignore_case = true,
        conflicts_with = "json"
    )]
    pub format: FormatName,
}

/// What to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatName {
    /// Tables and what they mean
    Text,
    /// One line per visit
    Csv,
    /// Latency of each node as a heat map; of a machine with one node, by working set
    Svg,
    /// The machine with its costs as hwloc's memory attributes
    Hwloc,
}
