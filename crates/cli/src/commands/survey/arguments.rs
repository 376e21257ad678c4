//! Arguments of `survey`, with or without the word, and the budget.

use std::time::Duration;

use clap::Parser;

use crate::app::failure::CommandFailure;
use crate::app::measurement::{DEFAULT_BUDGET, grow_budget};
use crate::app::option_values::parse_budget;

const QUICK_BUDGET: Duration = Duration::from_secs(5);

/// Measure every cpu and the links between them, and show how they differ [default]
#[derive(Clone, Debug, Default, PartialEq, Parser)]
pub struct SurveyArguments {
    /// Take 5 s (more above 32 cpus); the uncertainty is wider
    #[arg(long, conflicts_with = "budget")]
    pub quick: bool,
    /// Maximum duration of the survey, such as 30s or 2m [default: 30s, more above 32 cpus]
    #[arg(long, value_name = "DURATION", value_parser = parse_budget)]
    pub budget: Option<Duration>,
    /// The seed of the random orders, to repeat a survey's schedule [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Survey only these cpus, in the placement language: 0-3, llc:0, 'all - core:0', isolated [default: all allowed cpus]
    #[arg(long, value_name = "EXPR")]
    pub cpus: Option<String>,
}

impl SurveyArguments {
    /// Joins these arguments, typed before the word `survey`, with those behind it.
    ///
    /// # Errors
    /// The two contradict each other.
    pub fn join_with(self, after: Self) -> Result<Self, CommandFailure> {
        let joined = Self {
            quick: self.quick || after.quick,
            budget: after.budget.or(self.budget),
            seed: after.seed.or(self.seed),
            cpus: after.cpus.or(self.cpus),
        };
        if joined.quick && joined.budget.is_some() {
            return Err(CommandFailure::usage_error("--quick and --budget cannot be used together")
                .with_hint("Leave out one of them."));
        }
        Ok(joined)
    }

    /// Returns the maximum duration for a number of cpus.
    ///
    /// The default is 30 s (quick: 5 s) up to 32 cpus. Above, it grows with the square root of the number: 60 s at
    /// 128 cpus, 120 s at 512.
    pub fn budget_for(&self, cpus: usize) -> Duration {
        let default = if self.quick { QUICK_BUDGET } else { DEFAULT_BUDGET };
        self.budget.unwrap_or_else(|| grow_budget(default, cpus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_grow_with_the_machine_but_slower() {
        let default = SurveyArguments::default();
        let seconds = [1, 32, 64, 128, 512].map(|cpus| default.budget_for(cpus).as_secs());
        assert_eq!(seconds, [30, 30, 42, 60, 120]);
        let quick = SurveyArguments { quick: true, ..default.clone() };
        assert_eq!(quick.budget_for(32), Duration::from_secs(5));
        let given = SurveyArguments { budget: Some(Duration::from_secs(7)), ..default };
        assert_eq!(given.budget_for(512), Duration::from_secs(7));
    }
}
