//! The screen of the list of built-in machines.

use corewise_machine::suggested_command;

use super::document::MachinesEntry;
use crate::draw::number::format_count;
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::wrap_line;

/// Returns the built-in machines: name, size and description.
pub fn draw_screen(entries: &[MachinesEntry], width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    let name_width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    for entry in entries {
        let size = format!("{}, {}", format_count(entry.cores, "core"), format_count(entry.cpus, "cpu"));
        let gap = " ".repeat(name_width - entry.name.len() + 2);
        screen.extend(wrap_line(&StyledLine::new().strong(&entry.name).plain(gap).plain(size), width, 2));
        screen.extend(wrap_line(
            &StyledLine::new().plain("  ").faint(entry.description.about.clone().unwrap_or_default()),
            width,
            2,
        ));
    }
    let use_one = StyledLine::new()
        .plain("Show one, by its name or a part of it:  ")
        .strong(suggestion::format_typed(&suggested_command::topology_of("2990wx")));
    screen.add_block(wrap_line(&use_one, width, 2));
    screen
}
