//! What was typed for `survey`, with or without the word, and what it means on this machine.

use std::time::Duration;

use clap::Parser;
use corewise_model::{CpuSet, Machine};

use crate::shell::failure::Failure;
use crate::shell::measuring::{DEFAULT_BUDGET, grown};
use crate::shell::values::{budget, cpus};

const QUICK_BUDGET: Duration = Duration::from_secs(5);

/// Measure every cpu and the links between them, and show how they differ [default]
#[derive(Clone, Debug, Default, PartialEq, Parser)]
#[command(name = "survey")]
pub struct SurveyArguments {
    /// Take 5 s (more above 32 cpus); the uncertainty is wider
    #[arg(long, conflicts_with = "budget")]
    pub quick: bool,
    /// Maximum duration of the survey, such as 30s or 2m [default: 30s, more above 32 cpus]
    #[arg(long, value_name = "DURATION", value_parser = budget)]
    pub budget: Option<Duration>,
    /// The seed of the random orders, to repeat a survey's schedule [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Survey only these cpus, such as 0-3,8; may name isolated ones
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub cpus: Option<CpuSet>,
}

impl SurveyArguments {
    /// These, typed before the word `survey`, and those behind it.
    ///
    /// # Errors
    /// Where the two contradict each other.
    pub fn joined(self, after: Self) -> Result<Self, Failure> {
        let joined = Self {
            quick: self.quick || after.quick,
            budget: after.budget.or(self.budget),
            seed: after.seed.or(self.seed),
            cpus: after.cpus.or(self.cpus),
        };
        if joined.quick && joined.budget.is_some() {
            return Err(Failure::usage("--quick and --budget cannot be used together").next("Leave out one of them."));
        }
        Ok(joined)
    }

    /// The cpus to survey: those asked for, or all in the mask that was inherited. Who names isolated cpus, or others outside that mask, means
    /// them; those that the cpuset keeps back become gaps of the survey, and where none is left, there is nothing to survey.
    ///
    /// # Errors
    /// Where the machine does not have one of them, or this process may use none.
    pub fn cpus(&self, machine: &Machine, reachable: &CpuSet) -> Result<CpuSet, Failure> {
        let Some(wanted) = &self.cpus else { return Ok(machine.allowed.clone()) };
        let unknown = wanted.difference(&machine.possible.union(&machine.online));
        if !unknown.is_empty() {
            let what = format!("--cpus names {unknown}, which this machine does not have");
            return Err(
                Failure::usage(what).next(format!("Its cpus are {}; `corewise topology` shows them.", machine.online))
            );
        }
        if wanted.is_disjoint(reachable) {
            let what = format!("this process may use none of the cpus {wanted}");
            return Err(Failure::unavailable(what).next(format!("Its cpuset allows {reachable}.")));
        }
        Ok(wanted.clone())
    }

    /// How long a survey of so many cpus may take: what was asked for; otherwise 30 s (quick: 5 s) up to 32 cpus, and above
    /// as much more as the square root of their number: 60 s at 128 cpus, 120 s at 512.
    pub fn budget(&self, cpus: usize) -> Duration {
        let default = if self.quick { QUICK_BUDGET } else { DEFAULT_BUDGET };
        self.budget.unwrap_or_else(|| grown(default, cpus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::failure::Exit;

    #[test]
    fn the_cpus_to_survey_are_those_of_the_machine_that_can_be_had() {
        let mut machine = crate::draw::fabricated::ryzen_9950x3d();
        machine.allowed = CpuSet::first(4);
        let reachable = CpuSet::first(8);
        let cpus = |arguments: &SurveyArguments| arguments.cpus(&machine, &reachable);
        let wanted = |list: &str| SurveyArguments { cpus: CpuSet::parse_list(list).ok(), ..SurveyArguments::default() };
        assert_eq!(cpus(&SurveyArguments::default()).unwrap(), machine.allowed);
        assert_eq!(cpus(&wanted("3,8")).unwrap().to_string(), "3,8");
        assert_eq!(cpus(&wanted("5-7")).unwrap().to_string(), "5-7", "outside the inherited mask, but named");
        let unknown = cpus(&wanted("3,32")).unwrap_err();
        assert_eq!(unknown.what, "--cpus names 32, which this machine does not have");
        let denied = cpus(&wanted("8-11")).unwrap_err();
        assert_eq!(denied.what, "this process may use none of the cpus 8-11");
        assert_eq!([unknown.exit, denied.exit], [Exit::Usage, Exit::Unavailable]);
    }

    #[test]
    fn budgets_grow_with_the_machine_but_slower() {
        let default = SurveyArguments::default();
        let seconds = [1, 32, 64, 128, 512].map(|cpus| default.budget(cpus).as_secs());
        assert_eq!(seconds, [30, 30, 42, 60, 120]);
        let quick = SurveyArguments { quick: true, ..default.clone() };
        assert_eq!(quick.budget(32), Duration::from_secs(5));
        let given = SurveyArguments { budget: Some(Duration::from_secs(7)), ..default };
        assert_eq!(given.budget(512), Duration::from_secs(7));
    }
}
