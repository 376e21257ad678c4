//! The screen of a survey: the machine, its cpus in numbers, its links, and what all that means.

mod page;

use corewise_model::survey::conclude::Conclusions;
use corewise_model::survey::conclude::rows::rows;
use corewise_model::{Survey, links};

use super::activity::{activity, sources};
use super::heatmap;
use crate::draw::findings::findings;
use crate::draw::latency::latency;
use crate::draw::machine::{FEW_OBJECTS, picture};
use crate::draw::stalls;
use crate::draw::survey::{Kept, foot, head};
use crate::draw::text::Screen;

pub use page::story;

/// The whole screen of a survey.
pub fn screen(survey: &Survey, conclusions: &Conclusions, kept: &Kept, width: usize) -> Screen {
    let mut screen = head(survey, kept, width);
    let rows = rows(survey, conclusions);
    screen.block(picture(&survey.machine, width, FEW_OBJECTS));
    screen.block(latency(survey, &rows, width));
    screen.block(activity(&rows, width));
    screen.block(sources(&rows, width));
    screen.block(stalls::causes(survey, width));
    let classes = links::classes(&survey.machine, &survey.links);
    screen.block(heatmap::links(survey, &classes, width));
    screen.block(findings(survey, conclusions, width));
    screen.block(foot(survey, kept, width));
    screen
}
