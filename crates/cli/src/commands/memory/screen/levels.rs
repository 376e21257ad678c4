//! The levels that a staircase of working sets shows, beside the caches that the system reports.

use std::collections::BTreeSet;

use corewise_model::memory::MemoryMap;
use corewise_model::memory::conclude::CpuLevels;

use super::{draw_interval, draw_median};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{format_bytes, format_decimal};
use crate::draw::story::StoryPart;
use crate::draw::text::StyledLine;

/// Share of the farthest level's latency above which a working set is in no cache.
const AS_MEMORY: f64 = 0.7;

/// Returns the table of a cpu's levels.
pub fn level_lines(map: &MemoryMap, levels: &CpuLevels) -> Vec<StoryPart> {
    let alike = if levels.alike.len() > 1 { format!(", which stands for {}", levels.alike) } else { String::new() };
    let title = StyledLine::new().strong("Levels").plain(format!("  of cpu {}", levels.cpu)).faint(alike);
    if levels.levels.is_empty() {
        let nothing = StyledLine::new().faint("  no working sets over which a load costs the same");
        return vec![title.into_paragraph(2), nothing.into_paragraph(2)];
    }
    let columns = vec![
        GridColumn::text("working set", 0),
        GridColumn::number("a load", "ns", 0),
        GridColumn::number("", "95 %", 2).with_name("interval"),
        GridColumn::number("cycles", "", 1),
        GridColumn::text("the system reports", 3),
    ];
    let mut grid = TextGrid::new(columns).with_indent(2);
    let mut named = BTreeSet::new();
    for level in &levels.levels {
        let is_last = levels.levels.last().is_some_and(|last| level.ns.median > AS_MEMORY * last.ns.median);
        let is_memory = is_last && level.until_bytes > map.caches_bytes;
        let reported = match is_last {
            true if is_memory => "memory".to_owned(),
            true => String::new(),
            false => format_caches(map, levels.cpu, level.until_bytes, &mut named),
        };
        let from_to = if level.from_bytes == map.staircases[0].steps[0].bytes {
            format!("to {}", format_bytes(level.until_bytes))
        } else {
            format!("{} to {}", format_bytes(level.from_bytes), format_bytes(level.until_bytes))
        };
        grid.add_row(vec![
            StyledLine::new().plain(from_to),
            draw_median(Some(&level.ns)),
            draw_interval(Some(&level.ns)),
            StyledLine::new().plain(
                level.cycles.map_or_else(String::new, |cycles| format_decimal(cycles, usize::from(cycles < 20.0))),
            ),
            StyledLine::new().faint(reported),
        ]);
    }
    vec![title.into_paragraph(2), grid.into()]
}

/// Names the caches that this working set needs and that no level before had, such as "L2 2 MiB".
fn format_caches(map: &MemoryMap, cpu: u32, until_bytes: u64, named: &mut BTreeSet<u8>) -> String {
    let sizes = (1..=4).filter_map(|level| {
        let cache = map.machine.data_caches(level).find(|cache| cache.cpus.contains(cpu))?;
        Some((level, cache.size_bytes?))
    });
    // A level ends at its largest measured working set: its cache is up to three times as large.
    let near = sizes.filter(|(_, size)| (until_bytes..3 * until_bytes).contains(size));
    let new: Vec<String> = near
        .filter(|(level, _)| named.insert(*level))
        .map(|(level, size)| format!("L{level} {}", format_bytes(size)))
        .collect();
    new.join(", ")
}
