//! A survey on a page: the answer first, then what it rests on.

use corewise_model::Survey;
use corewise_model::links::classes;
use corewise_model::survey::conclude::Conclusions;
use corewise_model::survey::conclude::rows::rows;

use crate::commands::survey::activity::{activity, sources};
use crate::commands::survey::heatmap;
use crate::draw::findings::findings;
use crate::draw::latency::{figures, latency};
use crate::draw::page::{Block, Story, WIDTH};
use crate::draw::stalls;
use crate::draw::suggestion::{again, budget_of, words_in_shell};
use crate::draw::survey::{Kept, foot, head};

/// What a page says of a survey.
pub fn story(survey: &Survey, conclusions: &Conclusions, kept: &Kept) -> Story {
    let rows = rows(survey, conclusions);
    let mut evidence: Vec<Block> = figures(&rows).into_iter().map(Block::Figure).collect();
    evidence.extend([
        Block::Lines(latency(survey, &rows, WIDTH)),
        Block::Lines(activity(&rows, WIDTH)),
        Block::Lines(sources(&rows, WIDTH)),
        Block::Lines(stalls::causes(survey, WIDTH)),
    ]);
    if let Some(figure) = heatmap::figure(survey) {
        let classes = classes(&survey.machine, &survey.links);
        evidence.extend([Block::Lines(heatmap::classes(&survey.links, &classes, WIDTH)), Block::Figure(figure)]);
    }
    Story {
        head: head(survey, kept, WIDTH).into_lines(),
        answer: findings(survey, conclusions, WIDTH),
        evidence,
        besides: foot(survey, kept, WIDTH),
        command: words_in_shell(again(survey, &budget_of(survey)).words()),
    }
}
