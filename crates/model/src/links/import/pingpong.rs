//! Table printed by pingpong of multichase: a row for each cpu but the last, a column for each but the first.

use super::LinkFileFormat;
use super::cells::{CellPosition, cpu_at, parse_cost};
use super::collect::CostCollector;
use super::error::{ImportError, show_text};
use super::format_match::FormatMatch;
use crate::links::TalkWay;

/// First words of the table.
const TITLE: &str = "avg latency to communicate a modified line";

/// Returns true if a text is such a table, with its title or without.
pub fn is_table(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    first.starts_with(TITLE) || lines.next().is_some_and(|row| split_name(row).is_some())
}

/// Reads the table. A row has the costs with all higher cpus, in their order; the last may be cut off, since the tool
/// prints each number at once.
pub fn read_pingpong(text: &str) -> Result<FormatMatch, ImportError> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty() && !is_title(line)).peekable();
    let Some((line, header)) = lines.next() else { return Err(ImportError::Empty) };
    let columns = header.split_whitespace().map(|cell| cpu_at(cell, line)).collect::<Result<Vec<u32>, _>>()?;
    if let Some(pair) = columns.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(ImportError::Twice { line, cpu: pair[1] });
    }
    let mut collector = CostCollector::for_kind(TalkWay::Cas);
    columns.iter().for_each(|&cpu| collector.name_cpu(cpu));
    while let Some((line, row)) = lines.next() {
        let (name, costs) = split_name(row).ok_or_else(|| ImportError::Cpu { line, found: show_text(row) })?;
        let first = cpu_at(name, line)?;
        collector.name_cpu(first);
        let higher = &columns[columns.partition_point(|&cpu| cpu <= first)..];
        let cells: Vec<&str> = costs.split_whitespace().take(higher.len() + 1).collect();
        let is_cut_off = cells.len() < higher.len() && lines.peek().is_none();
        if cells.len() != higher.len() && !is_cut_off {
            return Err(ImportError::RowLength { line, found: cells.len() + 1, expected: higher.len() + 1 });
        }
        for (index, (&second, cell)) in higher.iter().zip(cells).enumerate() {
            // Infinite: no round trip completed in a sample.
            let known = if cell == "inf" { None } else { parse_cost(cell, CellPosition { line, column: index + 2 })? };
            known.into_iter().for_each(|ns| collector.add_cost(first, second, ns));
        }
    }
    let remark = "assumed to be compare-and-swap (pingpong -l); with -u it measures store and load, with -x an \
        addition, and prints the same";
    Ok(FormatMatch {
        format: LinkFileFormat::PingPong,
        collector,
        names_cpus: true,
        in_cycles: false,
        remarks: vec![remark.into()],
    })
}

fn is_title(line: &str) -> bool {
    line.starts_with(TITLE) || line.starts_with("times are in ns")
}

/// Returns the cpu before the colon of a row, and the rest after it.
fn split_name(row: &str) -> Option<(&str, &str)> {
    let (name, costs) = row.split_once(':')?;
    let name = name.trim();
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some((name, costs))
}
