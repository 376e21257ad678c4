//! The screen of an experiment with numbers of threads: the best number, the effect of pinning, and the scaling.

mod answer;
mod chart;
mod law;
mod pinned;
mod scaling;
mod svg;
mod table;
#[cfg(test)]
mod tests;

use corewise_model::trial::ThreadsReport;

use super::ShownExperiment;
use crate::draw::number::format_count;
use crate::draw::story::{FigurePicture, StoryFigure, StoryPart};
use crate::draw::text::StyledLine;
pub use answer::{draw_answer, draw_commands, draw_pairs};
pub use svg::draw_svg;
pub use table::draw_table;

/// Returns the scaling as a chart of characters and as a figure.
pub fn compose_scaling(shown: ShownExperiment<'_>, report: &ThreadsReport) -> Vec<StoryPart> {
    let figure = draw_svg(shown, report).map(|svg| StoryFigure {
        name: "scaling",
        title: "How it scales with threads".to_owned(),
        caption: "Higher is better. The dashed line is a program that loses nothing to more threads.".to_owned(),
        picture: FigurePicture::Svg(svg),
    });
    chart::compose_chart(shown, report).into_iter().chain(figure.map(StoryPart::Figure)).collect()
}

/// Returns the lines on the scaling law, and on the load of one thread.
pub fn draw_law(shown: ShownExperiment<'_>, report: &ThreadsReport) -> Vec<StyledLine> {
    law::draw_lines(shown, report)
}

fn format_threads(number: u32) -> String {
    format_count(number as usize, "thread")
}

/// Formats numbers as "1 thread" or "1, 2 and 8 threads".
fn format_counts(numbers: &[u32]) -> String {
    format!("{} thread{}", format_list(numbers), if numbers == [1] { "" } else { "s" })
}

/// Formats numbers as "1, 2 and 8".
fn format_list(numbers: &[u32]) -> String {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match &words[..] {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}
