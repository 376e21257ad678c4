//! The screen of a look at stalls: how long, how often, and who causes them.

mod page;

use corewise_machine::CpuSet;
use corewise_model::Survey;
use corewise_model::survey::conclude::Conclusions;
use corewise_model::survey::conclude::rows::rows;

use super::percentiles::percentiles;
use crate::draw::findings::findings;
use crate::draw::latency::latency;
use crate::draw::stalls;
use crate::draw::survey::{Kept, foot, head};
use crate::draw::text::Screen;

pub use page::story;

/// The whole screen of a look at stalls.
pub fn screen(survey: &Survey, conclusions: &Conclusions, kept: &Kept, width: usize) -> Screen {
    let mut screen = head(survey, kept, width);
    screen.block(latency(survey, &rows(survey, conclusions), width));
    let curves: Vec<_> = survey.cpus.iter().map(|seen| (CpuSet::of(seen.cpu), &seen.tail)).collect();
    screen.block(percentiles(&curves, width));
    screen.block(stalls::causes(survey, width));
    let remarks = [stalls::watching(survey, width), stalls::periods(survey, width), stalls::unexplained(survey, width)];
    screen.block(remarks.concat());
    screen.block(stalls::senders(survey, width));
    screen.block(stalls::longest(survey, width));
    screen.block(findings(survey, conclusions, width));
    screen.block(foot(survey, kept, width));
    screen
}
