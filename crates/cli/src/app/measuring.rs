//! What commands that measure have in common: how long, and what to say where nothing was measured.

use std::time::Duration;

use corewise_machine::Gap;
use corewise_machine::suggested_command;

use super::failure::{Exit, Failure};
use crate::draw::suggestion;

/// The budget of so many cpus, where nothing was asked for: the default up to 32, and as much more as the square root.
pub fn grown(default: Duration, cpus: usize) -> Duration {
    let growth = (cpus as f64 / CPUS_OF_DEFAULT).sqrt().max(1.0);
    Duration::from_secs((default.as_secs_f64() * growth).round() as u64)
}

/// Up to so many cpus the default budgets hold; above, they grow with the square root of the number of cpus.
const CPUS_OF_DEFAULT: f64 = 32.0;

pub const DEFAULT_BUDGET: Duration = Duration::from_secs(30);

/// There is nothing to show then, and nothing to store: it would say only what `corewise topology` says. `what` would have begun with the
/// `first`; the gap says why there is none.
pub fn nothing_measured(what: &str, first: &str, gap: Option<&Gap>, is_interrupted: bool) -> Failure {
    if is_interrupted {
        let what = format!("nothing was measured: the {what} was ended before its first {first}");
        return Failure::new(Exit::Interrupted, what).next("Nothing was stored.");
    }
    let why = gap.map_or_else(
        || format!("the budget ended before the first {first}"),
        |gap| format!("{}: {}", gap.what, gap.why),
    );
    Failure::unavailable(format!("nothing was measured ({why})"))
        .next(format!("Nothing was stored; see {}.", suggestion::mention(&suggested_command::doctor())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_without_a_measurement_says_so_and_why() {
        let nothing = |gap, is_interrupted| nothing_measured("survey", "measurement", gap, is_interrupted);
        let gap = Gap::new("cpu 0", "the thread cannot be placed there");
        let interrupted = nothing(Some(&gap), true);
        assert_eq!(interrupted.exit, Exit::Interrupted);
        assert_eq!(
            interrupted.to_string(),
            "error: nothing was measured: the survey was ended before its first measurement\n  Nothing was stored."
        );
        let denied = nothing(Some(&gap), false);
        assert_eq!(denied.exit, Exit::Unavailable);
        assert_eq!(denied.what, "nothing was measured (cpu 0: the thread cannot be placed there)");
        let late = nothing(None, false);
        assert_eq!(late.what, "nothing was measured (the budget ended before the first measurement)");
    }
}
