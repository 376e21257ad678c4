//! The changes between two maps of memory.

use corewise_machine::suggested_command;
use corewise_model::memory::compare::MemoryChange;

use super::draw_median;
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::format_count;
use crate::draw::story::{Story, StoryRole};
use crate::draw::text::StyledLine;

/// Composes the story of the changes between two maps.
pub fn compose_comparison(numbers: [i64; 2], changes: &[MemoryChange]) -> Story {
    let [before, after] = numbers;
    let changed: Vec<&MemoryChange> = changes.iter().filter(|change| change.is_change).collect();
    let head = format!(
        "{} of {} changed by more than 5 % between map {before} and map {after}.",
        changed.len(),
        format_count(changes.len(), "number")
    );
    let told = Story::new(suggested_command::history_compare([before, after]))
        .with(StoryRole::Answer, vec![StyledLine::new().strong(head).into_paragraph(2)]);
    if changed.is_empty() { told } else { told.with(StoryRole::Evidence, vec![draw_table(&changed).into()]) }
}

fn draw_table(changed: &[&MemoryChange]) -> TextGrid {
    let columns = vec![
        GridColumn::text("what", 0).shrinking_to(12),
        GridColumn::text("cpus", 1).shrinking_to(6),
        GridColumn::number("before", "", 1),
        GridColumn::number("after", "", 1),
        GridColumn::text("unit", 2),
        GridColumn::text("ratio", 0),
    ];
    let mut grid = TextGrid::new(columns);
    for change in changed {
        grid.add_row(vec![
            StyledLine::new().plain(&change.what),
            StyledLine::new().plain(change.cpus.to_string()),
            draw_median(Some(&change.before)),
            draw_median(Some(&change.after)),
            StyledLine::new().plain(&change.unit),
            StyledLine::new().strong(change.effect.format_times()),
        ]);
    }
    grid
}
