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

use super::Shown;
use crate::draw::number::count;
use crate::draw::story::{FigurePicture, StoryFigure, StoryPart};
use crate::draw::text::Line;
pub use answer::{apply, in_words};
pub use svg::svg;
pub use table::table;

/// Returns the scaling as a chart of characters and as a figure.
pub fn scaling(shown: Shown<'_>, report: &ThreadsReport) -> Vec<StoryPart> {
    let figure = svg(shown, report).map(|svg| StoryFigure {
        name: "scaling",
        title: "How it scales with threads".to_owned(),
        caption: "Higher is better. The dashed line is a program that loses nothing to more threads.".to_owned(),
        picture: FigurePicture::Svg(svg),
    });
    chart::chart(shown, report).into_iter().chain(figure.map(StoryPart::Figure)).collect()
}

/// Returns the lines on the scaling law, and on the load of one thread.
pub fn law(shown: Shown<'_>, report: &ThreadsReport) -> Vec<Line> {
    law::lines(shown, report)
}

fn threads(number: u32) -> String {
    count(number as usize, "thread")
}

/// Formats numbers as "1 thread" or "1, 2 and 8 threads".
fn counted(numbers: &[u32]) -> String {
    format!("{} thread{}", list(numbers), if numbers == [1] { "" } else { "s" })
}

/// Formats numbers as "1, 2 and 8".
fn list(numbers: &[u32]) -> String {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match &words[..] {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}
