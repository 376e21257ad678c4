//! Common parts of commands that measure: budgets, and the failure if there is no result.

use std::time::Duration;

use corewise_machine::Gap;
use corewise_machine::suggested_command;

use super::failure::{CommandExit, CommandFailure};
use crate::draw::suggestion;

/// Default budget on a machine of `cpus` cpus: constant up to 32, then it grows with the square root.
pub fn grow_budget(default: Duration, cpus: usize) -> Duration {
    let growth = (cpus as f64 / CPUS_OF_DEFAULT).sqrt().max(1.0);
    Duration::from_secs((default.as_secs_f64() * growth).round() as u64)
}

/// Number of cpus up to which the default budgets hold.
const CPUS_OF_DEFAULT: f64 = 32.0;

pub const DEFAULT_BUDGET: Duration = Duration::from_secs(30);

/// Failure of measuring without any result to show or store: there is only what `corewise topology` shows. `first` is
/// the first part of `what`; the gap gives the reason.
pub fn explain_nothing_measured(what: &str, first: &str, gap: Option<&Gap>, is_interrupted: bool) -> CommandFailure {
    if is_interrupted {
        let what = format!("nothing was measured: the {what} was ended before its first {first}");
        return CommandFailure::new(CommandExit::Interrupted, what).with_hint("Nothing was stored.");
    }
    let why = gap.map_or_else(
        || format!("the budget ended before the first {first}"),
        |gap| format!("{}: {}", gap.what, gap.why),
    );
    CommandFailure::unavailable_error(format!("nothing was measured ({why})"))
        .with_hint(format!("Nothing was stored; see {}.", suggestion::format_mention(&suggested_command::doctor())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_without_a_measurement_says_so_and_why() {
        let nothing = |gap, is_interrupted| explain_nothing_measured("survey", "measurement", gap, is_interrupted);
        let gap = Gap::new("cpu 0", "the thread cannot be placed there");
        let interrupted = nothing(Some(&gap), true);
        assert_eq!(interrupted.exit, CommandExit::Interrupted);
        assert_eq!(
            interrupted.to_string(),
            "error: nothing was measured: the survey was ended before its first measurement\n  Nothing was stored."
        );
        let denied = nothing(Some(&gap), false);
        assert_eq!(denied.exit, CommandExit::Unavailable);
        assert_eq!(denied.what, "nothing was measured (cpu 0: the thread cannot be placed there)");
        let late = nothing(None, false);
        assert_eq!(late.what, "nothing was measured (the budget ended before the first measurement)");
    }
}
