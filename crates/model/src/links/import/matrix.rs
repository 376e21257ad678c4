//! Matrices: a cost in each cell, one row and one column for each cpu, with or without the cpus' numbers.

mod layout;

use super::Format;
use super::cells::{Place, Row, cost};
use super::collect::Collector;
use super::error::ImportError;
use super::found::Found;
use crate::links::What;
use layout::Layout;

/// Reads a matrix; `printed` if it is the output of c2clat.
///
/// A cell of row `i` and column `j` has `i` as the first cpu, unless no cell above the diagonal is known: then the
/// order is unknown, and all count as begun by the lower cpu.
pub fn read(rows: &[Row], printed: bool) -> Result<Found, ImportError> {
    let layout = Layout::of(rows)?;
    let mut collector = Collector::of(if printed { What::Store } else { What::Cas });
    for &cpu in layout.columns.iter().chain(&layout.rows) {
        collector.name(cpu);
    }
    for (row, &first) in rows[layout.header_rows..].iter().zip(&layout.rows) {
        let cells = row.cells.iter().enumerate().skip(layout.name_columns);
        for (&second, (index, cell)) in layout.columns.iter().zip(cells) {
            if let Some(ns) = cost(cell, Place { line: row.line, column: index + 1 })? {
                collector.add(first, second, ns);
            }
        }
    }
    let (above, below) = collector.directions();
    if !above {
        collector.forget_directions();
    }
    let format = match (layout.names_cpus(), above, below) {
        _ if printed => Format::C2clat,
        (true, ..) => Format::NamedMatrix,
        (false, true, true) => Format::FullMatrix,
        (false, true, false) => Format::UpperTriangle,
        (false, false, _) => Format::LowerTriangle,
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
    Ok(Found { format, collector, names_cpus, in_cycles: false, remarks })
}
