//! The story of a survey: the machine, its cpus in numbers, its links, and the findings.

use corewise_model::Survey;
use corewise_model::survey::conclude::Conclusions;

use super::activity::{activity, sources};
use super::heatmap;
use crate::draw::findings::findings;
use crate::draw::latency::{figures, latency};
use crate::draw::machine::{FEW_OBJECTS, picture};
use crate::draw::stalls;
use crate::draw::story::StoryRole::{Answer, Evidence, Head, Notes};
use crate::draw::story::{Story, StoryPart, paragraphs};
use crate::draw::suggestion::words_in_shell;
use crate::draw::survey::{Kept, foot, head};
use crate::draw::survey_again::{format_budget, repeat_survey};
use crate::draw::survey_row::survey_rows;
use crate::draw::text::Line;

/// Composes the story of a survey; `memory` is a line on the latest map of memory.
pub fn story(survey: &Survey, conclusions: &Conclusions, kept: &Kept, memory: Vec<Line>) -> Story {
    let rows = survey_rows(survey, conclusions);
    let machine = survey.machine.clone();
    Story::new(words_in_shell(repeat_survey(survey, &format_budget(survey)).words()))
        .with(Head, head(survey, kept))
        .with(Evidence, vec![StoryPart::drawing(move |width, _| picture(&machine, width, FEW_OBJECTS))])
        .with(Evidence, figures(&rows))
        .with(Evidence, latency(survey, &rows))
        .with(Evidence, activity(&rows))
        .with(Evidence, sources(&rows))
        .with(Evidence, stalls::causes(survey))
        .with(Evidence, heatmap::links(survey))
        .with(Answer, findings(survey, conclusions))
        .with(Notes, [foot(survey, kept), paragraphs(memory, 2)].concat())
}
