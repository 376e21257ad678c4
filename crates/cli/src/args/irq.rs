//! What was typed behind `irq`.

use std::time::Duration;

use clap::Args;
use jiff::SignedDuration;

use super::MachineArguments;

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

/// The shortest and the longest time of counting that make sense, in milliseconds.
const COUNTING_MS: std::ops::RangeInclusive<i128> = 100..=3_600_000;

/// Options of `irq`.
#[derive(Clone, Debug, Args)]
pub struct IrqArguments {
    /// Move the interrupts away from these cpus, in the placement language: 3, 0-3, llc:0, 'all - 0-1'
    #[arg(long, value_name = "EXPR")]
    pub away_from: Option<String>,
    /// Say what would be moved, and change nothing
    #[arg(long, requires = "away_from")]
    pub dry_run: bool,
    /// How long interrupts are counted, such as 500ms or 10s [default: 1s]
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_counting, conflicts_with = "away_from")]
    pub counting: Option<Duration>,
    /// The machine to look at.
    #[command(flatten)]
    pub machine: MachineArguments,
}

fn parse_counting(text: &str) -> Result<Duration, String> {
    let duration: SignedDuration =
        text.parse().map_err(|_| "expected a duration with its unit, such as 500ms, 1s or 1m".to_owned())?;
    let known = Duration::try_from(duration).ok().filter(|_| COUNTING_MS.contains(&duration.as_millis()));
    known.ok_or_else(|| "expected a duration between 100ms and 1h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_takes_a_sensible_time() {
        assert_eq!(parse_counting("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_counting("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_counting("0s"), Err("expected a duration between 100ms and 1h".to_owned()));
        assert!(parse_counting("10").is_err() && parse_counting("-1s").is_err() && parse_counting("2h").is_err());
    }
}
