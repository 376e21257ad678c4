//! Arguments of `irq`.

use std::time::Duration;

use clap::{ArgGroup, Parser};

use crate::app::machine::MachineArguments;
use crate::app::option_values::duration_between;

pub const AFTER: &str = "Examples:
  corewise irq                           where each device's interrupts go, and how often
  corewise irq --budget 10s              counts for longer
  corewise irq --away-from 3 --dry-run   shows what would move to keep cpu 3 free of them
  corewise irq --away-from llc:0         moves them away from the cpus of a last-level cache
  corewise irq --near eth0 --dry-run     shows what would move so that a card's interrupts go to its own node
  corewise irq --spread eth0             one queue a cpu, those near the card first
  corewise irq --set 45=2 46=4-7         sends single interrupts to cpus
  corewise undo                          moves them back

Moved interrupts stay moved until `corewise undo` or the next boot. Interrupts of devices that appear later follow \
/proc/irq/default_smp_affinity, which is not changed. docs/interrupts.md explains which can be moved.

Exit status: 0 moved, or there was nothing to move; 2 wrong EXPR, or no cpu would be left; 3 not permitted, no interrupt \
that goes there can be moved, or DEVICE is not known.";

/// Show which cpus each device's interrupts go to, and move them
#[derive(Clone, Debug, Parser)]
#[command(after_help = AFTER)]
#[command(group(ArgGroup::new("moving").args(["away_from", "near", "spread", "set"])))]
pub struct IrqArguments {
    /// Move the interrupts away from these cpus, in the placement language: 3, 0-3, llc:0, 'all - 0-1'
    #[arg(long, value_name = "EXPR")]
    pub away_from: Option<String>,
    /// Move a device's interrupts to the cpus near it, as the system reports them: eth0, nvme0n1, pci:0000:41:00.0, gpu:0
    /// (`corewise topology --devices` lists the devices)
    #[arg(long, value_name = "DEVICE")]
    pub near: Option<String>,
    /// Give each of a device's interrupts a cpu of its own, near ones first and one of each core before their second
    /// threads
    #[arg(long, value_name = "DEVICE")]
    pub spread: Option<String>,
    /// Give them these cpus only, in the placement language
    #[arg(long, value_name = "EXPR", requires = "spread")]
    pub over: Option<String>,
    /// Send single interrupts to cpus: 45=2, 46=4-7
    #[arg(long, value_name = "NUMBER=CPUS", num_args = 1.., value_delimiter = ' ')]
    pub set: Vec<String>,
    /// Show what would be moved, and change nothing
    #[arg(long, requires = "moving")]
    pub dry_run: bool,
    /// Count interrupts for this long, such as 500ms or 10s [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = duration_between("100ms", "1h"), conflicts_with = "moving")]
    pub budget: Option<Duration>,
    /// Machine to read.
    #[command(flatten)]
    pub machine: MachineArguments,
}
