//! The list of the machines that the program holds, and what a machine file says of itself.

use corewise_model::machine_file::Description;

use super::number::count;
use super::text::{Line, Screen};
use super::wrap::wrap;
use crate::document::MachinesEntry;

/// The machines that the program holds: name, size and what each is known for.
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
    let use_one =
        Line::new().plain("Show one, by its name or a part of it:  ").strong("corewise topology --machine 2990wx");
    screen.block(wrap(&use_one, width, 2));
    screen
}

/// How the cpus of a described machine are numbered.
pub fn numbering(description: &Description, width: usize) -> Vec<Line> {
    let Some(numbering) = &description.numbering else { return Vec::new() };
    wrap(&Line::new().strong("Numbering").plain("  ").plain(numbering), width, 2)
}

/// Where the facts of a described machine are from, and what may be different on a real one.
pub fn origin(description: &Description, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (title, items) in [("Sources", &description.sources), ("May differ", &description.uncertain)] {
        if !items.is_empty() {
            lines.push(Line::new().strong(title));
        }
        lines.extend(items.iter().flat_map(|item| wrap(&Line::new().plain(format!("  {item}")), width, 4)));
    }
    lines
}
