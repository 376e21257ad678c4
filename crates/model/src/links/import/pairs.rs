//! Lists of pairs: one row for each pair, or for each visit of it.

use super::LinkFileFormat;
use super::cells::{CellPosition, CellRow, cpu_at, is_number, parse_cost, parse_cpu};
use super::collect::CostCollector;
use super::error::{ImportError, show_text};
use super::format_match::FormatMatch;
use super::kind::kind_of;
use crate::links::TalkWay;

/// The header of corewise's own table of visits. Columns: a kind ([`super::kind_name`]), the lower and the higher cpu,
/// the one of them that began, the number of the visit, `measured` or `held-out` (which is not read back), and its
/// time, in the unit that names the last column. The rows of a pair are in order of time.
pub const HEADER: &str = "kind,a,b,first,visit,use,";
/// The last column if times are in cycles of an unknown clock.
const CYCLES: &str = "cycles";

/// Names of the two columns of cpus, reduced to letters and digits and without "cpu" and "core".
const ENDS: [[&str; 2]; 15] = [
    ["a", "b"],
    ["1", "2"],
    ["0", "1"],
    ["i", "j"],
    ["x", "y"],
    ["from", "to"],
    ["source", "target"],
    ["source", "destination"],
    ["src", "dst"],
    ["ping", "pong"],
    ["row", "column"],
    ["row", "col"],
    ["first", "second"],
    ["sender", "receiver"],
    ["this", "other"],
];

/// Names of the column of costs, reduced likewise, the best first, each with a factor for the numbers.
const COSTS: [(&str, f64); 25] = [
    ("ns", 1.0),
    ("latencyns", 1.0),
    ("onewayns", 1.0),
    ("medianns", 1.0),
    ("latencynsmed", 1.0),
    ("latencynsmedian", 1.0),
    ("medianlatency", 1.0),
    ("medianlatencyns", 1.0),
    ("median", 1.0),
    ("oneway", 1.0),
    ("latency", 1.0),
    ("meanns", 1.0),
    ("meanlatency", 1.0),
    ("meanlatencyns", 1.0),
    ("mean", 1.0),
    ("minns", 1.0),
    ("minlatency", 1.0),
    ("min", 1.0),
    ("rttns", 0.5),
    ("rtt", 0.5),
    ("roundtripns", 0.5),
    ("roundtrip", 0.5),
    ("roundtriptimens", 0.5),
    ("roundtriptime", 0.5),
    (CYCLES, 1.0),
];

/// Roles of the columns.
#[derive(Debug, PartialEq)]
pub struct PairColumns {
    ends: [usize; 2],
    cost: usize,
    factor: f64,
    in_cycles: bool,
    /// The column of the cpu that began.
    first: Option<usize>,
    kind: Option<usize>,
    /// Number of columns.
    count: usize,
}

impl PairColumns {
    /// Finds the columns of a header; `None` if it does not name two columns of cpus and one of costs.
    pub fn from_header(header: &[&str]) -> Option<Self> {
        let plain: Vec<String> = header.iter().map(|name| plain_name(name)).collect();
        let find = |wanted: &str| plain.iter().position(|name| name == wanted);
        let end = |wanted: &str| plain.iter().position(|name| without_cpu(name) == wanted);
        let ends = ENDS.iter().find_map(|[a, b]| Some([end(a)?, end(b)?]))?;
        let (cost, factor) = COSTS.iter().find_map(|&(name, factor)| Some((find(name)?, factor)))?;
        let first = find("first").filter(|place| !ends.contains(place));
        let in_cycles = plain[cost] == CYCLES;
        Some(Self { ends, cost, factor, in_cycles, first, kind: find("kind"), count: header.len() })
    }

    fn is_own(&self) -> bool {
        self.kind.is_some() && self.first.is_some()
    }
}

/// Returns the columns of rows of two cpus and a cost. `None` if the first row is something else, or if the rows could
/// be a matrix: of three cpus, with a header or without, or cut off after its first row.
pub fn without_header(first: &[&str], rows: impl FnOnce() -> usize) -> Option<PairColumns> {
    let is_row =
        matches!(first, [a, b, ns] if parse_cpu(a).is_some() && parse_cpu(b).is_some() && a != b && is_number(ns));
    (is_row && !matches!(rows(), 1 | 3 | 4)).then_some(PairColumns {
        ends: [0, 1],
        cost: 2,
        factor: 1.0,
        in_cycles: false,
        first: None,
        kind: None,
        count: 3,
    })
}

/// Reads a list of pairs.
pub fn read_pairs<'t>(
    columns: &PairColumns,
    rows: impl Iterator<Item = CellRow<'t>>,
) -> Result<FormatMatch, ImportError> {
    let mut collector = CostCollector::default();
    for row in rows {
        read_row(columns, &row, &mut collector)?;
    }
    let format = if columns.is_own() { LinkFileFormat::Visits } else { LinkFileFormat::Pairs };
    Ok(FormatMatch { format, collector, names_cpus: true, in_cycles: columns.in_cycles, remarks: Vec::new() })
}

fn read_row(columns: &PairColumns, row: &CellRow, collector: &mut CostCollector) -> Result<(), ImportError> {
    let (line, found, expected) = (row.line, row.cells.len(), columns.count);
    if found != expected && !(found == expected + 1 && row.cells[expected].is_empty()) {
        return Err(ImportError::RowLength { line, found, expected });
    }
    let [a, b] = columns.ends.map(|place| cpu_at(row.cells[place], line));
    let (a, b) = (a?, b?);
    let first = columns.first.map_or(Ok(a), |place| cpu_at(row.cells[place], line))?;
    if first != a && first != b {
        return Err(ImportError::First { line, first, a, b });
    }
    let what = match columns.kind.map(|place| row.cells[place]) {
        None => TalkWay::Cas,
        Some(name) => kind_of(name).ok_or_else(|| ImportError::Kind { line, found: show_text(name) })?,
    };
    collector.name_cpu(a);
    collector.name_cpu(b);
    if let Some(cost) = parse_cost(row.cells[columns.cost], CellPosition { line, column: columns.cost + 1 })? {
        let kind = collector.kind_place(what);
        collector.add_kind(kind, first, if first == a { b } else { a }, cost * columns.factor);
    }
    Ok(())
}

/// Returns the letters and digits of a name, in lower case.
fn plain_name(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn without_cpu(name: &str) -> &str {
    let inner = ["cpu", "core"].iter().find_map(|word| name.strip_prefix(word).or_else(|| name.strip_suffix(word)));
    inner.unwrap_or(name)
}
