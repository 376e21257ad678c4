//! The story of a survey: the machine, its cpus in numbers, its links, and the findings.

use corewise_model::Survey;
use corewise_model::survey::conclude::SurveyConclusions;

use super::activity::{compose_activity, compose_sources};
use super::heatmap;
use crate::draw::findings::compose_findings;
use crate::draw::latency::{compose_figures, compose_latency};
use crate::draw::machine::{FEW_OBJECTS, draw_picture};
use crate::draw::repeat_survey::{format_budget, repeat_survey};
use crate::draw::stalls;
use crate::draw::story::StoryRole::{Answer, Evidence, Head, Notes};
use crate::draw::story::{Story, StoryPart, compose_paragraphs};
use crate::draw::suggestion::quote_words;
use crate::draw::survey::{StorageStatus, compose_foot, compose_head};
use crate::draw::survey_row::survey_rows;
use crate::draw::text::StyledLine;

/// Composes the story of a survey; `memory` is a line on the latest map of memory.
pub fn compose_story(
    survey: &Survey,
    conclusions: &SurveyConclusions,
    kept: &StorageStatus,
    memory: Vec<StyledLine>,
) -> Story {
    let rows = survey_rows(survey, conclusions);
    let machine = survey.machine.clone();
    Story::new(quote_words(repeat_survey(survey, &format_budget(survey)).words()))
        .with(Head, compose_head(survey, kept))
        .with(Evidence, vec![StoryPart::from_drawing(move |width, _| draw_picture(&machine, width, FEW_OBJECTS))])
        .with(Evidence, compose_figures(&rows))
        .with(Evidence, compose_latency(survey, &rows))
        .with(Evidence, compose_activity(&rows))
        .with(Evidence, compose_sources(&rows))
        .with(Evidence, stalls::compose_causes(survey))
        .with(Evidence, heatmap::compose_links(survey))
        .with(Answer, compose_findings(survey, conclusions))
        .with(Notes, [compose_foot(survey, kept), compose_paragraphs(memory, 2)].concat())
}
