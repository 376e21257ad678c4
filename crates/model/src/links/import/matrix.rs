//! Matrices: a cost in each cell, one row and one column for each cpu, with or without the cpus' numbers.

mod layout;

use super::LinkFileFormat;
use super::cells::{CellPosition, CellRow, parse_cost};
use super::collect::CostCollector;
use super::error::ImportError;
use super::format_match::FormatMatch;
use crate::links::TalkWay;
use layout::MatrixFileLayout;

/// Reads a matrix; `printed` if it is the output of c2clat.
///
/// A cell of row `i` and column `j` has `i` as the first cpu, unless no cell above the diagonal is known: then the
/// order is unknown, and all count as begun by the lower cpu.
pub fn read_matrix(rows: &[CellRow], printed: bool) -> Result<FormatMatch, ImportError> {
    let layout = MatrixFileLayout::from_rows(rows)?;
    let mut collector = CostCollector::for_kind(if printed { TalkWay::Store } else { TalkWay::Cas });
    for &cpu in layout.columns.iter().chain(&layout.rows) {
        collector.name_cpu(cpu);
    }
    for (row, &first) in rows[layout.header_rows..].iter().zip(&layout.rows) {
        let cells = row.cells.iter().enumerate().skip(layout.name_columns);
        for (&second, (index, cell)) in layout.columns.iter().zip(cells) {
            if let Some(ns) = parse_cost(cell, CellPosition { line: row.line, column: index + 1 })? {
                collector.add_cost(first, second, ns);
            }
        }
    }
    let (above, below) = collector.known_directions();
    if !above {
        collector.forget_directions();
    }
    let format = match (layout.names_cpus(), above, below) {
        _ if printed => LinkFileFormat::C2clat,
        (true, ..) => LinkFileFormat::NamedMatrix,
        (false, true, true) => LinkFileFormat::FullMatrix,
        (false, true, false) => LinkFileFormat::UpperTriangle,
        (false, false, _) => LinkFileFormat::LowerTriangle,
    };
    let names_cpus = layout.names_cpus();
    let mut remarks: Vec<String> = layout.remark.into_iter().collect();
    if printed {
        remarks.push(
            "assumed to be store and load, c2clat's default; with -w it measures compare-and-swap, and \
            prints the same"
                .into(),
        );
    }
    Ok(FormatMatch { format, collector, names_cpus, in_cycles: false, remarks })
}
