//! Descriptions of machines by mctop (`.mct`): the latencies between hardware contexts, which precede its sections on
//! memory and caches.

use super::LinkFileFormat;
use super::cells::{CellPosition, cpu_at, parse_cost};
use super::collect::CostCollector;
use super::error::ImportError;
use super::format_match::FormatMatch;
use crate::links::TalkWay;

/// Returns true if a text is such a description: its first line is `#NAME #HWCs CONTEXTS #Nodes NODES #SMT WAYS`.
pub fn is_description(text: &str) -> bool {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .is_some_and(|line| line.starts_with('#') && line.contains("#HWCs"))
}

/// Reads the rows `CONTEXT CONTEXT CYCLES` up to the next section. Both directions are listed but are one measurement.
pub fn read_mctop(text: &str) -> Result<FormatMatch, ImportError> {
    let mut collector = CostCollector::for_kind(TalkWay::Cas);
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let sections = lines.filter(|(_, line)| !line.is_empty()).skip(1);
    for (line, row) in sections.take_while(|(_, line)| !line.starts_with('#')) {
        let cells: Vec<&str> = row.split_whitespace().take(4).collect();
        let [first, second, cycles] = cells[..] else {
            return Err(ImportError::RowLength { line, found: cells.len(), expected: 3 });
        };
        let (first, second) = (cpu_at(first, line)?, cpu_at(second, line)?);
        collector.name_cpu(first);
        collector.name_cpu(second);
        if let Some(cycles) = parse_cost(cycles, CellPosition { line, column: 3 })? {
            collector.add_cost(first, second, cycles);
        }
    }
    let remarks = vec![
        "the numbers are cycles of the time stamp counter, not nanoseconds".into(),
        "mctop has already grouped the numbers: each belongs to a group, not to a pair".into(),
    ];
    Ok(FormatMatch { format: LinkFileFormat::Mctop, collector, names_cpus: true, in_cycles: true, remarks })
}
