//! The story of what changed between two fleets.

use corewise_machine::suggested_command;
use corewise_model::fleet::compare::{FleetChanges, NodeChange};
use corewise_model::fleet::node_list::format_node_list;

use super::wording::{CHANGE_WORDS, describe_chance, describe_deviation, describe_outlook};
use super::{LONGEST_LIST, MOST_ROWS, compose_table};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::format_count;
use crate::draw::printable::{make_printable, printable_prefix};
use crate::draw::story::Story;
use crate::draw::story::StoryRole::{Answer, Evidence, Notes};
use crate::draw::text::StyledLine;

/// Composes the story. `made_by` are the words that made the later fleet.
pub fn compose_changes(numbers: [i64; 2], changes: &FleetChanges, made_by: &[String]) -> Story {
    let sentence = |text: String| StyledLine::new().plain(text).into_paragraph(2);
    let compared = format_count(changes.compared, "node");
    let head = match (changes.worse.len(), changes.better.len()) {
        (0, 0) if changes.compared == 0 => {
            "No node can be compared: none has visits of its model in both fleets.".to_owned()
        }
        (0, 0) => format!("None of {compared} is proven to have changed otherwise than its peers."),
        (worse, better) => format!("Of {compared}, {worse} became worse than their peers did, and {better} better."),
    };
    let mut answer = vec![StyledLine::new().strong(head).into_paragraph(2)];
    if let Some(outlook) = &changes.outlook {
        answer.extend(describe_outlook(outlook, &CHANGE_WORDS).into_iter().map(sentence));
        let wanted = outlook.enough_visits.filter(|enough| *enough > outlook.visits);
        answer.extend(wanted.and_then(|visits| describe_larger_fleet(made_by, visits)).map(sentence));
    }
    let lists = [("No longer visited", &changes.gone), ("New", &changes.new)];
    for (what, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        let list = make_printable(&format_node_list(names.iter().map(String::as_str)));
        answer.push(sentence(format!("{what}: {}.", printable_prefix(&list, LONGEST_LIST))));
    }
    let note = "Changes that all nodes of a model or rack share are not among them. Of each list at most 5 % are there by chance.";
    Story::new(suggested_command::history_compare(numbers))
        .with(Answer, answer)
        .with(Evidence, compose_table("Worse than before", draw_changes(&changes.worse), changes.worse.len()))
        .with(Evidence, compose_table("Better than before", draw_changes(&changes.better), changes.better.len()))
        .with(
            Evidence,
            compose_table("Not proven, but closest to it", draw_changes(&changes.closest), changes.closest.len()),
        )
        .with(Notes, vec![StyledLine::new().faint(note).into_paragraph(2)])
}

/// Says how fleets with more visits are made; `None` if the later one was not made by visits of corewise.
fn describe_larger_fleet(made_by: &[String], visits: usize) -> Option<String> {
    // The number of visits is the last option.
    let words: Vec<String> = made_by.iter().take_while(|word| *word != "--visits").cloned().collect();
    (words.first()? == "survey").then(|| {
        let command = suggested_command::fleet_again_with_visits(&words, visits).quoted_line();
        format!("The earlier visits cannot be repeated now; make the next fleets with {command}.")
    })
}

fn draw_changes(changes: &[NodeChange]) -> TextGrid {
    let mut grid = TextGrid::new(vec![
        GridColumn::text("node", 0).shrinking_to(12),
        GridColumn::text("quantity", 0),
        GridColumn::text("than before", 0),
        GridColumn::text("at least", 1),
        GridColumn::text("by chance", 1),
    ]);
    for change in changes.iter().take(MOST_ROWS) {
        let describe = |value: f64| describe_deviation(change.quantity, value);
        grid.add_row(vec![
            StyledLine::new().strong(make_printable(&change.node)),
            StyledLine::new().plain(change.quantity.word()),
            StyledLine::new().strong(describe(change.change)),
            StyledLine::new().plain(change.at_least.map_or_else(String::new, describe)),
            StyledLine::new().plain(describe_chance(change.log_evidence)),
        ]);
    }
    grid
}
