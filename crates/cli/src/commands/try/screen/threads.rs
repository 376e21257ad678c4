//! The screen of an experiment with numbers of threads: which is best, whether pinning matters, and how it scales.

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
use crate::draw::text::Line;
pub use answer::{apply, in_words};
pub use chart::chart;
pub use svg::svg;
pub use table::{markdown, table};

/// How it scales, and how busy one thread is.
pub fn law(shown: Shown<'_>, report: &ThreadsReport) -> Vec<Line> {
    law::lines(shown, report)
}

/// "1 thread", "8 threads".
fn threads(number: u32) -> String {
    count(number as usize, "thread")
}

/// "1 thread", "1, 2 and 8 threads".
fn counted(numbers: &[u32]) -> String {
    format!("{} thread{}", list(numbers), if numbers == [1] { "" } else { "s" })
}

/// "1, 2 and 8".
fn list(numbers: &[u32]) -> String {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match &words[..] {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}
