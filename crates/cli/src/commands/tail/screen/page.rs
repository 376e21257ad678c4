//! A look at stalls on a page: the answer first, then what it rests on.

use corewise_model::Survey;
use corewise_model::survey::conclude::Conclusions;
use corewise_model::survey::conclude::rows::rows;

use crate::draw::findings::findings;
use crate::draw::latency::{figures, latency};
use crate::draw::page::{Block, Story, WIDTH};
use crate::draw::stalls;
use crate::draw::suggestion::{again, budget_of, words_in_shell};
use crate::draw::survey::{Kept, foot, head};

/// What a page says of a look at stalls.
pub fn story(survey: &Survey, conclusions: &Conclusions, kept: &Kept) -> Story {
    let rows = rows(survey, conclusions);
    let mut evidence: Vec<Block> = figures(&rows).into_iter().map(Block::Figure).collect();
    evidence.extend([
        Block::Lines(latency(survey, &rows, WIDTH)),
        Block::Lines(stalls::causes(survey, WIDTH)),
        Block::Lines(stalls::senders(survey, WIDTH)),
        Block::Lines(stalls::longest(survey, WIDTH)),
    ]);
    let remarks = [stalls::watching(survey, WIDTH), stalls::periods(survey, WIDTH), stalls::unexplained(survey, WIDTH)];
    Story {
        head: head(survey, kept, WIDTH).into_lines(),
        answer: findings(survey, conclusions, WIDTH),
        evidence,
        besides: [remarks.concat(), foot(survey, kept, WIDTH)].concat(),
        command: words_in_shell(again(survey, &budget_of(survey)).words()),
    }
}
