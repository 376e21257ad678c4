//! The story of a measurement of stalls: durations, rates, and causes.

use corewise_machine::CpuSet;
use corewise_model::Survey;
use corewise_model::histogram::Histogram;
use corewise_model::survey::conclude::Conclusions;

use super::percentiles::percentiles;
use crate::draw::findings::findings;
use crate::draw::latency::{figures, latency};
use crate::draw::stalls;
use crate::draw::story::StoryRole::{Answer, Evidence, Head, Notes};
use crate::draw::story::{Story, StoryPart};
use crate::draw::suggestion::words_in_shell;
use crate::draw::survey::{Kept, foot, head};
use crate::draw::survey_again::{format_budget, repeat_survey};
use crate::draw::survey_row::survey_rows;

/// Composes the story of a measurement of stalls.
pub fn story(survey: &Survey, conclusions: &Conclusions, kept: &Kept) -> Story {
    let rows = survey_rows(survey, conclusions);
    let curves: Vec<(CpuSet, Histogram)> =
        survey.cpus.iter().map(|seen| (CpuSet::of(seen.cpu), seen.tail.clone())).collect();
    let remarks = [stalls::watching(survey), stalls::periods(survey), stalls::unexplained(survey)];
    Story::new(words_in_shell(repeat_survey(survey, &format_budget(survey)).words()))
        .with(Head, head(survey, kept))
        .with(Evidence, figures(&rows))
        .with(Evidence, latency(survey, &rows))
        .with(Evidence, vec![StoryPart::drawing(move |width, _| percentiles(&curves, width))])
        .with(Evidence, stalls::causes(survey))
        .with(Notes, remarks.concat())
        .with(Evidence, stalls::senders(survey))
        .with(Evidence, stalls::longest(survey))
        .with(Answer, findings(survey, conclusions))
        .with(Notes, foot(survey, kept))
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
            check_forms(&story(&survey, &nothing(&survey), &Kept::Stored(4)));
        }
    }
}
