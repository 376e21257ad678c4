//! What was typed behind `irq`.

use std::time::Duration;

use clap::Parser;

use crate::shell::machine::MachineArguments;
use crate::shell::values::between;

pub const AFTER: &str = "Examples:
  corewise irq                           where each device's interrupts go, and how often
  corewise irq --for 10s                 counted for longer
  corewise irq --away-from 3 --dry-run   what keeping cpu 3 free of them takes
  corewise irq --away-from llc:0         done, for the cpus of a last-level cache
  corewise undo                          brings them back

What is moved stays so when corewise ends: until `corewise undo`, or until the machine is started anew. \
Interrupts of devices that come later go where /proc/irq/default_smp_affinity says, which is not touched. \
docs/interrupts.md says which can be moved.

Exit status: 0 moved, or there was nothing to move; 2 wrong EXPR, or no cpu would be left; 3 not permitted, \
or none of those that go there can be moved.";

/// Show which cpus each device's interrupts go to, and move them away from some
#[derive(Clone, Debug, Parser)]
#[command(name = "irq", after_help = AFTER)]
pub struct IrqArguments {
    /// Move the interrupts away from these cpus, in the placement language: 3, 0-3, llc:0, 'all - 0-1'
    #[arg(long, value_name = "EXPR")]
    pub away_from: Option<String>,
    /// Say what would be moved, and change nothing
    #[arg(long, requires = "away_from")]
    pub dry_run: bool,
    /// How long interrupts are counted, such as 500ms or 10s [default: 1s]
    #[arg(long = "for", value_name = "DURATION", value_parser = between("100ms", "1h"), conflicts_with = "away_from")]
    pub counting: Option<Duration>,
    /// The machine to look at.
    #[command(flatten)]
    pub machine: MachineArguments,
}
