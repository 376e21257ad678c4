//! The screen of the list of built-in machines.

use corewise_machine::suggested_command;

use super::document::MachinesEntry;
use crate::draw::number::count;
use crate::draw::suggestion;
use crate::draw::text::{Line, Screen};
use crate::draw::wrap::wrap;

/// Returns the built-in machines: name, size and description.
pub fn screen(entries: &[MachinesEntry], width: usize) -> Screen {
    let mut screen = Screen::new();
    let name_width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    for entry in entries {
        let size = format!("{}, {}", count(entry.cores, "core"), count(entry.cpus, "cpu"));
        let gap = " ".repeat(name_width - entry.name.len() + 2);
        screen.extend(wrap(&Line::new().strong(&entry.name).plain(gap).plain(size), width, 2));
        screen.extend(wrap(
            &Line::new().plain("  ").faint(entry.description.about.clone().unwrap_or_default()),
            width,
            2,
        ));
    }
    let use_one = Line::new()
        .plain("Show one, by its name or a part of it:  ")
        .strong(suggestion::typed(&suggested_command::topology_of("2990wx")));
    screen.block(wrap(&use_one, width, 2));
    screen
}
