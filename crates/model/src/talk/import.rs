//! Graphs from files: corewise's own JSON, a table of edges, or a square of numbers, with or without names.

mod matrix;

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use serde::Deserialize as _;
use serde_json::Value;

use super::{TalkEdge, TalkGraph, TalkSource, TalkVertex, VertexKind, WakeMeans};
use crate::artifact::{ArtifactOrigin, ArtifactProvenance};

/// Maximum number of threads of a matrix or a table.
const MOST_THREADS: usize = 4096;

/// Why a file is no graph.
#[derive(Debug, thiserror::Error)]
pub enum TalkImportError {
    /// It is JSON, but not of a graph.
    #[error("it is JSON, but no talk graph: {0}")]
    Json(String),
    /// A line of a table.
    #[error("line {line}: {what}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The mistake.
        what: String,
    },
    /// Nothing in it is a thread.
    #[error("it has no edges")]
    Empty,
    /// There are more threads than are supported.
    #[error("it has more than {MOST_THREADS} threads")]
    TooMany,
}

/// Reads a graph. `file` names the origin, `record` is the time of the import and corewise's version.
///
/// # Errors
/// [`TalkImportError`] about the first mistake.
pub fn read_talk(text: &str, file: &str, record: (i64, &str)) -> Result<TalkGraph, TalkImportError> {
    // Spreadsheets begin a file with a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') {
        return read_json(text, file);
    }
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim_end()));
    let lines: Vec<(usize, &str)> =
        lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#')).collect();
    let separator =
        [',', ';', '\t'].into_iter().find(|separator| lines.iter().any(|(_, line)| line.contains(*separator)));
    let cells = |(line, text): &(usize, &str)| (*line, split_cells(text, separator));
    let lines: Vec<CellLine> = lines.iter().map(cells).collect();
    let (edges, format) = match matrix::find_square(&lines, separator.is_some())? {
        Some(square) => (square.read_edges()?, "matrix of talk"),
        None => (read_table(&lines)?, "table of edges"),
    };
    build_graph(
        edges,
        ArtifactOrigin::Imported { file: file.to_owned(), format: format.to_owned(), remarks: Vec::new() },
        record,
    )
}

fn read_json(text: &str, file: &str) -> Result<TalkGraph, TalkImportError> {
    let wrong = |error: serde_json::Error| TalkImportError::Json(error.to_string());
    let document: Value = serde_json::from_str(text).map_err(wrong)?;
    let mut graph = TalkGraph::deserialize(document.get("observed").unwrap_or(&document)).map_err(wrong)?;
    crate::Artifact::check_loaded(&graph).map_err(TalkImportError::Json)?;
    graph.provenance.origin = graph.provenance.origin.after_import(file, "JSON of corewise");
    Ok(graph)
}

/// A line by its number, from 1, and its cells.
type CellLine = (usize, Vec<String>);

/// An edge by the names of its ends.
struct NamedEdge {
    ends: [String; 2],
    wakes: f64,
    waiting_ns: Option<f64>,
    means: WakeMeans,
}

/// Reads lines of WAKER,WAKEE,WAKES[,WAITING_NS[,MEANS]]; a first line without a number is a heading.
fn read_table(lines: &[CellLine]) -> Result<Vec<NamedEdge>, TalkImportError> {
    let mut edges = Vec::new();
    for (at, (line, cells)) in lines.iter().enumerate() {
        let wrong = |what: &str| TalkImportError::Line { line: *line, what: what.to_owned() };
        let [waker, wakee, wakes, rest @ ..] = &cells[..] else {
            return Err(wrong("expected WAKER,WAKEE,WAKES"));
        };
        let number = |cell: &String| parse_number(cell);
        let Some(wakes) = number(wakes) else {
            if at == 0 && wakes.parse::<f64>().is_err() {
                continue;
            }
            return Err(wrong(&format!("expected a number of wakes, found \"{wakes}\"")));
        };
        let waiting_ns = match rest.first().filter(|cell| !cell.is_empty()) {
            Some(cell) => Some(number(cell).ok_or_else(|| wrong(&format!("expected nanoseconds, found \"{cell}\"")))?),
            None => None,
        };
        let means = match rest.get(1).filter(|cell| !cell.is_empty()) {
            Some(cell) => WakeMeans::ALL.into_iter().find(|means| means.word() == cell).ok_or_else(|| {
                let known = corewise_machine::vocabulary::one_of(&WakeMeans::ALL.map(WakeMeans::word));
                wrong(&format!("expected {known}, found \"{cell}\""))
            })?,
            None => WakeMeans::Unknown,
        };
        edges.push(NamedEdge { ends: [waker.clone(), wakee.clone()], wakes, waiting_ns, means });
    }
    Ok(edges)
}

/// Parses a number of wakes or nanoseconds.
fn parse_number(cell: &str) -> Option<f64> {
    cell.parse::<f64>().ok().filter(|number| (0.0..=1e15).contains(number))
}

/// Splits a line at a separator outside of quotation marks, or at spaces without one.
fn split_cells(text: &str, separator: Option<char>) -> Vec<String> {
    let Some(separator) = separator else { return text.split_whitespace().map(str::to_owned).collect() };
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for character in text.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            _ if character == separator && !is_quoted => cells.push(String::new()),
            _ => cells.last_mut().into_iter().for_each(|cell| cell.push(character)),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Builds a graph of edges that were counted in one second.
fn build_graph(
    edges: Vec<NamedEdge>,
    origin: ArtifactOrigin,
    record: (i64, &str),
) -> Result<TalkGraph, TalkImportError> {
    let (mut vertices, mut places) = (Vec::new(), BTreeMap::new());
    let mut place = |name: &str| {
        *places.entry(name.to_owned()).or_insert_with(|| {
            let thread = vertices.len() as u32;
            vertices.push(TalkVertex {
                name: name.to_owned(),
                kind: VertexKind::Thread { process: 0, thread },
                program: String::new(),
                busy_share: 0.0,
                cpus: CpuSet::new(),
            });
            vertices.len() - 1
        })
    };
    let edges: Vec<TalkEdge> = edges
        .into_iter()
        .map(|NamedEdge { ends: [waker, wakee], wakes, waiting_ns, means }| {
            let (waker, wakee) = (place(&waker), place(&wakee));
            TalkEdge { waker, wakee, wakes, waiting_ns, means }
        })
        .filter(|edge| edge.wakes > 0.0)
        .collect();
    if edges.is_empty() {
        return Err(TalkImportError::Empty);
    }
    if vertices.len() > MOST_THREADS {
        return Err(TalkImportError::TooMany);
    }
    let (started_unix_ms, corewise) = (record.0, record.1.to_owned());
    let provenance = ArtifactProvenance {
        origin,
        corewise,
        started_unix_ms,
        elapsed_s: 1.0,
        budget_s: 0.0,
        seed: 0,
        partial: false,
    };
    let gaps = Vec::new();
    Ok(TalkGraph {
        provenance,
        machine: None,
        command: Vec::new(),
        running: Vec::new(),
        seconds: 1.0,
        source: TalkSource::File,
        vertices,
        edges,
        placed_waits: None,
        lost: 0,
        gaps,
    })
}
