//! The changes between two maps of memory.

use corewise_machine::suggested_command;
use corewise_model::memory::compare::MemoryChange;

use super::some;
use crate::draw::grid::{Column, Grid};
use crate::draw::number::count;
use crate::draw::story::{Story, StoryRole};
use crate::draw::text::Line;

/// Composes the story of the changes between two maps.
pub fn comparison(numbers: [i64; 2], changes: &[MemoryChange]) -> Story {
    let [before, after] = numbers;
    let changed: Vec<&MemoryChange> = changes.iter().filter(|change| change.is_change).collect();
    let head = format!(
        "{} of {} changed by more than 5 % between map {before} and map {after}.",
        changed.len(),
        count(changes.len(), "number")
    );
    let told = Story::new(suggested_command::history_compare([before, after]))
        .with(StoryRole::Answer, vec![Line::new().strong(head).hanging(2)]);
    if changed.is_empty() { told } else { told.with(StoryRole::Evidence, vec![table(&changed).into()]) }
}

fn table(changed: &[&MemoryChange]) -> Grid {
    let columns = vec![
        Column::text("what", 0).shrinking_to(12),
        Column::text("cpus", 1).shrinking_to(6),
        Column::number("before", "", 1),
        Column::number("after", "", 1),
        Column::text("unit", 2),
        Column::text("ratio", 0),
    ];
    let mut grid = Grid::new(columns);
    for change in changed {
        grid.row(vec![
            Line::new().plain(&change.what),
            Line::new().plain(change.cpus.to_string()),
            some(Some(&change.before)),
            some(Some(&change.after)),
            Line::new().plain(&change.unit),
            Line::new().strong(change.effect.times()),
        ]);
    }
    grid
}
