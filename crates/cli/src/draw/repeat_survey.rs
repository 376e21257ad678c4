//! The command that makes a survey again.

use corewise_machine::event::EventSource;
use corewise_machine::suggested_command::{self, TailOptions};
use corewise_machine::{CpuSet, SuggestedCommand};
use corewise_model::Survey;
use corewise_model::survey::{SurveyScope, WorkKind};

/// The threshold of stalls, unless another one is typed.
const USUAL_THRESHOLD_NS: u64 = 1_000;

/// Suggests the same survey with another budget: of the same cpus, and for `tail` with the same work, watched in the same way.
pub fn repeat_survey(survey: &Survey, budget: &str) -> SuggestedCommand {
    let cpus: CpuSet = survey.cpus.iter().map(|seen| seen.cpu).collect();
    let cpus = Some(cpus).filter(|cpus| *cpus != survey.machine.allowed);
    let watch = survey.watch.as_ref();
    match survey.provenance.scope {
        SurveyScope::Machine => suggested_command::survey_longer(cpus.as_ref(), budget),
        SurveyScope::Tail => suggested_command::tail_again(
            &TailOptions {
                cpus,
                explains: watch.is_some_and(|watch| watch.event_source != EventSource::Thread),
                is_fifo: watch.is_some_and(|watch| watch.first_in_line),
                threshold_ns: watch
                    .map(|watch| watch.threshold_ns.round() as u64)
                    .filter(|ns| *ns != USUAL_THRESHOLD_NS),
                work: Some(survey.work.kind).filter(|kind| *kind != WorkKind::Spin).map(|kind| kind.name().to_owned()),
            },
            budget,
        ),
    }
}

/// Formats the budget that a survey had, as it is typed.
pub fn format_budget(survey: &Survey) -> String {
    format!("{}s", survey.provenance.budget_s.ceil().max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_look_is_the_same_measurement() {
        let how = TailOptions {
            explains: true,
            threshold_ns: Some(5000),
            work: Some("syscall".to_owned()),
            ..TailOptions::default()
        };
        let expected = "corewise tail --explain --threshold 5us --budget 40s --work syscall";
        assert_eq!(suggested_command::tail_again(&how, "40s").shell_line(), expected);
    }
}
