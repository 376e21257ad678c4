//! Logs of macos-core-to-core-latency: every sample with its two cores.

use super::LinkFileFormat;
use super::cells::{CellPosition, cpu_at, parse_cost};
use super::collect::CostCollector;
use super::error::ImportError;
use super::format_match::FormatMatch;
use crate::links::TalkWay;

/// Cells read of a row: two indices, two cores, and the time one way as the first core took it. Further cells have the
/// time as the second core took it, and the clocks of both before and after.
const CELLS: usize = 5;

/// Returns true if a text is such a log, with its header or without.
pub fn is_log(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let is_sample = |row: &str| {
        row.split(',').nth(CELLS - 1).is_some_and(|cell| cell.trim().ends_with("ns")) && row.contains("GHz")
    };
    first.starts_with("# Info:") || is_sample(first)
}

/// Reads a log; each sample is a visit.
pub fn read_samples(text: &str) -> Result<FormatMatch, ImportError> {
    let mut collector = CostCollector::for_kind(TalkWay::Cas);
    for (index, row) in text.lines().enumerate() {
        if row.trim().is_empty() || row.starts_with('#') {
            continue;
        }
        let line = index + 1;
        let cells: Vec<&str> = row.split(',').take(CELLS).map(str::trim).collect();
        let [_, _, first, second, time] = cells[..] else {
            return Err(ImportError::RowLength { line, found: cells.len(), expected: CELLS });
        };
        let (first, second) = (cpu_at(first, line)?, cpu_at(second, line)?);
        collector.name_cpu(first);
        collector.name_cpu(second);
        if let Some(ns) = parse_cost(time, CellPosition { line, column: CELLS })? {
            collector.add_cost(first, second, ns);
        }
    }
    let remark = "the cpus have the hardware's numbers, and the threads were not pinned but checked before and after \
        each sample";
    Ok(FormatMatch {
        format: LinkFileFormat::Samples,
        collector,
        names_cpus: true,
        in_cycles: false,
        remarks: vec![remark.into()],
    })
}
