//! Arguments of `workload`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

use crate::app::option_values::{SlotsName, parse_budget};

/// The end of `workload --help`.
pub const AFTER: &str = "Examples:
  corewise workload particles                    on all allowed cpus, one thread each
  corewise workload raymesh --threads 4 --size 0.2
  corewise workload pipeline --via ring --slots padded --seconds 5s
  corewise try --metric rays_per_second -- corewise workload raymesh
  corewise try --threads 1,2,4,8 --metric steps_per_second -- corewise workload particles --threads '{threads}'

Every workload checks its own result. A seed gives the same result with any number of threads. It prints a line
\"metric NAME VALUE\" for each metric, for `try --metric NAME`; a name with _per_ is a rate.
docs/workloads.md explains what each does, what limits it, and how its result is checked.

Exit status: 0 done   2 wrong usage   3 not permitted, or not available here   4 wrong result   130 interrupted";

/// Run a built-in workload for trying placements; it checks its own result
#[derive(Clone, Debug, PartialEq, Parser)]
#[command(after_help = AFTER)]
pub struct WorkloadArguments {
    /// Workload to run.
    #[command(subcommand)]
    pub workload: WorkloadCommand,
    /// Number of threads [default: one per cpu of --pin, or else per allowed cpu]
    #[arg(long, global = true, env = "COREWISE_THREADS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub threads: Option<u16>,
    /// Amount of work: 1 takes some seconds on one current cpu, 0.1 a tenth of that [default: 1]
    #[arg(long, global = true, value_name = "SHARE")]
    pub size: Option<f64>,
    /// Work for this long instead, such as 5s
    #[arg(long, global = true, value_name = "DURATION", value_parser = parse_budget, conflicts_with = "size")]
    pub seconds: Option<Duration>,
    /// The random seed
    // The survey also has an option of this name.
    #[arg(long = "seed", id = "seed_of_workload", global = true, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Pin each thread to one cpu of a placement, in the order of their numbers [default: the OS default]
    #[arg(long, global = true, env = "COREWISE_PIN", value_name = "EXPR")]
    pub pin: Option<String>,
}

/// A workload with options of its own.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub enum WorkloadCommand {
    /// Random walks in three dimensions with six movement algorithms: pure compute, nothing shared
    Particles {
        /// Steps of each walk
        #[arg(long, value_name = "N")]
        steps: Option<u32>,
    },
    /// Ray-mesh tests for a million cells in three tables, saved to disk: caches and compute
    Raymesh {
        /// Use this OBJ or PLY file instead of the computed mesh
        #[arg(long, value_name = "FILE", conflicts_with = "triangles")]
        mesh: Option<PathBuf>,
        /// Approximate number of triangles in the computed mesh
        #[arg(long, value_name = "N")]
        triangles: Option<usize>,
        /// Division of rows among threads
        #[arg(long, value_enum, value_name = "SPLIT")]
        split: Option<SplitName>,
        /// Keep the tables and pictures in this folder
        #[arg(long, value_name = "FOLDER")]
        output: Option<PathBuf>,
    },
    /// JSON lines through threads that send each other messages: communication
    Pipeline {
        /// Transport of messages
        #[arg(long, value_enum, value_name = "VIA", default_value = "channel")]
        via: ViaName,
        /// The layout of ring slots
        #[arg(long, value_enum, value_name = "SLOTS", default_value = "padded")]
        slots: SlotsName,
        /// Lines in one message
        #[arg(long, value_name = "N")]
        batch: Option<usize>,
        /// Capacity of a link, in messages
        #[arg(long, value_name = "N")]
        capacity: Option<usize>,
        /// Threads per lane, 1 to 5
        #[arg(long, value_name = "N")]
        lane_threads: Option<usize>,
        /// Use this file of JSON lines instead of generated ones
        #[arg(long, value_name = "FILE")]
        input: Option<PathBuf>,
    },
    /// A compressible Euler solver on a grid: floating point, memory and barriers
    Euler {
        /// Cells of the grid along x, y and z
        #[arg(long, value_name = "X,Y,Z", value_parser = parse_shape)]
        shape: Option<[usize; 3]>,
    },
    /// Image analysis, with a score for each function
    Image {
        /// Use this PNG file instead of a generated image
        #[arg(long, value_name = "FILE", conflicts_with_all = ["width_of_image", "height"])]
        input: Option<PathBuf>,
        /// Columns of the generated image
        #[arg(long = "columns", id = "width_of_image", value_name = "N")]
        columns: Option<usize>,
        /// Rows of the generated image
        #[arg(long = "rows", id = "height", value_name = "N")]
        rows: Option<usize>,
    },
    /// A path tracer that can copy its scene to each memory node
    Render {
        /// Give each node its own copy of the scene
        #[arg(long, value_enum, value_name = "WHETHER", default_value = "on")]
        numa_aware: SwitchName,
        /// Paths per pixel
        #[arg(long, value_name = "N")]
        samples: Option<u32>,
        /// Triangles of the scene
        #[arg(long, value_name = "N")]
        triangles: Option<usize>,
        /// Keep the picture in this folder
        #[arg(long, value_name = "FOLDER")]
        output: Option<PathBuf>,
    },
    /// A server of short requests, with the quantiles of their times
    Tail {
        /// Dependent additions per request
        #[arg(long, value_name = "N")]
        additions: Option<u32>,
        /// Nanoseconds between two requests
        #[arg(long, value_name = "NS")]
        gap: Option<u64>,
    },
    /// Pairs of threads or processes that wake each other in turn: waiting
    Pingpong {
        /// Means of waking each other
        #[arg(long, value_enum, value_name = "BY", default_value = "futex")]
        by: WakeupName,
        /// Run the second of each pair as a process
        #[arg(long)]
        processes: bool,
        /// Mark of the second process of a pair.
        #[arg(long, hide = true)]
        partner: bool,
    },
}

/// Division of rows among threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SplitName {
    /// Each thread takes an equal block of neighbouring rows
    Fixed,
    /// Each thread takes the next free row [default]
    Queue,
}

/// Transport of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ViaName {
    /// A bounded channel of crossbeam-channel
    Channel,
    /// corewise's ring, whose ends spin
    Ring,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SwitchName {
    /// Yes
    On,
    /// No
    Off,
}

/// Means by which two threads wake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WakeupName {
    /// A word in memory; only for threads
    Futex,
    /// Two pipes
    Pipe,
    /// A pair of local sockets
    Socket,
}

/// Parses a shape such as "64,64,512".
fn parse_shape(text: &str) -> Result<[usize; 3], String> {
    let numbers: Result<Vec<usize>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    let numbers = numbers.ok().and_then(|numbers| numbers.try_into().ok());
    numbers.ok_or_else(|| "expected three numbers of cells, such as 64,64,512".to_owned())
}
