//! Arguments of every command that runs something on a fleet's nodes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::app::option_values::duration_between;

/// How the nodes of a fleet are reached; flattened into every command that runs something on them.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Machines")]
pub struct FleetEngineArguments {
    /// Run one exclusive Slurm job for each visit
    #[arg(long, conflicts_with = "hosts")]
    pub slurm: bool,
    /// Slurm's partition [default: Slurm's]
    #[arg(short, long, value_name = "NAME", requires = "slurm")]
    pub partition: Option<String>,
    /// Slurm's nodes, such as n[0-63] [default: all of the partition]
    #[arg(short = 'w', long = "nodelist", value_name = "NODES", requires = "slurm")]
    pub nodes: Option<String>,
    /// Longest wait of a job for its node
    #[arg(long, value_name = "DURATION", value_parser = duration_between("1s", "30d"), default_value = "1h", conflicts_with = "hosts")]
    pub wait: Duration,
    /// Use ssh for the hosts in this file: one [user@]host[:port] a line, n[0-3] for several, rack=NAME behind it if known; `-` is standard
    /// input
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    /// Copy this program to hosts that do not have it (~/.cache/corewise)
    #[arg(long, requires = "hosts")]
    pub copy: bool,
    /// Settings file of ssh, as its own option -F
    #[arg(short = 'F', long, value_name = "FILE", requires = "hosts")]
    pub ssh_config: Option<PathBuf>,
    /// Setting of ssh, as its own option -o; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "hosts")]
    pub ssh_option: Vec<String>,
    /// Maximum number of visits at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), default_value_t = 64)]
    pub at_once: u32,
    /// Folder of results, which with Slurm the nodes share. The same command goes on with what is missing in it
    /// [default: a new one in the user's data folder, or the one of an unfinished run]
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
}
