//! What commands that measure have in common: how long, with which seed, and what to say where nothing was measured.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use corewise_model::Survey;

use super::failure::{Exit, Failure};

/// The budget of so many cpus, where nothing was asked for: the default up to 32, and as much more as the square root.
pub fn grown(default: Duration, cpus: usize) -> Duration {
    let growth = (cpus as f64 / CPUS_OF_DEFAULT).sqrt().max(1.0);
    Duration::from_secs((default.as_secs_f64() * growth).round() as u64)
}

/// Up to so many cpus the default budgets hold; above, they grow with the square root of the number of cpus.
const CPUS_OF_DEFAULT: f64 = 32.0;

pub const DEFAULT_BUDGET: Duration = Duration::from_secs(30);

/// There is nothing to show then, and nothing to store: it would say only what `corewise topology` says.
pub fn nothing_measured(survey: &Survey, is_interrupted: bool) -> Failure {
    if is_interrupted {
        let what = "nothing was measured: the survey was ended before its first measurement";
        return Failure::new(Exit::Interrupted, what).next("Nothing is stored.");
    }
    let why = survey.gaps.first().map_or_else(
        || "the time was over before the first measurement".to_owned(),
        |gap| format!("{}: {}", gap.what, gap.why),
    );
    Failure::unavailable(format!("nothing was measured ({why})")).next("Nothing is stored; see `corewise doctor`.")
}

pub fn seed_of_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Microseconds: unlike nanoseconds they stay below 2^53, so that a seed survives readers of JSON that use doubles.
    u64::try_from(since.as_micros()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use corewise_model::Gap;

    use super::*;
    use crate::draw::fabricated::small_guest_survey;

    #[test]
    fn a_survey_without_a_measurement_says_so_and_why() {
        let mut survey = small_guest_survey();
        survey.gaps = vec![Gap::new("cpu 0", "the thread cannot be placed there")];
        let interrupted = nothing_measured(&survey, true);
        assert_eq!(interrupted.exit, Exit::Interrupted);
        assert_eq!(
            interrupted.to_string(),
            "error: nothing was measured: the survey was ended before its first measurement\n  Nothing is stored."
        );
        let denied = nothing_measured(&survey, false);
        assert_eq!(denied.exit, Exit::Unavailable);
        assert_eq!(denied.what, "nothing was measured (cpu 0: the thread cannot be placed there)");
        survey.gaps.clear();
        let late = nothing_measured(&survey, false);
        assert_eq!(late.what, "nothing was measured (the time was over before the first measurement)");
    }
}
