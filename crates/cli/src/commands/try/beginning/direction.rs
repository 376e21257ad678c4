//! The question whether more of a metric is better, asked only about a number that there is.

use std::time::{Duration, Instant};

use corewise_lab::experiment::{ExperimentContext, RunnerEnd, TrialRequest};
use corewise_model::trial::TrialOutcome;

use super::super::task::{DirectionQuestion, LiveTask, NewExperiment, SubjectTask};
use super::{build_experiment, explain_failed_run};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::print_message;
use crate::app::settings::ProgramSettings;

/// Slot length while the metric of running processes is only read.
const ANY_SLOT: Duration = Duration::from_secs(1);

/// Looks for the metric in one run, or in one reading of running processes, and returns the failure that asks the question.
///
/// # Errors
/// The metric is not found, with the numbers that are there; or nothing can be run.
pub fn find_and_ask(
    question: &DirectionQuestion,
    new: &NewExperiment,
    context: &ExperimentContext<'_>,
    settings: &ProgramSettings,
) -> Result<CommandFailure, CommandFailure> {
    if let SubjectTask::Processes(live) = &new.subject {
        // Reads the metric twice, and searches for no slot length.
        let subject = LiveTask { slot: live.slot.or(Some(ANY_SLOT)), ..live.clone() }.find()?;
        build_experiment(&new.builder, &subject, context, settings)?;
        return Ok(question.ask_direction(""));
    }
    let subject = new.subject.open(settings)?;
    let experiment = build_experiment(&new.builder, &*subject, context, settings)?;
    print_message(&format!("note: one run first, to see whether \"{}\" is a number that it has", question.name));
    let until = context.budget.map(|budget| Instant::now() + budget);
    let mut runner = subject.open_runner(&experiment, context)?;
    runner.begin_block(0);
    let request = TrialRequest { repeats: 1, trial: 0, longest: None, until };
    match runner.run(&experiment.arms[0], 0, request) {
        Err(RunnerEnd::Stopped) => {
            let what = "nothing was tried: it was ended before the first run finished";
            Err(CommandFailure::new(CommandExit::Interrupted, what))
        }
        Err(RunnerEnd::Gone(why)) => Err(CommandFailure::unavailable_error(format!("nothing was tried: {why}"))),
        Err(RunnerEnd::OutOfTime) => Ok(question.ask_direction("")),
        Ok(ran) => match ran.outcome {
            TrialOutcome::Failed { why, output } => Err(explain_failed_run(&experiment, &why, &output)),
            TrialOutcome::Value(_) => {
                let found = ran.readings.first().and_then(|reading| reading.runs.last());
                Ok(question.ask_direction(found.map_or("", |run| run.line.trim())))
            }
        },
    }
}
