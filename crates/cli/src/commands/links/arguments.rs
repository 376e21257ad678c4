//! Arguments of `links`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use corewise_machine::ring::RingSlots;
use corewise_model::links::TalkWay;

use crate::app::machine::MachineArguments;
use crate::app::option_values::{SlotsName, parse_budget};

/// The end of `links --help`.
pub const AFTER: &str = "Examples:
  corewise links                              heat map, cost classes, groups; at most 60 s on any machine
  corewise links --cpus llc:0 --all-pairs     every pair of these cpus
  corewise links --kind store,wakeup          other ways to talk
  corewise links --channel --slots packed,padded   a send through a channel and a queue, and the effect of padding
  corewise links --format svg > links.svg     the heat map as a picture; also csv, matrix
  corewise links import map.csv --machine threadripper-3960x   another tool's file
  corewise links compare 3 map.csv            which pairs changed; takes numbers of stored maps, or files
  corewise links --simulate map.csv           the result of a run on a machine with these costs

Maps are stored in the history. The groups proven by the latest map are `group:0`, `group:1`, … for `place`, `run` \
and `try`. docs/links.md explains what each kind measures, and how.

Exit status: 0 done   2 wrong usage   3 not permitted, or not available here   130 interrupted, partial results were \
printed";

/// Measure the cost of talking between cpus: heat map, cost classes, groups
#[derive(Clone, Debug, Parser)]
#[command(after_help = AFTER)]
pub struct LinksArguments {
    /// Command; measures a map of this machine by default.
    #[command(subcommand)]
    pub command: Option<LinksCommand>,
    /// Ways to talk; separate several with commas
    #[arg(
        help_heading = "Measurement",
        long,
        value_enum,
        value_name = "KIND",
        value_delimiter = ',',
        ignore_case = true
    )]
    pub kind: Vec<KindName>,
    /// The same as --kind channel
    #[arg(help_heading = "Measurement", long)]
    pub channel: bool,
    /// Layout of queue slots; with --channel, also measure queues of this layout [default: both, with --kind queue]
    #[arg(
        help_heading = "Measurement",
        long,
        value_enum,
        value_name = "SLOTS",
        value_delimiter = ',',
        ignore_case = true
    )]
    pub slots: Vec<SlotsName>,
    /// Measure only these cpus, in the placement language [default: all allowed cpus]
    #[arg(help_heading = "Measurement", long, value_name = "EXPR")]
    pub cpus: Option<String>,
    /// Maximum duration, such as 10s or 5m; ends earlier when every pair is certain [default: 60s]
    #[arg(help_heading = "Measurement", long, value_name = "DURATION", value_parser = parse_budget)]
    pub budget: Option<Duration>,
    /// Measure every pair of cpus, instead of predicting most pairs of a large machine; no time limit without --budget
    #[arg(help_heading = "Measurement", long)]
    pub all_pairs: bool,
    /// The seed of the random orders [default: from the clock]
    #[arg(help_heading = "Measurement", long, value_name = "N")]
    pub seed: Option<u64>,
    /// Simulate a machine with the costs of this matrix, and show the chosen pairs and the findings
    #[arg(help_heading = "Simulation", long, value_name = "FILE")]
    pub simulate: Option<PathBuf>,
    /// Draw the noise of --simulate from this file of raw samples
    #[arg(help_heading = "Simulation", long, value_name = "FILE", requires = "simulate")]
    pub noise: Option<PathBuf>,
    /// Machine of the matrix, for --simulate and import.
    #[command(flatten)]
    pub machine: LinksMachine,
    /// Output format
    #[arg(
        help_heading = "Output and history",
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        ignore_case = true,
        conflicts_with = "json"
    )]
    pub format: LinksFormatName,
    /// The order of cpus in pictures [default: by group if groups are found]
    #[arg(
        help_heading = "Output and history",
        long,
        global = true,
        value_enum,
        value_name = "ORDER",
        ignore_case = true
    )]
    pub order: Option<OrderName>,
}

/// The machine of a matrix.
#[derive(Clone, Debug, Default, Args)]
pub struct LinksMachine {
    /// The machine of the matrix: a name, a machine file, or a recording, as for `topology` [default: unknown]
    #[arg(help_heading = "Simulation", long, global = true, value_name = "NAME|FILE", visible_alias = "topology")]
    pub machine: Option<PathBuf>,
}

impl LinksMachine {
    /// Converts to the arguments of other commands.
    pub fn to_arguments(&self) -> MachineArguments {
        MachineArguments { machine: self.machine.clone() }
    }
}

/// A command of `links`.
#[derive(Clone, Debug, Subcommand)]
pub enum LinksCommand {
    /// Read files of other tools, show them, and store them in the history
    Import {
        /// Files to import
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Unit of their numbers [default: nanoseconds, or as the format says]
        #[arg(long, value_enum, value_name = "UNIT", ignore_case = true)]
        unit: Option<UnitName>,
    },
    /// Show which pairs changed between two maps
    Compare {
        /// Earlier map: its number in the history, or a file
        #[arg(value_name = "A")]
        before: String,
        /// Later map
        #[arg(value_name = "B")]
        after: String,
    },
    /// Show a stored map again
    Show {
        /// Number of the map, as `history` shows it
        #[arg(value_name = "N")]
        number: i64,
    },
}

/// A unit of time in files of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnitName {
    /// Nanoseconds
    Ns,
    /// Microseconds
    Us,
    /// Milliseconds
    Ms,
}

impl UnitName {
    /// Returns the unit in nanoseconds.
    pub const fn to_nanoseconds(self) -> f64 {
        match self {
            Self::Ns => 1.0,
            Self::Us => 1e3,
            Self::Ms => 1e6,
        }
    }
}

/// A way to talk, or several of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindName {
    /// Compare-and-swap on one line [default]
    Cas,
    /// Two lines, each written by one side and read by the other
    Store,
    /// One message one way; needs clocks that agree
    Oneway,
    /// Blocks of 4 KiB, 64 KiB and 1 MiB, written by one and read by the other
    Bandwidth,
    /// A send through crossbeam-channel, bounded (64) and unbounded
    Channel,
    /// A send through corewise's ring, with packed and with padded slots
    Queue,
    /// Waking a sleeping thread
    Wakeup,
}

/// Sizes of blocks, in bytes.
const BLOCKS: [u32; 3] = [4 << 10, 64 << 10, 1 << 20];
/// The bound of the bounded channel.
const BOUND: u32 = 64;

impl KindName {
    /// Returns the corresponding ways to talk.
    pub fn to_talks(self, slots: &[RingSlots]) -> Vec<TalkWay> {
        match self {
            Self::Cas => vec![TalkWay::Cas],
            Self::Store => vec![TalkWay::Store],
            Self::Oneway => vec![TalkWay::Oneway],
            Self::Bandwidth => BLOCKS.map(|block_bytes| TalkWay::Bandwidth { block_bytes }).into(),
            Self::Channel => vec![TalkWay::Channel { bound: Some(BOUND) }, TalkWay::Channel { bound: None }],
            Self::Queue => slots.iter().map(|&slots| TalkWay::Queue { slots }).collect(),
            Self::Wakeup => vec![TalkWay::Wakeup],
        }
    }
}

/// Output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LinksFormatName {
    /// A screen
    #[default]
    Text,
    /// One line for each visit
    Csv,
    /// The matrix of the first kind, including predicted cells
    Matrix,
    /// The heat map of the first kind as a picture
    Svg,
}

/// The order of cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderName {
    /// One group after the other
    Group,
    /// By rising number
    Number,
}
