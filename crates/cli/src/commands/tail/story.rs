//! The story of a measurement of stalls: durations, rates, and causes.

use corewise_machine::CpuSet;
use corewise_model::Survey;
use corewise_model::survey::conclude::SurveyConclusions;
use corewise_statistics::histogram::TickHistogram;

use super::percentiles::draw_percentiles;
use crate::draw::findings::compose_findings;
use crate::draw::latency::{compose_figures, compose_latency};
use crate::draw::repeat_survey::{format_budget, repeat_survey};
use crate::draw::stalls;
use crate::draw::story::StoryRole::{Answer, Evidence, Head, Notes};
use crate::draw::story::{Story, StoryPart};
use crate::draw::suggestion::quote_words;
use crate::draw::survey::{StorageStatus, compose_foot, compose_head};
use crate::draw::survey_row::survey_rows;
use crate::draw::wrap::page_width;

/// Composes the story of a measurement of stalls.
pub fn compose_story(survey: &Survey, conclusions: &SurveyConclusions, kept: &StorageStatus) -> Story {
    let rows = survey_rows(survey, conclusions);
    let curves: Vec<(CpuSet, TickHistogram)> =
        survey.cpus.iter().map(|seen| (CpuSet::from_cpu(seen.cpu), seen.tail.clone())).collect();
    let step_ns = survey.clock.step_ns;
    let remarks =
        [stalls::compose_watching(survey), stalls::compose_periods(survey), stalls::compose_unexplained(survey)];
    Story::new(quote_words(repeat_survey(survey, &format_budget(survey)).words()))
        .with(Head, compose_head(survey, kept))
        .with(Evidence, compose_figures(&rows))
        .with(Evidence, compose_latency(survey, &rows))
        .with(
            Evidence,
            vec![StoryPart::from_drawing(move |width, _| draw_percentiles(&curves, step_ns, page_width(width)))],
        )
        .with(Evidence, stalls::compose_causes(survey))
        .with(Notes, remarks.concat())
        .with(Evidence, stalls::compose_senders(survey))
        .with(Evidence, stalls::compose_longest(survey))
        .with(Answer, compose_findings(survey, conclusions))
        .with(Notes, compose_foot(survey, kept))
}

#[cfg(test)]
mod tests {
    use corewise_machine::event::EventSource;

    use super::*;
    use crate::draw::fixtures::fabricated::{nothing, ryzen_survey, small_guest_survey};
    use crate::draw::stalls::tests::with_stalls;
    use crate::draw::story::forms::check_forms;

    #[test]
    fn every_sentence_is_in_every_form() {
        for survey in [small_guest_survey(), ryzen_survey()] {
            let survey = with_stalls(survey, EventSource::Perf);
            check_forms(&compose_story(&survey, &nothing(&survey), &StorageStatus::Stored(4)));
        }
    }
}
